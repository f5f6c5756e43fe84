"""Reads what DeepEval writes: goldens (JSON, JSONL, CSV) and the results of test runs.

Formats: `EvaluationDataset.save_as` and `LLMApiTestCase` in https://github.com/confident-ai/deepeval; results are in
`.deepeval/.latest_test_run.json`, or in the folder that `DEEPEVAL_RESULTS_FOLDER` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.wording.words import count
from evenhand.doors.importers.foreign_files import Found, find
from evenhand.doors.importers.recorded import RecordedDataset, Recordings, each_once, recordings
from evenhand.languages.documents.foreign import Notes
from evenhand.wings.interchange.deepeval.fields import plain
from evenhand.wings.interchange.deepeval.goldens import case_of, is_golden
from evenhand.wings.interchange.deepeval.test_runs import run_of

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
