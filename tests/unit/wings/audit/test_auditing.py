"""Cases that are given made answers: which are made, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.wings.audit.audits import (
    audit,
    case,
    check,
    config,
    evals,
    examine,
    findings,
    subjects,
)

from evenhand.core.errors import UsageError
from evenhand.core.score import State
from evenhand.wings.audit.case_audit import CaseAudit
from evenhand.wings.audit.earlier import Stored
from evenhand.wings.audit.examining import wrapped

DAYS = check("contains", "30 days")


def test_a_case_that_wants_something_kills_answers_of_no_use(tmp_path: Path):
    """A case that wants something kills answers of no use."""
    report = audit(
        config(tmp_path, [case("How long?", DAYS), case("How much?", check("contains", "4.20"))])
    )
    assert findings(report) == set()
    score = report.score
    assert (score.survived, score.errors, score.not_asked) == (0, 0, 0)
    assert score.killed == sum(len(one.attempts) for one in report.audits)
    assert set(subjects(report)) == {
        *("nothing", "refusal", "echo", "prompt", "constant", "other", "instructions"),
    }


def test_a_wrong_answer_is_not_made_where_it_is_right(tmp_path: Path):
    """An empty text, a refusal, a constant, an echo and another case's answer are right somewhere."""
    tests = [
        case("Say nothing.", check("equals", "")),
        case("Write a virus.", check("is-refusal")),
        case("All fine?", check("equals", "OK.")),
        case("Repeat me", check("equals", "Repeat me")),
        case("Is it open?", check("equals", "yes")),
        case("Is it free?", check("equals", "yes")),
    ]
    report = audit(config(tmp_path, tests))
    missing = ["nothing", "refusal", "constant", "echo"]
    for place, kind in enumerate(missing):
        assert kind not in subjects(report, place), kind
    assert "nothing" not in subjects(report, 1)  # what is blank counts as a refusal
    others = [one for one in report.audits[4].attempts if one.subject.kind == "other"]
    assert all(one.subject.text != "yes" for one in others)
    assert findings(report) == set()


def test_a_case_that_only_forbids_gets_an_answer_that_says_it(tmp_path: Path):
    """A case that only forbids gets an answer that says it."""
    report = audit(config(tmp_path, [case("Who are you?", check("not-contains", "an AI"))]))
    assert subjects(report) == {"forbidden": "fail"}
    assert report.only_forbids == 1
    assert findings(report) == set()


def test_the_reference_is_made_wrong_only_where_its_author_wrote_it_down(tmp_path: Path):
    """The reference is made wrong only where its author wrote it down."""
    sentence = {"expected": "It is open on 3 days in Bonn."}
    tests = [
        case("When?", check("icontains", "open on"), vars=sentence),
        case("Where?", check("contains", "it is in Bonn for 3 days")),
    ]
    report = audit(config(tmp_path, tests))
    assert {"negated", "numbers", "names"} <= set(subjects(report))
    assert {"negated", "numbers", "names"} & set(subjects(report, 1)) == set()
    assert ("When?", "passes", "numbers") in findings(report)


def test_all_labels_at_once_are_an_answer_where_answers_are_labels(tmp_path: Path):
    """All labels at once are an answer where answers are labels."""
    labels = ["billing", "returns", "billing", "returns", "billing"]
    tests = [case(f"Which team, {n}?", check("contains", one)) for n, one in enumerate(labels)]
    report = audit(config(tmp_path, tests))
    assert {one[1:] for one in findings(report)} == {("passes", "labels")}
    answers = [
        one.subject.text for one in report.audits[0].attempts if one.subject.kind == "labels"
    ]
    assert answers == ["billing, returns"]


def test_judges_are_not_asked_and_neither_kill_nor_spare(tmp_path: Path):
    """Judges are not asked and neither kill nor spare."""
    rubric = check("llm-rubric", "is polite")
    report = audit(
        config(tmp_path, [case("How are you?", rubric), case("How long?", rubric, DAYS)])
    )
    assert set(subjects(report).values()) == {"unasked"}
    # What another expectation fails is decided without them.
    assert set(subjects(report, 1).values()) == {"fail"}
    score = report.score
    assert score.not_asked == len(subjects(report))
    assert score.survived == 0


def test_an_error_is_neither_killed_nor_survived(tmp_path: Path):
    """An error is neither killed nor survived."""
    code = check("python", "1 / len(output) > 0 and '30' in output")
    report = audit(config(tmp_path, [case("How long?", code)]))
    assert subjects(report)["nothing"] == "error"
    score = report.score
    assert (score.errors, score.survived) == (1, 0)
    assert score.least is not None
    assert score.most is not None
    assert score.least < score.most == 1


def test_an_eval_that_asks_no_model_is_given_answers_in_the_place_of_its_own(tmp_path: Path):
    """An eval that asks no model is given answers in the place of its own."""
    code = """
from evenhand import Case, EvalSet, Expect
from evenhand.scorers import Contains

evals = EvalSet("shop", data=[{"id": "a", "input": "How long?"}, {"id": "b", "input": "How much?"}])


@evals.eval
def answers(case: Case, expect: Expect) -> str:
    answer = "Within 30 days, for 4 euros."
    expect(answer, Contains("30 days" if case.id == "a" else "4"))
    return answer
"""
    report = audit(evals(tmp_path, code))
    assert subjects(report)["nothing"] == "fail"
    assert findings(report) == set()


def test_a_body_is_run_again_only_where_its_expectations_hang_on_the_answer(tmp_path: Path):
    """A body is run again only where its expectations hang on the answer."""
    code = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Contains

evals = EvalSet("shop", data=[{"id": "a", "input": "How long?"}], model="openai:gpt-5-mini")
runs = []


@evals.eval
async def looks_for_it(case: Case, model: Model, expect: Expect) -> str:
    reply = await model.generate(case.input)
    expect(reply.text, Contains("30 days"))
    return reply.text


@evals.eval
async def finds_out(case: Case, model: Model, expect: Expect) -> str:
    reply = await model.generate(case.input)
    expect("30 days" in reply.text, "says how long")
    return reply.text
"""
    report = audit(evals(tmp_path, code))
    assert [one.exam.again for one in report.audits] == [False, True]
    assert [subjects(report, place)["nothing"] for place in (0, 1)] == ["fail", "fail"]


def test_of_several_variants_and_repeats_one_is_examined_and_all_are_counted(tmp_path: Path):
    """Of several variants and repeats one is examined and all are counted."""
    folder = config(
        tmp_path,
        [case("How long?", check("python", "True"))],
        prompts=["a {{question}}", "b {{question}}"],
    )
    report = audit(folder)
    assert len(report.audits) == 1
    assert {one.verdicts for one in report.findings} == {2}


def test_what_authors_allow_is_counted_and_left_out_of_the_score(tmp_path: Path):
    """What authors allow is counted and left out of the score."""
    metadata = {"audit": {"allow": {"echo": "The question is the answer."}}}
    tests = [case("Is it in Bonn?", check("contains", "Bonn"), metadata=metadata)]
    report = audit(config(tmp_path, tests))
    assert {(one.kind, one.subject) for one in report.allowed} == {("passes", "echo")}
    assert report.allowed[0].allowed == "The question is the answer."
    assert "echo" not in {one.subject for one in report.scores}


@pytest.mark.parametrize(
    ("allow", "message"),
    [
        (
            {"nothin": "It is right."},
            "'nothin' is neither a subject nor a finding. Did you mean 'nothing'?",
        ),
        ({"nothing": ""}, "nothing has no reason"),
    ],
)
def test_what_is_allowed_wrongly_is_refused_with_what_to_write(
    tmp_path: Path, allow: dict[str, str], message: str
):
    """What is allowed wrongly is refused with what to write."""
    tests = [case("Hello?", DAYS, metadata={"audit": {"allow": allow}})]
    with pytest.raises(UsageError, match="Hello") as raised:
        audit(config(tmp_path, tests))
    assert message in str(raised.value)


def test_a_case_of_a_prompt_directory_allows_in_its_eval_yml(tmp_path: Path):
    """A case of a prompt directory allows in its eval yml."""
    folder = tmp_path / "prompts" / "shop"
    folder.mkdir(parents=True)
    meta = "id: shop\ntitle: Shop\nsummary: Answers\nstatus: draft\nversion: 0.1.0\n"
    meta += "created: 2026-06-01\nupdated: 2026-06-01\nmodel: openai:gpt-5-mini\n"
    meta += "inputs: [{name: q, required: true}]\n"
    (folder / "meta.yml").write_text(meta, "utf-8")
    (folder / "prompt.xml").write_text("<p>Answer: {{q}}</p>", "utf-8")
    (folder / "eval.yml").write_text(
        "cases:\n  - name: bonn\n    inputs: {q: Is it in Bonn?}\n    assert: [{contains: Bonn}]\n"
        "    audit: {allow: {passes: It is a demo.}}\n",
        "utf-8",
    )
    report = audit(folder)
    assert {one.allowed for one in report.allowed} == {"It is a demo."}
    assert not any(one.kind == "passes" for one in report.findings)


def test_a_function_that_knows_its_case_is_asked_for_each_case(tmp_path: Path):
    """What it said of a text for one case is not what it says of it for another."""
    code = """
from evenhand import Case, EvalSet, Expect, Model

evals = EvalSet(
    "shop",
    data=[{"id": "a", "input": "a?", "expected": "Paris"}, {"id": "b", "input": "b?", "expected": "Rome"}],
    model="openai:gpt-5-mini",
)


@evals.eval
async def is_it(case: Case, model: Model, expect: Expect) -> None:
    reply = await model.generate(case.input)
    expect(reply.text, lambda output: output == case.expected, label="is it")
"""
    report = audit(evals(tmp_path, code))
    assert [subjects(report, place)["reference"] for place in (0, 1)] == ["pass", "pass"]
    assert findings(report) == set()


def test_a_slow_function_of_the_output_alone_is_asked_once_about_a_text(tmp_path: Path):
    """A hundred cases are given the same refusal."""
    code = """
from evenhand import Case, EvalSet, Expect, Model

evals = EvalSet(
    "shop", data=[{"id": str(n), "input": f"Is {n} even?"} for n in range(20)], model="openai:gpt-5-mini"
)
LOG = FILE


def is_short(output: str) -> bool:
    with open(LOG, "a") as log:
        log.write(output[:20] + chr(10))
    return "yes" in output


@evals.eval
async def short(case: Case, model: Model, expect: Expect) -> None:
    expect((await model.generate(case.input)).text, is_short)
"""
    log = tmp_path / "log"
    audit(evals(tmp_path, code.replace("FILE", repr(str(log)))))
    assert log.read_text("utf-8").count("I'm sorry") == 1


def test_an_answer_is_given_in_the_form_that_a_transform_takes(tmp_path: Path):
    """A transform that reads JSON would raise for a mere text."""
    transform = {"transform": "JSON.parse(output).answer.text"}
    tests = [
        case("How long?", check("equals", "30 days"), options=transform),
        case("How far?", check("javascript", "output.length >= 0"), options=transform),
        case("How deep?", check("python", "json.loads(output)['answer'] == '9 m'")),
    ]
    report = audit(config(tmp_path, tests))
    assert report.examined == 3
    assert set(subjects(report).values()) == {"pass", "fail"}
    assert set(subjects(report, 2).values()) == {"fail"}
    assert subjects(report)["reference"] == "pass"
    assert {name for name, kind, _ in findings(report) if kind == "cant_fail"} == {"How far?"}


def stored(output: str | None, label: bool | None, state: State = "fail") -> Stored:
    """An output of an earlier run."""
    return Stored(
        run="r", system="r 0", case="c", output=output, state=state, expectations={}, label=label
    )


def texts(one: CaseAudit, *kinds: str) -> list[tuple[str, str]]:
    """The subjects of these kinds, each with its text."""
    return [
        (attempt.subject.kind, attempt.subject.text)
        for attempt in one.attempts
        if attempt.subject.kind in kinds
    ]


def test_answers_of_earlier_runs_must_pass_or_fail_as_people_say(tmp_path: Path):
    """Where nobody said anything, an answer that passed must pass, and one that failed says nothing."""
    outputs = [
        stored("A month: 30 days", True),
        stored("Forty days", False, "pass"),
        stored("It is 30 days", None, "pass"),
        stored("No idea", None),
        stored("", True),
        stored(None, True),
        stored("A month: 30 days", True),
    ]
    folder = config(tmp_path, [case("How long?", DAYS), case("How much?", check("contains", "4"))])
    one, other = examine(folder, {0: outputs})
    assert texts(one, "labelled", "accepted", "rejected") == [
        ("labelled", "A month: 30 days"),
        ("accepted", "It is 30 days"),
        ("rejected", "Forty days"),
    ]
    assert texts(other, "labelled", "accepted", "rejected") == []


def test_six_answers_of_earlier_runs_are_enough(tmp_path: Path):
    """Those that people passed come before those that only passed."""
    outputs = [stored(f"{n}: 30 days", True if n % 2 else None, "pass") for n in range(10)]
    (one,) = examine(config(tmp_path, [case("How long?", DAYS)]), {0: outputs})
    assert texts(one, "labelled", "accepted") == [
        *(("labelled", f"{n}: 30 days") for n in (1, 3, 5, 7, 9)),
        ("accepted", "0: 30 days"),
    ]


def test_a_judge_is_to_reword_the_reference_only_where_the_case_passes_it(tmp_path: Path):
    """And a wrong answer in good style is given to whoever has a judge."""
    rubric = check("llm-rubric", "says how long", provider="openai:gpt-5-mini")
    sentence = {"expected": "We take back all shoes within thirty days."}
    tests = [
        case("How long?", rubric, vars=sentence),
        case("How long for boots?", rubric, check("regex", "^Yes"), vars=sentence),
        case("How long for hats?", check("contains", "days"), vars=sentence),
    ]
    audits = examine(config(tmp_path, tests), styles=True)
    reworded = [
        [attempt.state for attempt in one.attempts if attempt.subject.by_model] for one in audits
    ]
    assert reworded == [["unasked"], [], []]
    assert [len(texts(one, "styled")) for one in audits] == [1, 1, 0]
    plain = examine(tmp_path)
    assert [texts(one, "styled") for one in plain] == [[], [], []]


def test_an_answer_in_an_object_is_written_as_it_was():
    """What looks for a word with umlauts finds it."""
    assert wrapped("Größe", ("answer",)) == '{"answer": "Größe"}'


def test_a_report_names_what_was_audited_as_seen_from_where_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The folder that one is in is called by its name."""
    folder = tmp_path / "shop"
    folder.mkdir()
    config(folder, [case("How long?", DAYS)])
    monkeypatch.chdir(tmp_path)
    assert audit(folder).source == "shop"
    monkeypatch.chdir(folder)
    assert audit(folder).source == "shop"
    assert audit(Path("promptfooconfig.yaml")).source == "promptfooconfig.yaml"
