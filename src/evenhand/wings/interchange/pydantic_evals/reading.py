"""Reads what pydantic-evals writes: datasets in YAML or JSON, and reports in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.wording.words import count
from evenhand.doors.importers.foreign_files import find
from evenhand.doors.importers.recorded import RecordedDataset, Recordings, each_once, recordings
from evenhand.languages.documents.foreign import Notes, shown
from evenhand.wings.interchange.pydantic_evals.dataset import cases_of
from evenhand.wings.interchange.pydantic_evals.reports import run_of
from evenhand.wings.interchange.pydantic_evals.specs import KEPT, specs_in

HINT = "Save a dataset with dataset.to_file('x.yaml'), a report with EvaluationReportAdapter.dump_json(report)."


def read(paths: Sequence[Path]) -> Recordings:
    """The datasets and reports of these files.

    Raises:
        UsageError: A file cannot be read, or holds neither.
    """
    notes = Notes()
    parts = find(paths, kind_of, notes, what="dataset and no report of pydantic-evals'", hint=HINT)
    runs = [
        (one.path, run)
        for one in parts
        if one.kind == "report" and (run := run_of(one.part, one.path))
    ]
    datasets: list[RecordedDataset] = []
    for one in parts:
        if one.kind != "dataset":
            continue
        name = one.part.text("name") or one.path.stem
        cases = each_once(cases_of(one.part), one.part.where, notes)
        notes.translated(one.part.where, f"dataset {shown(name)}, {count(len(cases), 'case')}")
        evaluators = [*specs_in(one.part, "evaluators"), *specs_in(one.part, "report_evaluators")]
        evaluators += [
            spec for case in one.part.parts("cases") for spec in specs_in(case, "evaluators")
        ]
        if evaluators:
            listed = ", ".join(dict.fromkeys(spec.name for spec in evaluators))
            text = f"evaluators ({listed}) are kept in the cases' metadata, under {KEPT}, and run nothing:"
            text += " `evenhand init --from pydantic-evals` makes an eval set of them"
            notes.changed(evaluators[0].where, text)
        datasets.append(RecordedDataset(name, cases, one.part.where))
    return recordings("pydantic-evals", runs, datasets, notes)


def kind_of(value: Mapping[str, object]) -> str:
    """`report`, `dataset` or, for anything else, nothing."""
    cases = value.get("cases")
    if not isinstance(cases, list):
        return ""
    first = next((one for one in cases if isinstance(one, dict)), {})
    if "failures" in value or "assertions" in first or "task_duration" in first:
        return "report"
    return "dataset" if not cases or "inputs" in first else ""
