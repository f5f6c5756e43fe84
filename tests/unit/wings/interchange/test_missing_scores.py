"""What an evaluator of another tool didn't give is an error or unknown: no score, no 0, and never without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.wings.interchange.exports import EXPORTS, JSON, saved
from tests.unit.wings.interchange.openai_evals.conftest import a_run, an_eval, an_item
from tests.unit.wings.interchange.test_odd_exports import changed, notes, outcomes

from evenhand.core.run import TrialResult
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of
from evenhand.doors.importers.recorded import Recordings
from evenhand.doors.importers.registry import read_runs
from evenhand.languages.documents.foreign import Notes


def trials(read: Recordings) -> list[TrialResult]:
    """Those of the first run."""
    return list(read.runs[0].trials())


def states(trial: TrialResult) -> dict[str, str]:
    """What each score of a trial came to."""
    return {one.name: one.outcome for one in trial.outcomes}


def roots(values: list[JSON]) -> list[JSON]:
    """The root events of a file of Braintrust's."""
    return [one for one in values[0]["events"] if one["is_root"]]


@pytest.mark.parametrize("scores", [{"Exact": 1.0}, {"Exact": 1.0, "Factuality": 0}])
def test_a_scorer_of_braintrusts_that_raised_is_an_error_also_where_a_0_was_filled_in(
    tmp_path: Path, scores: JSON
):
    """Braintrust keeps its traceback in the metadata, and `default_error_score_handler` writes 0."""

    def change(values: list[JSON]) -> None:
        errors = {"Factuality": "Traceback (most recent call last):\n  x\nRateLimitError: 429\n"}
        roots(values)[1].update(scores=scores, metadata={"scorer_errors": errors})

    second = trials(changed("braintrust", tmp_path, "before", change))[1]
    assert states(second) == {"Exact": "not_applicable", "Factuality": "error"}
    assert (second.outcome, second.reason) == ("error", "RateLimitError: 429")
    assert second.named_scores == {"Exact": 1.0}


def test_a_0_beside_an_error_of_a_task_of_braintrusts_is_no_score(tmp_path: Path):
    """A score that is another number was taken."""

    def change(values: list[JSON]) -> None:
        roots(values)[0].update(error="boom", scores={"Exact": 0, "Length": 12})

    first = trials(changed("braintrust", tmp_path, "before", change))[0]
    assert (first.outcome, first.named_scores) == ("error", {"Length": 12})


def test_what_a_scorer_of_braintrusts_asks_is_neither_the_subjects_model_nor_its_tokens(
    tmp_path: Path,
):
    """It is the judge of its score, whichever span is written first."""

    def change(values: list[JSON]) -> None:
        spans: list[JSON] = []
        for root in roots(values):
            id_ = root["span_id"]
            base = {"experiment_id": root["experiment_id"], "root_span_id": id_, "is_root": False}
            scorer = {"name": "Factuality", "type": "score"}
            spans += [
                base | {"id": f"j{id_}", "span_id": f"j{id_}", "span_parents": [f"k{id_}"],
                 "span_attributes": {"name": "llm", "type": "llm"}, "scores": None,
                 "metadata": {"model": "gpt-5"}, "metrics": {"prompt_tokens": 900}},
                base | {"id": f"k{id_}", "span_id": f"k{id_}", "span_parents": [id_],
                 "span_attributes": scorer, "scores": {"Factuality": 0.6}},
            ]  # fmt: skip
        values[0]["events"] = [*spans, *values[0]["events"]]

    read = changed("braintrust", tmp_path, "before", change)
    assert [one.answer.model for one in trials(read)] == ["gpt-5-mini"] * 3
    assert [one.tokens_in for one in trials(read)] == [20] * 3
    judges = {one.name: one.metadata.get("judge") for one in trials(read)[0].outcomes}
    assert judges == {"Exact": None, "Factuality": "gpt-5", "Late": None}


def test_tokens_of_several_calls_are_unknown_where_one_does_not_say_them(tmp_path: Path):
    """A sum of the others would be too low."""

    def change(values: list[JSON]) -> None:
        silent = dict(values[0]["events"][1], id="s", span_id="s", metrics={"prompt_tokens": 5})
        values[0]["events"].append(silent)

    first, second, _ = trials(changed("braintrust", tmp_path, "before", change))
    assert (first.tokens_in, first.tokens_out, second.tokens_out) == (25, None, 3)

    def observe(values: list[JSON]) -> None:
        silent = dict(values[0]["observations"][0], id="s", usageDetails={"input": 5})
        values[0]["observations"].append(silent)

    first, second, _ = trials(changed("langfuse", tmp_path / "l", "traces", observe))
    assert (first.tokens_in, first.tokens_out, second.tokens_out) == (25, None, 3)


@pytest.mark.parametrize("mark", [{"extra": {"error": True}}, {"error": True}])
def test_an_evaluator_of_langsmiths_that_raised_is_an_error(tmp_path: Path, mark: JSON):
    """LangSmith keeps its exception as the comment of feedback without a score."""

    def change(values: list[JSON]) -> None:
        values[0].update(score=None, comment="ValueError('429')", **mark)

    read = changed("langsmith", tmp_path, "feedback", change)
    assert outcomes(read)[0] == "error"
    assert trials(read)[0].reason == "ValueError('429')"


def test_means_of_langsmiths_feedback_keep_labels_and_errors(tmp_path: Path):
    """Without a file of feedback they are all that is known of it."""

    def change(values: list[list[JSON]]) -> None:
        for run in values[0]:
            run["feedback_stats"] = {
                "tone": {"n": 1, "avg": None, "errors": 0, "values": {"dry": 1}},
                "clear": {"n": 1, "avg": None, "errors": 1, "values": {}},
            }

    first = trials(changed("langsmith", tmp_path, "runs", change))[0]
    assert states(first) == {
        "correct": "not_applicable",
        "tone": "not_applicable",
        "clear": "error",
    }
    assert next(one.reason for one in first.outcomes if one.name == "tone") == "dry"


def test_of_several_feedbacks_with_one_key_the_newest_counts_in_whatever_order_they_are(
    tmp_path: Path,
):
    """LangSmith lists the newest first."""

    def change(values: list[JSON]) -> None:
        values[0].update(score=True, modified_at="2026-10-02T09:00:00")
        values.append({**values[0], "id": "x", "score": False, "modified_at": "2026-10-01T09:00"})

    read = changed("langsmith", tmp_path, "feedback", change)
    assert outcomes(read)[0] == "pass"
    assert "feedback that is there again" in notes(read)


def test_feedback_of_langsmiths_on_a_run_that_is_no_trial_is_named(tmp_path: Path):
    """It may be on a step of a trial."""
    read = changed(
        "langsmith", tmp_path, "feedback", lambda values: values[0].update(run_id="child")
    )
    assert "feedback on a run that is none of an example's" in notes(read)


def test_a_label_of_phoenix_is_a_verdict_only_where_its_scores_say_the_same(tmp_path: Path):
    """`hallucinated: true` with a score of 0 is no pass, nor is a confidence beside the word true."""

    def change(values: list[list[JSON]]) -> None:
        for row, label, score in zip(values[0], ("true", "false", "true"), (0, 1, 1), strict=True):
            row["annotations"] = [
                {"name": "hallucinated", "label": label, "score": score},
                {"name": "sure", "label": "True", "score": 0.35},
                {"name": "ok", "label": "True", "score": 1},
                {"name": "fine", "label": "False", "score": None},
            ]

    first, _, third = trials(changed("phoenix", tmp_path, "RXhw0", change))
    assert states(first) == states(third) == {
        "hallucinated": "not_applicable", "sure": "not_applicable", "ok": "pass", "fine": "fail",
    }  # fmt: skip
    assert first.named_scores == {"hallucinated": 0, "sure": 0.35, "ok": 1, "fine": 0}


@pytest.mark.parametrize("value", [None, float("nan"), "missing"])
def test_a_verdict_that_the_harness_did_not_log_is_an_error(tmp_path: Path, value: object):
    """It is listed among the metrics of the document, so it was to be there."""

    def change(values: list[JSON]) -> None:
        values[2]["exact_match"] = value
        if value == "missing":
            del values[2]["exact_match"]

    read = changed("lm-eval", tmp_path, "samples", change)
    assert outcomes(read) == ["fail", "error", "pass"]
    assert "the harness recorded no exact_match" in trials(read)[1].reason


def test_a_grader_of_openais_that_failed_is_an_error_although_it_is_recorded_as_not_passed(
    tmp_path: Path,
):
    """A timeout of the grader's model says nothing of the answer."""
    item = an_item(0, status="fail")
    broken = {"error": {"code": "rate_limit", "message": "429"}}
    item["results"] = [{"name": "Right topic", "passed": False, "score": 0.0, "sample": broken}]
    path = saved(tmp_path / "a.jsonl", an_eval(), a_run(), item)
    (trial,) = trials(read_runs([path], "openai-evals"))
    assert (trial.outcome, trial.score, trial.reason) == ("error", None, "rate_limit: 429")


@pytest.mark.parametrize("tool", ["braintrust", "langsmith", "phoenix", "lm-eval"])
def test_a_score_of_null_is_named_and_is_no_number(tool: str, tmp_path: Path):
    """It would leave a mean without a word."""
    stem, change = {
        "braintrust": ("before", lambda v: roots(v)[0].update(scores={"Exact": None})),
        "langsmith": ("feedback", lambda v: v[0].update(score=None)),
        "phoenix": ("RXhw0", lambda v: v[0][0]["annotations"][1].update(label=None)),
        "lm-eval": ("samples", lambda v: v[0].update(metrics=["f1"], f1=None)),
    }[tool]
    read = changed(tool, tmp_path, stem, change)
    assert "has no score: it does not apply" in notes(read)


@pytest.mark.parametrize("tool", ["langsmith", "phoenix"])
def test_no_tokens_at_all_are_unknown_tokens(tool: str, tmp_path: Path):
    """Nobody answers without one: it is what a trace has in which no model was seen."""
    keys = {
        "langsmith": ("runs", "prompt_tokens", "completion_tokens"),
        "phoenix": ("RXhw0", "prompt_token_count", "completion_token_count"),
    }
    stem, *names = keys[tool]

    def change(values: list[list[JSON]]) -> None:
        row = next(one for one in values[0] if names[0] in one)
        row.update(dict.fromkeys(names, 0))

    first, second, _ = trials(changed(tool, tmp_path, stem, change))
    assert (first.tokens_in, first.tokens_out) == (None, None)
    assert (second.tokens_in, second.tokens_out) == (20, 3)


@pytest.mark.parametrize("tool", ["braintrust", "langsmith", "phoenix"])
def test_experiments_on_one_dataset_have_its_title(tool: str, tmp_path: Path):
    """They are the history of one thing, and what to compare."""
    paths = EXPORTS[tool](tmp_path)
    if tool == "phoenix":
        paths.append(saved(tmp_path / "d.json", {"id": "ds", "name": "quiz", "example_count": 3}))
    named = [one.meta.title for one in read_runs(paths, tool).runs]
    # The second experiment of LangSmith's has no project in the files.
    assert named == ["quiz", "exp-1" if tool == "langsmith" else "quiz"]


@pytest.mark.parametrize("score", [None, float("nan"), "high"])
def test_a_verdict_of_deepevals_without_its_number_keeps_the_verdict_and_makes_up_no_number(
    tmp_path: Path, score: JSON
):
    """The mean of the metric is that of the numbers that were recorded."""
    paths = EXPORTS["deepeval"](tmp_path)
    path = next(one for one in paths if one.stem.startswith("before"))
    value = json.loads(path.read_text("utf-8"))
    for case, success in zip(value["testRunData"]["testCases"], (True, False, True), strict=True):
        case["metricsData"] = [{"name": "M", "threshold": 0.5, "score": score, "success": success}]
    saved(path, value)
    trials = list(read_runs(paths, "deepeval").runs[-1].trials())
    assert [one.outcome for one in trials] == ["pass", "fail", "pass"]
    assert [o.score for one in trials for o in one.outcomes] == [None] * 3


def test_a_verdict_beside_a_number_that_is_none_makes_up_no_number():
    """A label alone has the number of its verdict."""
    notes = Notes()
    scores = [ForeignScore("q", value, "f", passed=True) for value in (float("nan"), "pass", None)]
    assert [outcome_of(one, notes).score for one in scores] == [None, 1.0, 1.0]
