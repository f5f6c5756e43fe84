"""Reads what DeepEval writes: goldens (JSON, JSONL, CSV) and the results of test runs.

Formats: `EvaluationDataset.save_as` and `LLMApiTestCase` in https://github.com/confident-ai/deepeval; results are in
`.deepeval/.latest_test_run.json`, or in the folder that `DEEPEVAL_RESULTS_FOLDER` names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import digest, encode
from evenhand.core.json_shapes import is_array
from evenhand.core.score import Outcome
from evenhand.doors.importers.foreign_files import Found, dated, find
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import (
    RecordedDataset,
    Recordings,
    numbered,
    only_variant,
    recorded_dataset,
    recordings,
)
from evenhand.languages.documents.foreign import Notes, Part, shown

_OWN = frozenset(
    {"name", "input", "expected_output", "context", "additional_metadata", "scenario"}
    | {"expected_outcome", "tags"}
)

_AROUND = frozenset({"testRunLink", "testRunId", "link"})
_HINT = "Save goldens with dataset.save_as(…), or name .deepeval/.latest_test_run.json."


def read(paths: Sequence[Path]) -> Recordings:
    """The test runs and goldens of these files.

    Raises:
        UsageError: A file cannot be read, or holds neither.
    """
    notes = Notes()
    what = "goldens and no test run of DeepEval's"
    parts = find(paths, _kind, notes, what=what, hint=_HINT, around=_AROUND)
    runs = [
        (one.path, run)
        for one in parts
        if one.kind == "test run" and (run := run_of(one.part, one.path))
    ]
    by_file: dict[Path, list[Found]] = {}
    for one in parts:
        if one.kind == "golden":
            by_file.setdefault(one.path, []).append(one)
    datasets: list[RecordedDataset] = []
    for path, goldens in by_file.items():
        parts_of = [one.part for one in goldens]
        datasets.append(recorded_dataset(path.stem, parts_of, case_of, "golden"))
    return recordings("deepeval", runs, datasets, notes)


def _kind(value: Mapping[str, object]) -> str:
    if "testCases" in value or "test_cases" in value or "conversationalTestCases" in value:
        return "test run"
    return "golden" if is_golden(plain(value)) else ""


def is_golden(fields: object) -> bool:
    """Whether an object is a golden, of one question or of a conversation."""
    if not isinstance(fields, dict):
        return False
    return "input" in fields or ("scenario" in fields and "metrics_data" not in fields)


def case_of(golden: Part) -> Case:
    """The case of a golden. What an application answered and retrieved stays beside it, as variables."""
    fields = plain(golden.value)
    metadata = fields.get("additional_metadata")
    tags = fields.get("tags")
    if fields.get("actual_output") is not None:
        golden.notes.changed(
            f"{golden.where}.actual_output", "is an answer, not a case: it is kept as a variable"
        )
    return Case(
        id=id_of(fields),
        vars={key: one for key, one in fields.items() if key not in _OWN},
        input=fields.get("input", fields.get("scenario")),
        expected=fields.get("expected_output", fields.get("expected_outcome")),
        context=passages(fields.get("context")),
        description=id_of(fields),
        tags=tuple(str(one) for one in tags) if isinstance(tags, list) else (),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


_GENERATED = re.compile(r"(conversational_)?test_case_\d+")
"""The names that DeepEval gives to test cases without one."""


def plain(value: Mapping[str, object]) -> dict[str, object]:
    """The fields that say something, in snake case."""
    return {snake(key): one for key, one in value.items() if one is not None}


def snake(key: str) -> str:
    """`expectedOutput` as `expected_output`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"_{match[1].lower()}", key)


def id_of(fields: Mapping[str, object]) -> str:
    """The id of a golden or a test case: its name, or a hash of what it asks and expects.

    So a golden and the test cases that are made of it are one case, in every file.
    """
    name = fields.get("name")
    if isinstance(name, str) and name.strip() and not _GENERATED.fullmatch(name):
        return " ".join(name.split())
    question = fields.get("input", fields.get("scenario"))
    return case_id([question, fields.get("expected_output", fields.get("expected_outcome"))])


def passages(value: object) -> tuple[str, ...]:
    """The texts of a context; a CSV file joins them with `|`."""
    if isinstance(value, str):
        return tuple(part for part in value.split("|") if part.strip())
    if is_array(value):
        return tuple(str(one) for one in value)
    return ()


_CASES = (("testCases", "test_cases"), ("conversationalTestCases", "conversational_test_cases"))
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
    trials = list(numbered(map(_trial, cases)))
    test_run.notes.translated(
        test_run.where, f"test run {shown(title)}, test cases: {len(trials):,}"
    )
    written = test_run.part("hyperparameters") if test_run.value.get("hyperparameters") else None
    model = written.value.get("model") if written else None
    model = " ".join(model.split()) if isinstance(model, str) else ""
    return ImportedRun(
        id=digest(encode(test_run.value))[:24],
        title=title,
        created_at=dated(path, test_run.where, test_run.notes),
        variants=[only_variant(model, "recorded outputs")],
        trials=trials,
        took_s=test_run.amount("runDuration"),
        settings=settings,
    )


def _trial(one: Part) -> ImportedTrial:
    fields = plain(one.value)
    case = id_of(fields)
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
        outcome=state,
        output=fields.get("actual_output", turns),
        outcomes=outcomes,
        input=fields.get("input", fields.get("scenario")),
        expected=fields.get("expected_output", fields.get("expected_outcome")),
        vars={
            key: list(passages(fields[key]))
            for key in ("context", "retrieval_context")
            if fields.get(key)
        },
        latency_s=one.amount("completionTime"),
        cost_usd=one.amount("tokenCost"),
        tokens_in=one.whole("inputTokenCount"),
        tokens_out=one.whole("outputTokenCount"),
        metadata={"deepeval": {k: v for k, v in fields.items() if k not in _CASE}},
        description=case,
    )


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
        metadata={
            **({"judge": judge} if (judge := metric.text("evaluationModel")) else {}),
            **{k: v for k, v in fields.items() if k not in _METRIC},
        },
    )
    return outcome_of(foreign, metric.notes)
