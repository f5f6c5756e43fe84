"""`evenhand data`, as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.store.run_lookup import find, runs
from evenhand.testing import FakeProvider, Script
from evenhand.testing.script import Rule

TABLE = 'id,input,expected,tags,relevant\nfr,Capital?,Paris.,"geo, easy","[""d1""]"\nmoon,Moon?,Rock.,sky,\n'
FACTS = {
    "claims": ["Paris is the capital."],
    "entities": [{"name": "Paris", "aliases": []}],
    "sub_questions": ["What is the capital?"],
}
PAIR = {"quotes": ["It lies on the Seine."], "question": "Which river?", "answer": "The Seine"}
Typed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def typed(tmp_path: Path) -> Iterator[Typed]:
    """The command line, in a folder with a dataset, with a provider that is not real."""
    (tmp_path / "faq.csv").write_text(TABLE)
    rules = [
        Rule(match=("You prepare what answers",), reply=FACTS),
        Rule(match=("Seine",), reply={"pairs": [PAIR]}),
        Rule(reply="no pairs"),
    ]
    with FakeProvider(Script(rules)) as fake:
        env = {**os.environ, **fake.env()}

        def run(*words: str) -> Any:
            command = [sys.executable, "-c", "from evenhand.cli import main; main()", "dataset"]
            return subprocess.run(
                [*command, *words],
                cwd=tmp_path,
                env=env,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )

        yield run


def test_a_dataset_is_shown_for_people_and_for_programs(typed: Typed):
    """Fields, tags, fingerprint, the first cases."""
    said = typed("show", "faq.csv").stdout
    assert "faq: 2 cases · fingerprint" in said
    assert "tags: easy (1), geo (1), sky (1)" in said
    document = json.loads(typed("show", "faq.csv", "--json", "--first", "1").stdout)
    assert document["count"] == 2
    assert [case["id"] for case in document["cases"]] == ["fr"]


def test_a_dataset_is_converted_and_says_the_same(typed: Typed, tmp_path: Path):
    """From one format to the next and back."""
    for one, other in (("faq.csv", "a.jsonl"), ("a.jsonl", "a.parquet"), ("a.parquet", "a.yaml")):
        assert typed("convert", one, other).returncode == 0
    assert list(Dataset.read(tmp_path / "a.yaml")) == list(Dataset.read(tmp_path / "faq.csv"))


def test_a_dataset_is_split_and_nothing_is_overwritten(typed: Typed, tmp_path: Path):
    """Each part beside the file, once."""
    assert typed("split", "faq.csv", "--into", "dev=1,test=1", "--seed", "3").returncode == 0
    parts = [*Dataset.read(tmp_path / "faq-dev.csv"), *Dataset.read(tmp_path / "faq-test.csv")]
    assert sorted(case.id for case in parts) == ["fr", "moon"]
    again = typed("split", "faq.csv", "--into", "dev=1,test=1")
    assert (again.returncode, "already exist" in again.stderr) == (2, True)
    for into in ("dev", "dev=x", "../dev=1", "=1"):
        assert typed("split", "faq.csv", "--into", into).returncode == 2


def test_a_dataset_is_enriched(typed: Typed, tmp_path: Path):
    """Into another file, or the same."""
    done = typed("enrich", "faq.csv", "--to", "rich.jsonl", "--judge", "openai:chat:gpt-5-mini")
    assert done.returncode == 0, done.stderr
    assert "2 cases · 2 were asked about · 2 calls" in done.stdout
    case = Dataset.read(tmp_path / "rich.jsonl")[0]
    assert case.metadata["sub_questions"] == ["What is the capital?"]
    with pytest.raises(UsageError, match=r"only probes, .* prepared datasets"):
        find(tmp_path, "latest")
    done = typed("enrich", "rich.jsonl", "--to", "rich.jsonl", "--judge", "openai:chat:gpt-5-mini")
    assert "0 calls" in done.stdout


def test_cases_are_written_from_documents(typed: Typed, tmp_path: Path):
    """A document that came to nothing is told, and the exit code says so."""
    (tmp_path / "a.md").write_text("Paris. It lies on the Seine.")
    (tmp_path / "b.md").write_text("Nothing.")
    words = ["generate", "a.md", "--to", "new.jsonl", "--model", "openai:chat:gpt-5-mini"]
    assert typed(*words).returncode == 0
    assert [case.expected for case in Dataset.read(tmp_path / "new.jsonl")] == ["The Seine"]
    (run,) = runs(tmp_path / ".evenhand")
    assert run.meta is not None
    with pytest.raises(UsageError, match="wrote cases for a dataset"):
        refuse_judge_check(run.meta)
    done = typed(*words, "b.md")
    assert done.returncode == 3
    assert "b.md: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_dataset_is_enriched_and_written_offline_as_other_commands_run(
    typed: Typed, tmp_path: Path
):
    """From the folder's offline.jsonl, for nothing; a model's replies are another attempt's."""
    (tmp_path / "a.md").write_text("Paris. It lies on the Seine.")
    enrich = ["enrich", "faq.csv", "--to", "rich.jsonl", "--judge", "openai:chat:gpt-5-mini"]
    write = ["generate", "a.md", "--to", "new.jsonl", "--model", "openai:chat:gpt-5-mini"]
    none = typed(*enrich, "--offline")
    assert (none.returncode, "there is no offline.jsonl" in none.stderr) == (2, True)
    facts = {**FACTS, "sub_questions": ["From the script?"]}
    pair = {**PAIR, "answer": "from the script"}
    rules = [
        {"match": "You prepare what answers", "reply": json.dumps(facts)},
        {"match": "Seine", "reply": json.dumps({"pairs": [pair]})},
    ]
    (tmp_path / "offline.jsonl").write_text("\n".join(map(json.dumps, rules)))
    done = typed(*enrich, "--offline")
    assert (done.returncode, "2 calls · replies scripted" in done.stdout) == (0, True), (
        done.stdout + done.stderr
    )
    assert Dataset.read(tmp_path / "rich.jsonl")[0].metadata["sub_questions"] == [
        "From the script?"
    ]
    assert typed(*write, "--offline").returncode == 0
    assert [case.expected for case in Dataset.read(tmp_path / "new.jsonl")] == ["from the script"]
    assert all(run.meta and run.meta.is_scripted for run in runs(tmp_path / ".evenhand"))
    assert typed(*enrich).returncode == 0
    assert Dataset.read(tmp_path / "rich.jsonl")[0].metadata["sub_questions"] != [
        "From the script?"
    ]


def test_an_attempt_that_a_script_answered_is_not_continued_with_a_model(
    typed: Typed, tmp_path: Path
):
    """Nor one with another script: what was answered would be a mixture."""
    words = ["enrich", "faq.csv", "--to", "rich.jsonl", "--judge", "openai:chat:gpt-5-mini"]
    for text in (
        '{"match": "Paris", "reply": "no JSON"}',
        '{"match": "Paris", "reply": "nor this"}',
    ):
        (tmp_path / "offline.jsonl").write_text(text)
        assert typed(*words, "--offline").returncode == 3
    assert typed(*words).returncode == 0
    made = list(runs(tmp_path / ".evenhand"))
    assert len(made) == 3
    assert not any(run.meta and run.meta.can_resume for run in made)


@pytest.mark.parametrize("to", ["no/x.csv", "x.xyz", "."])
def test_where_nothing_can_be_written_nothing_is_paid_for(typed: Typed, tmp_path: Path, to: str):
    """The message comes before the calls, not after them."""
    (tmp_path / "a.md").write_text("Paris. It lies on the Seine.")
    model = "openai:chat:gpt-5-mini"
    for words in (
        ["enrich", "faq.csv", "--to", to, "--judge", model],
        ["generate", "a.md", "--to", to, "--model", model],
    ):
        assert typed(*words).returncode == 2
    assert not (tmp_path / ".evenhand").exists()


def test_what_is_wrong_is_told_without_a_traceback(typed: Typed):
    """Files that are not there, endings that say nothing, a folder that is none."""
    for words in (
        ["show", "none.csv"],
        ["show", "faq.txt"],
        ["convert", "faq.csv", "faq.txt"],
        ["convert", "faq.csv", "no/faq.csv"],
        ["enrich", "faq.csv", "--to", "x.csv", "--judge", "nobody:knows"],
        ["generate", "none", "--to", "x.csv", "--model", "openai:chat:gpt-5-mini"],
    ):
        done = typed(*words)
        assert done.returncode == 2, words
        assert "Traceback" not in done.stderr
        assert done.stderr.strip()
