"""What models add to a dataset: facts of cases, and cases from documents. Nothing is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError, UsageError
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.generating import LONGEST, generate
from evenhand.doors.eval_sets.preparing import Prepared, enrich
from evenhand.engine.door import Settings
from evenhand.testing import Scripted

FACTS = {
    "claims": ["Paris is the capital."],
    "entities": [{"name": "Paris", "aliases": ["City of Light"]}],
    "sub_questions": ["What is the capital?"],
}
CASES = Dataset.of(
    {"id": "a", "input": "Capital?", "expected": "Paris is the capital.", "tags": ["geo"]},
    {"id": "b", "input": "Moon?", "expected": "Rock.", "metadata": {"reference_claims": ["mine"]}},
    {"id": "c"},
)


def counting(*replies: Any) -> tuple[Scripted, list[str]]:
    """A model that says these things in turn, the last one forever, and what it was asked."""
    asked: list[str] = []

    def answer(prompt: Any) -> str:
        asked.append(str(prompt))
        reply = replies[min(len(asked), len(replies)) - 1]
        return reply if isinstance(reply, str) else json.dumps(reply)

    return Scripted(answer), asked


def test_facts_are_stored_and_what_is_there_is_left_alone(tmp_path: Path):
    """With who found them; a case without question and answer asks nobody."""
    judge, asked = counting(FACTS)
    found = enrich(CASES, judge=judge, settings=Settings(home=tmp_path))
    one, two, three = found.data
    assert one.metadata["reference_claims"] == ["Paris is the capital."]
    assert one.metadata["entities"] == [{"name": "Paris", "aliases": ["City of Light"]}]
    assert one.metadata["sub_questions"] == ["What is the capital?"]
    assert one.metadata["prepared_by"]["prompt"].startswith("rag-facts/")
    assert one.tags == ("geo",)
    assert two.metadata["reference_claims"] == ["mine"]
    assert two.metadata["entities"]
    assert three == CASES[2]
    assert (found.asked_about, found.calls, len(asked), dict(found.errors)) == (2, 2, 2, {})


def test_what_was_enriched_asks_nobody_again(tmp_path: Path):
    """All parts are there."""
    judge, _ = counting(FACTS)
    first = enrich(CASES, judge=judge, settings=Settings(home=tmp_path))
    other, asked = counting(FACTS)
    assert list(enrich(first.data, judge=other, settings=Settings(home=tmp_path)).data) == list(
        first.data
    )
    assert asked == []


def test_what_was_paid_for_and_not_written_is_written_by_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Without the cache, too. Once the file is there, another attempt asks anew."""
    judge, asked = counting(FACTS)
    to = tmp_path / "facts.jsonl"
    write = Dataset.write

    def dies(*_: object) -> Path:
        raise KeyboardInterrupt

    def attempt() -> Prepared:
        return enrich(CASES, judge=judge, settings=Settings(home=tmp_path, cache=False), to=to)

    monkeypatch.setattr(Dataset, "write", dies)
    with pytest.raises(KeyboardInterrupt):
        attempt()
    monkeypatch.setattr(Dataset, "write", write)
    again = attempt()
    assert (again.recovered, again.calls, len(asked)) == (True, 2, 2)
    assert list(Dataset.read(to)) == list(again.data)
    anew = attempt()
    assert (anew.recovered, len(asked)) == (False, 4)


def test_questions_that_were_paid_for_and_not_written_are_written_by_the_next_attempt(
    tmp_path: Path,
):
    """A format that can't hold a case is known only once it was paid for."""
    pair = {"question": "Cost \ud800?", "answer": "three", "quotes": ["Widgets cost three euros."]}
    model, asked = counting({"pairs": [pair]})

    def attempt(to: str) -> Prepared:
        return generate(
            {"a.md": "Widgets cost three euros."},
            model=model,
            settings=Settings(home=tmp_path, cache=False),
            to=tmp_path / to,
        )

    with pytest.raises(UsageError, match="half a character"):
        attempt("cases.csv")
    assert attempt("cases.jsonl").recovered
    assert len(asked) == 1
    assert len(Dataset.read(tmp_path / "cases.jsonl")) == 1


def test_only_the_parts_that_are_wanted_are_found(tmp_path: Path):
    """And names that mean nothing are refused."""
    judge, asked = counting({"sub_questions": ["x?"]})
    found = enrich(CASES, judge=judge, parts=["sub_questions"], settings=Settings(home=tmp_path))
    assert "entities" not in found.data[0].metadata
    assert all("Paris is the capital." not in one for one in asked)
    with pytest.raises(UsageError, match="There are: reference_claims"):
        enrich(CASES, judge=judge, parts=["claims"], settings=Settings(home=tmp_path))


def test_a_judge_that_says_nothing_usable_leaves_the_case_as_it_was(tmp_path: Path):
    """It is told; the others are enriched."""
    judge, _ = counting("no", "no", FACTS)
    found = enrich(CASES, judge=judge, settings=Settings(concurrency=1, home=tmp_path, cache=False))
    assert found.data[0] == CASES[0]
    assert "asked twice" in found.errors["a"]
    assert found.data[1].metadata["entities"]


def test_nobody_to_ask_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Before there is a run."""
    monkeypatch.delenv("EVENHAND_JUDGE", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no judge is named"):
        enrich(CASES, settings=Settings())
    assert list(tmp_path.iterdir()) == []


PARIS = "Paris is the capital of France.\nIt lies on the Seine."
RIVER = {
    "quotes": ["It lies on the Seine."],
    "question": "On which river is Paris?",
    "answer": "Seine",
}
CAPITAL = {
    "quotes": ["Paris is the capital of France."],
    "question": "What is the capital of France?",
    "answer": "Paris",
}


def test_pairs_become_cases_with_their_passages_and_documents(tmp_path: Path):
    """The question, the answer, the quotes; relevant is the document that they stand in."""
    model, _ = counting({"pairs": [RIVER, CAPITAL]})
    found = generate({"paris.md": PARIS}, model=model, settings=Settings(home=tmp_path))
    one, two = found.data
    assert (one.input, one.expected, one.context) == (
        "On which river is Paris?",
        "Seine",
        ("It lies on the Seine.",),
    )
    assert two.metadata["relevant"] == ["paris.md"]
    assert two.metadata["generated_by"]["prompt"].startswith("dataset-pairs/")
    assert found.dropped == 0


@pytest.mark.parametrize(
    "bad",
    [
        {**RIVER, "quotes": ["It lies on the Thames."]},
        {**RIVER, "quotes": []},
        {**RIVER, "quotes": None},
        {**RIVER, "question": " "},
        {**RIVER, "answer": 7},
        "not an object",
        None,
        {**CAPITAL},
        {**CAPITAL, "question": "what is the CAPITAL of France"},
        {**CAPITAL, "question": "What is the capital city of France?"},
    ],
)
def test_a_pair_that_cannot_be_used_is_left_out(tmp_path: Path, bad: Any):
    """Quotes that stand nowhere, parts that are missing, questions that are asked already."""
    model, _ = counting({"pairs": [CAPITAL, bad]})
    found = generate({"paris.md": PARIS}, model=model, settings=Settings(home=tmp_path))
    assert [case.expected for case in found.data] == ["Paris"]
    assert found.dropped == 1


@pytest.mark.parametrize("said", ["nothing", {"pairs": []}, {"pairs": [{"quotes": ["x"]}]}, {}])
def test_an_answer_without_a_pair_is_asked_for_once_more_and_then_an_error(
    tmp_path: Path, said: Any
):
    """The other documents are not lost."""
    model, asked = counting(said, said, {"pairs": [CAPITAL]})
    found = generate(
        {"a": "Nothing.", "b": PARIS}, model=model, settings=Settings(concurrency=1, home=tmp_path)
    )
    assert list(found.errors) == ["a"]
    assert len(found.data) == 1
    assert len(asked) == 3


def test_more_pairs_than_were_wanted_are_not_taken(tmp_path: Path):
    """The first ones count."""
    model, _ = counting({"pairs": [CAPITAL, RIVER]})
    found = generate(
        {"paris": PARIS}, model=model, per_document=1, settings=Settings(home=tmp_path)
    )
    assert [case.expected for case in found.data] == ["Paris"]


def test_the_same_again_pays_for_nothing(tmp_path: Path):
    """The replies are kept, whichever run asked."""
    model, asked = counting({"pairs": [CAPITAL]})
    first = generate({"paris": PARIS}, model=model, settings=Settings(home=tmp_path))
    again = generate({"paris": PARIS}, model=model, settings=Settings(home=tmp_path))
    assert list(first.data) == list(again.data)
    assert len(asked) == 1


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path):
    """Without a cache, and in the same run: only what is missing is asked."""
    documents = {"a": PARIS, "b": PARIS + " b", "c": PARIS + " c"}
    asked: list[str] = []

    def answer(prompt: Any) -> str:
        asked.append(str(prompt))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return json.dumps({"pairs": [CAPITAL]})

    def once() -> Any:
        return generate(
            documents,
            model=Scripted(answer),
            settings=Settings(concurrency=1, cache=False, home=tmp_path),
        )

    with pytest.raises(KeyboardInterrupt):
        once()
    before = len(asked)
    assert len(once().data) == 1
    assert len(asked) - before <= 2
    assert len(list((tmp_path / "runs").glob("*.db"))) == 1


def test_a_long_document_is_asked_about_piece_by_piece(tmp_path: Path):
    """Every piece is of one document."""
    model, asked = counting({"pairs": [CAPITAL]})
    text = PARIS + "\n\n" + "Filler. " * (LONGEST // 8) + "\n\n" + PARIS
    found = generate({"long.txt": text}, model=model, settings=Settings(home=tmp_path))
    assert found.asked_about == len(asked) == 2
    assert {case.metadata["document"] for case in found.data} == {"long.txt"}


def test_files_and_folders_are_documents(tmp_path: Path):
    """HTML without its marks; what isn't text is left where it is."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.html").write_text(
        "<style>x{}</style><p>Paris is the capital of <b>France</b>.</p>"
    )
    (folder / "b.png").write_bytes(b"\xff")
    model, asked = counting({"pairs": [CAPITAL]})
    found = generate([folder], model=model, settings=Settings(home=tmp_path / "home"))
    assert len(found.data) == 1
    assert "<b>" not in asked[0]
    assert "x{}" not in asked[0]


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        (["no.txt"], "cannot be read"),
        (["empty"], "holds no document"),
        (["empty.txt"], "is empty"),
        (["bad.txt"], "is not UTF-8"),
    ],
)
def test_documents_that_cannot_be_read_are_told_before_anything_is_asked(
    tmp_path: Path, documents: Sequence[str], said: str, monkeypatch: pytest.MonkeyPatch
):
    """All of them at once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.txt").write_text(" ")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    model, asked = counting("x")
    with pytest.raises(ConfigError, match=said):
        generate(documents, model=model, settings=Settings())
    assert asked == []
    with pytest.raises(UsageError, match="from 1 to 50"):
        generate({"a": "x"}, model=model, per_document=0, settings=Settings())
    with pytest.raises(UsageError, match="no documents"):
        generate({}, model=model, settings=Settings())


def test_a_key_that_is_missing_is_told_before_a_run_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """There is nothing that could be gone on with."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "a.md").write_text("The moon is rock.")
    model = "openai:chat:gpt-5-mini"
    with pytest.raises(UsageError, match="there is no API key for openai:chat:gpt-5-mini"):
        generate([str(tmp_path / "a.md")], model=model, settings=Settings(home=tmp_path / "home"))
    with pytest.raises(UsageError, match="there is no API key for openai:chat:gpt-5-mini"):
        enrich(CASES, judge=model, settings=Settings(home=tmp_path / "home"))
    assert not (tmp_path / "home").exists()
