"""Logs of Inspect and of the LM Evaluation Harness as eval sets that run: offline, with what was answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_import_openai_evals import evenhand
from tests.unit.wings.interchange.exports import EXPORTS, names, saved
from tests.unit.wings.interchange.inspect_logs.conftest import (
    a_header,
    a_sample,
    deflated,
    members,
)
from tests.unit.wings.interchange.openai_evals.conftest import a_result, a_run, an_eval, an_item

from evenhand.core.errors import UsageError
from evenhand.doors.importers.moved_in import MovedIn
from evenhand.wings.interchange.inspect_logs.folder import move_in as move_logs_in
from evenhand.wings.interchange.lm_eval.folder import move_in as move_samples_in
from evenhand.wings.interchange.openai_evals.folder import move_in as move_evals_in
from evenhand.wings.interchange.recorded_eval import RecordedEval, eval_file, script


def a_log(path: Path, *scorers: dict[str, Any], solver: str = "generate", **more: Any) -> Path:
    """Two samples of a task, the second answered wrong, and the scorers of the task."""
    header = a_header()
    header["eval"] |= {"scorers": list(scorers), "model_generate_config": {"temperature": 0.0}}
    header["plan"]["steps"] = [{"solver": solver, "params": {}}]
    said = {"role": "assistant", "content": "Perhaps 5", "source": "generate"}
    asked = {"role": "user", "content": "2+3, or so?", "source": "input"}
    other = a_sample(
        "two",
        input="2+3, or so?",
        target=["6", "six"],
        messages=[asked, said],
        output={"model": "m", "choices": [{"message": said}], "completion": "Perhaps 5"},
    )
    return deflated(path, members(a_sample(1, **more), other, header=header))


def texts_of(made: MovedIn) -> list[str]:
    """What was said, each with its place."""
    return [f"{one.kind} {one.where}: {one.text}" for one in made.notes]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a dataset."""
    return [json.loads(row) for row in path.read_text("utf-8").splitlines()]


def offline(folder: Path) -> dict[str, Any]:
    """The document of a run with recorded answers."""
    ran = evenhand(folder.parent, "run", folder.name, "--offline", "--json", "--no-progress")
    assert "Traceback" not in ran.stderr, ran.stderr
    assert ran.returncode in (0, 1), ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.thorough
def test_a_log_becomes_an_eval_set_that_grades_what_was_answered(tmp_path: Path):
    """Cases, targets, prompt, model, settings and scorers are those of the log; nobody is asked."""
    log = a_log(
        tmp_path / "a.eval",
        {"name": "includes", "options": {}},
        {"name": "match", "options": {"location": "any", "numeric": True}},
        {"name": "inspect_ai/pattern", "options": {"pattern": r"(\d+)"}},
    )
    made = evenhand(tmp_path, "init", "--from", "inspect", log.name, "mine")
    assert made.returncode == 0, made.stderr
    assert "run mine/evals/sums_evals.py --offline" in made.stdout
    document = offline(tmp_path / "mine")
    totals = document["totals"]
    assert (totals["trials"], totals["passed"], totals["failed"]) == (2, 1, 1)
    text = (tmp_path / "mine/evals/sums_evals.py").read_text("utf-8")
    assert 'model="openai:gpt-4o-mini"' in text
    assert 'SETTINGS = {"temperature": 0.0}' in text
    for scorer in ("includes", "match", "pattern"):
        assert f'metric="{scorer}"' in text
    rows = rows_of(tmp_path / "mine/evals/sums.jsonl")
    assert [(row["id"], row["expected"]) for row in rows] == [("1", "4"), ("two", ["6", "six"])]


def test_what_a_log_has_no_equal_for_is_said_with_its_place(tmp_path: Path):
    """Scorers of others, votes, options, solvers that are code, and settings."""
    log = a_log(
        tmp_path / "a.eval",
        {"name": "my_scorer", "options": {}},
        {"name": "choice", "options": {}},
        {"name": "multi_scorer", "options": {"reducer": "mode"}},
        {"name": "f1", "options": {"answer_fn": {"type": "function"}}},
        {"name": "includes", "options": {"fuzzy": 3}},
        {"name": "model_graded_qa", "options": {"template": "T", "model": "openai/gpt-4o"}},
        solver="react",
    )
    made = move_logs_in([log], tmp_path / "mine")
    texts = "\n".join(texts_of(made))
    for place, words in (
        ("eval.scorers[0]", "'my_scorer' has no equal"),
        ("eval.scorers[1]", "'choice' reads"),
        ("eval.scorers[2]", "vote"),
        ("eval.scorers[3].options.answer_fn", "scored without"),
        ("eval.scorers[4].options.fuzzy", "not known"),
        ("eval.scorers[5].options.template", "asked in our words"),
        ("plan.steps[0]", "'react' is code"),
    ):
        assert [one for one in texts.splitlines() if place in one and words in one], (place, texts)
    assert "application.py" in made.todo
    assert not made.offline
    text = made.sets[0].read_text("utf-8")
    assert 'judge=provider("openai:gpt-4o")' in text
    assert "at_least=0.5" in text
    assert "my_scorer" not in text


def test_of_several_logs_of_a_task_the_newest_counts(tmp_path: Path):
    """It says which; a log without samples has nothing to run."""
    first = a_log(tmp_path / "a.eval", {"name": "exact"})
    about = a_header()["eval"] | {"created": "2026-11-24T10:00:00+00:00", "model": "openai/gpt-5"}
    second = deflated(tmp_path / "b.eval", members(a_sample(), header=a_header(eval=about)))
    made = move_logs_in([first, second], tmp_path / "mine")
    assert len(made.sets) == 1
    assert 'model="openai:gpt-5"' in made.sets[0].read_text("utf-8")
    assert any("the newest counts" in one for one in texts_of(made))
    empty = deflated(tmp_path / "c.eval", members(header=a_header()))
    with pytest.raises(UsageError, match="no samples"):
        move_logs_in([empty], tmp_path / "other")


def test_the_longest_conversation_is_matched_first():
    """It holds what a shorter one holds; a reply to that would be given to both."""
    hello, more = ("Hello",), ("Hello", "And then?")
    one = RecordedEval(
        title="t",
        about="a",
        cases=[],
        checks=[],
        asks=True,
        replies=[(hello, "first"), (more, "second")],
    )
    assert [rule["reply"] for rule in script([one])] == ["second", "first"]


def test_a_case_that_was_asked_twice_is_asked_twice():
    """Once is nothing to say."""
    for repeats, written in ((1, ""), (2, ", repeats=2"), (3, ", repeats=3")):
        text = eval_file(
            RecordedEval(title="t", about="a", cases=[], checks=[], asks=True, repeats=repeats), "t"
        )
        assert f'data=Dataset.read("t.jsonl"){written})' in text


def test_texts_of_a_log_are_never_code(tmp_path: Path):
    """Whatever they are: quotes, tags, line breaks."""
    nasty = '"""\nimport os; os.abort()\n{case} \\n'
    header = a_header()
    header["eval"] |= {
        "task": nasty,
        "model": nasty,
        "scorers": [{"name": "pattern", "options": {"pattern": nasty}}, {"name": nasty}],
        "model_generate_config": {"temperature": nasty},
    }
    sample = a_sample('x"""', target=nasty, input=nasty)
    log = deflated(tmp_path / "a.eval", members(sample, header=header))
    made = move_logs_in([log], tmp_path / "mine")
    for path in made.files:
        if path.suffix == ".py":
            compile(path.read_text("utf-8"), str(path), "exec")
    assert offline(tmp_path / "mine")["totals"]["trials"] == 1


CONFIG = {
    "task": "quiz",
    "output_type": "generate_until",
    "metric_list": [{"metric": "exact_match", "ignore_case": True, "aggregation": "mean"}],
    "filter_list": [
        {
            "name": "strict",
            "filter": [
                {"function": "regex", "regex_pattern": r"(\w+)\.?$"},
                {"function": "take_first"},
            ],
        },
        {"name": "flexible", "filter": [{"function": "majority_vote"}]},
    ],
}


def test_logged_samples_become_an_eval_set_that_grades_what_was_answered(tmp_path: Path):
    """Documents, targets, prompt, filter and metric; what has no equal is said with its place."""
    files = EXPORTS["lm-eval"](tmp_path)
    for path in files:
        if path.name.startswith("results"):
            results = json.loads(path.read_text("utf-8"))
            results["configs"]["quiz"] = CONFIG
            path.write_text(json.dumps(results), "utf-8")
    made = evenhand(tmp_path, "init", "--from", "lm-eval", *names(files, tmp_path), "mine")
    assert made.returncode == 0, made.stderr
    assert "majority_vote" in made.stdout
    assert "metric 'bleu' has no equal here" in made.stdout
    assert "configs.quiz.filter_list[1].filter[0]" in made.stdout
    document = offline(tmp_path / "mine")
    assert (document["totals"]["trials"], document["totals"]["passed"]) == (3, 2)
    text = (tmp_path / "mine/evals/quiz_evals.py").read_text("utf-8")
    assert "ignore_case=True" in text
    assert 'SETTINGS = {"stop": ["\\n"]}' in text


def test_choices_by_likelihood_are_written_for_an_application(tmp_path: Path):
    """No vendor's model says how likely a text is: the right choice is what is expected."""
    path = saved(
        tmp_path / "samples_arc_2026-10-01T09-00-00.1.jsonl",
        {
            "doc_id": 0, "doc": {"question": "Colour of snow?"}, "target": 1, "filter": "none",
            "arguments": {f"gen_args_{i}": {"arg_0": "Q", "arg_1": f" {c}"} for i, c in enumerate(("red", "white"))},
            "resps": [[[-3.0, False]], [[-1.0, True]]], "filtered_resps": [[-3.0, False], [-1.0, True]],
            "metrics": ["acc"], "acc": 1.0,
        },
    )  # fmt: skip
    made = move_samples_in([path], tmp_path / "mine")
    assert any("how likely each choice is" in one for one in texts_of(made))
    assert "application.py" in made.todo
    (row,) = rows_of(tmp_path / "mine/evals/arc.jsonl")
    assert (row["input"], row["expected"]) == ("Q", "white")
    compile(made.sets[0].read_text("utf-8"), "set", "exec")
    with pytest.raises(UsageError, match="already exist"):
        move_samples_in([path], tmp_path / "mine")


@pytest.mark.parametrize(
    ("content", "asks"),
    [
        ([{"type": "text", "text": "2+2?"}, {"type": "text", "text": "Quick."}], True),
        ([{"type": "text", "text": "What is this?"}, {"type": "image", "image": "x.png"}], False),
        ([{"type": "image", "image": "x.png"}], False),
        (7, False),
    ],
)
def test_a_conversation_that_holds_more_than_text_is_not_asked_without_it(
    content: object, asks: bool, tmp_path: Path
):
    """A model that is not shown the image would be graded for another question."""
    asked = {"role": "user", "content": content, "source": "input"}
    said = {"role": "assistant", "content": "4", "source": "generate"}
    made = move_logs_in(
        [a_log(tmp_path / "a.eval", {"name": "exact"}, messages=[asked, said])], tmp_path / "mine"
    )
    rows = rows_of(tmp_path / "mine/evals/sums.jsonl")
    assert made.offline is asks
    assert ["messages" in row.get("vars", row) for row in rows] == [asks, asks]


@pytest.mark.parametrize("stops", [3, 4, 5])
def test_at_most_four_texts_end_an_answer_and_the_others_are_said(stops: int, tmp_path: Path):
    """Vendors refuse more; nothing is said of those that all fit."""
    until = [f"<{i}>" for i in range(stops)]
    asked = {"arg_0": "Q", "arg_1": {"until": until}}
    path = saved(
        tmp_path / "samples_quiz_2026-10-01T09-00-00.1.jsonl",
        {
            "doc_id": 0, "doc": {"question": "Q"}, "target": "A", "filter": "none",
            "arguments": {"gen_args_0": asked}, "resps": [["A"]], "filtered_resps": ["A"],
            "metrics": ["exact_match"], "exact_match": 1.0,
        },
    )  # fmt: skip
    made = move_samples_in([path], tmp_path / "mine")
    text = made.sets[0].read_text("utf-8")
    assert [one in text for one in until] == [i < 4 for i in range(stops)]
    said = [one for one in texts_of(made) if "the first 4 of" in one]
    assert len(said) == (stops > 4)


@pytest.mark.parametrize("passed", [True, False])
def test_a_recorded_label_is_one_with_the_recorded_verdict(passed: bool, tmp_path: Path):
    """What the judge is replayed to say passes where it passed, and fails where it failed."""
    tone = {
        "type": "label_model", "name": "tone", "model": "gpt-4o",
        "input": [{"role": "user", "content": "How does this sound: {{ sample.output_text }}"}],
        "labels": ["warm", "kind", "cold", "rude"], "passing_labels": ["warm", "kind"],
    }  # fmt: skip
    result = a_result(passed=passed, name="tone", type="label_model")
    result["sample"] = {"output": [{"role": "assistant", "content": "none that is named"}]}
    path = saved(
        tmp_path / "export.jsonl", an_eval(tone), a_run(), an_item(results=[result], answer="Four.")
    )
    made = move_evals_in([path], tmp_path / "mine")
    assert made.offline
    rules = rows_of(tmp_path / "mine/offline.jsonl")
    labels = [json.loads(rule["reply"])["label"] for rule in rules if "label" in rule["reply"]]
    assert labels == ["warm" if passed else "cold"]


@pytest.mark.parametrize(
    ("score", "passed", "words"),
    [
        (1.0, True, "OpenAI's verdict and score on all 1 recorded outputs"),
        (1.0, False, "another verdict than OpenAI's on 1 of 1 recorded outputs"),
        (0.9, True, "another score on 1, e.g."),
    ],
)
def test_a_score_that_is_the_threshold_passes(
    score: float, passed: bool, words: str, tmp_path: Path
):
    """And where OpenAI's was otherwise, the import says so."""
    alike = {
        "type": "text_similarity",
        "name": "alike",
        "input": "{{ sample.output_text }}",
        "reference": "Four.",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 1.0,
    }
    result = a_result(passed=passed, score=score, name="alike", type="text_similarity")
    path = saved(
        tmp_path / "export.jsonl",
        an_eval(alike),
        a_run(),
        an_item(results=[result], answer="Four."),
    )
    made = move_evals_in([path], tmp_path / "mine")
    assert any(words in one for one in texts_of(made)), texts_of(made)
