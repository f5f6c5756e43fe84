"""DeepEval's test runs as runs: each test case is a trial, each metric an outcome. Nothing is measured again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from evenhand.core.encoding import digest, encode
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.doors.importers.foreign_files import dated
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.languages.documents.foreign import Part, shown
from evenhand.wings.interchange.deepeval.fields import id_of, passages, plain

_CASES = (
    ("testCases", "test_cases"),
    ("conversationalTestCases", "conversational_test_cases"),
)
_METRIC = frozenset({"name", "threshold", "success", "score", "reason", "error"})
_CASE = frozenset(
    {"name", "input", "actual_output", "expected_output", "success", "metrics_data", "order"}
    | {"run_duration", "completion_time", "token_cost", "scenario", "turns"}
    | {"input_token_count", "output_token_count", "expected_outcome", "trace"}
)


def run_of(test_run: Part, path: Path) -> ImportedRun | None:
    """The run; None, with a note, for one without test cases."""
    fields = plain(test_run.value)
    cases = [
        part
        for spellings in _CASES
        for key in spellings
        if test_run.value.get(key)
        for part in test_run.parts(key)
    ]
    if not cases:
        test_run.notes.left_out(test_run.where, "the test run has no test cases")
        return None
    title = test_run.text("testFile") or test_run.text("identifier") or "DeepEval"
    settings = {
        k: v for k, v in fields.items() if k not in {"test_cases", "conversational_test_cases"}
    }
    trials = list(_trials(cases))
    test_run.notes.translated(
        test_run.where, f"test run {shown(title)}, test cases: {len(trials):,}"
    )
    model = _model(test_run)
    return ImportedRun(
        id=digest(encode(test_run.value))[:24],
        title=title,
        created_at=dated(path, test_run.where, test_run.notes),
        variants=[Variant(0, "", model or "recorded outputs", "", model)],
        trials=trials,
        took_s=test_run.amount("runDuration"),
        settings=settings,
    )


def _model(test_run: Part) -> str:
    """The model that the hyperparameters name; empty for none."""
    written = test_run.part("hyperparameters") if test_run.value.get("hyperparameters") else None
    model = written.value.get("model") if written else None
    return " ".join(model.split()) if isinstance(model, str) else ""


def _trials(cases: list[Part]) -> Iterator[ImportedTrial]:
    repeats: Counter[str] = Counter()
    for one in cases:
        fields = plain(one.value)
        case = id_of(fields)
        yield _trial(one, fields, case, repeats[case])
        repeats[case] += 1


def _trial(one: Part, fields: dict[str, object], case: str, repeat: int) -> ImportedTrial:
    key = "metricsData" if "metricsData" in one.value else "metrics_data"
    outcomes = tuple(_outcome(metric) for metric in one.parts(key))
    success = one.truth("success")
    state = None if outcomes or success is None else "pass" if success else "fail"
    if state is None and not outcomes:
        state = "not_applicable"
    decided = {o.outcome for o in outcomes}
    if (
        success is not None
        and decided
        and "error" not in decided
        and success == ("fail" in decided)
    ):
        text = f"success is {shown(success)}, unlike what its metrics come to: the metrics count"
        one.notes.changed(f"{one.where}.success", text)
    turns = fields.get("turns")
    if fields.get("trace") is not None:
        one.notes.left_out(
            f"{one.where}.trace", "traces: `evenhand import` reads no spans of DeepEval"
        )
    return ImportedTrial(
        case=case,
        repeat=repeat,
        outcome=state,
        output=fields.get("actual_output", turns),
        outcomes=outcomes,
        input=fields.get("input", fields.get("scenario")),
        expected=fields.get("expected_output", fields.get("expected_outcome")),
        vars=_contexts(fields),
        latency_s=one.amount("completionTime"),
        cost_usd=one.amount("tokenCost"),
        tokens_in=one.whole("inputTokenCount"),
        tokens_out=one.whole("outputTokenCount"),
        metadata={"deepeval": {k: v for k, v in fields.items() if k not in _CASE}},
        description=case,
    )


def _contexts(fields: dict[str, object]) -> dict[str, object]:
    keys = ("context", "retrieval_context")
    return {key: list(passages(fields[key])) for key in keys if fields.get(key)}


def _outcome(metric: Part) -> Outcome:
    fields = plain(metric.value)
    score, threshold = metric.number("score"), metric.number("threshold")
    passed = metric.truth("success")
    error = metric.said("error")
    if passed is None and metric.value.get("success") is not None and not error:
        error = f"DeepEval recorded {shown(metric.value['success'])}, which is not a verdict"
    at_least, at_most = threshold, None
    if score is not None and threshold is not None and passed is not None:
        lower = passed != (score >= threshold) and passed == (score <= threshold)
        at_least, at_most = (None, threshold) if lower else (threshold, None)
    foreign = ForeignScore(
        name=metric.text("name") or "metric",
        value=score,
        where=metric.where,
        reason=metric.text("reason"),
        passed=None if error else passed,
        error=error,
        at_least=at_least,
        at_most=at_most,
        metadata={k: v for k, v in fields.items() if k not in _METRIC},
    )
    return outcome_of(foreign, metric.notes)
