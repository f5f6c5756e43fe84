"""Reads what DeepEval writes: goldens (JSON, JSONL, CSV) and the results of test runs.

Formats: `EvaluationDataset.save_as` and `LLMApiTestCase` in https://github.com/confident-ai/deepeval; results are in
`.deepeval/.latest_test_run.json`, or in the folder that `DEEPEVAL_RESULTS_FOLDER` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.case import Case
from evenhand.core.wording.words import count
from evenhand.doors.importers.foreign_files import Found, find
from evenhand.doors.importers.recorded import RecordedDataset, Recordings, each_once, recordings
from evenhand.languages.documents.foreign import Notes, Part
from evenhand.wings.interchange.deepeval.fields import id_of, passages, plain
from evenhand.wings.interchange.deepeval.test_runs import run_of

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
        where = goldens[0].part.where
        cases = each_once((case_of(one.part) for one in goldens), where, notes)
        notes.translated(where, f"dataset {path.stem}, {count(len(cases), 'golden')}")
        datasets.append(RecordedDataset(path.stem, cases, where))
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
