"""Reads what pydantic-evals writes: datasets in YAML or JSON, and reports in JSON.

Format: `Dataset.to_file`, https://ai.pydantic.dev/evals/how-to/dataset-serialization/. A dataset has a `name`, `cases`
with `name`, `inputs`, `metadata`, `expected_output` and `evaluators`, and `evaluators` and `report_evaluators` of all.
What a case of ours has no place for is kept in its metadata, under `pydantic_evals`: what is read and written again is
equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import field

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import digest, encode
from evenhand.core.json_shapes import as_mapping, is_array, is_object
from evenhand.core.record import Record
from evenhand.core.variant import Variant
from evenhand.core.wording.words import count
from evenhand.doors.importers.foreign_cases import fields_of, line_of
from evenhand.doors.importers.foreign_files import dated, find
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of, state_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import (
    RecordedDataset,
    Recordings,
    each_once,
    numbered,
    recordings,
)
from evenhand.languages.documents.foreign import Notes, Part, shown

_CASE = frozenset(
    {"name", "inputs", "metadata", "expected_output", "output", "scores", "labels", "assertions"}
    | {"task_duration", "evaluator_failures", "source_case_name", "error_message", "metrics"}
)

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


def run_of(report: Part, path: Path) -> ImportedRun | None:
    """The run; None, with a note, for a report without cases."""
    cases, failures = report.parts("cases"), report.parts("failures")
    name = report.text("name") or path.stem
    if not cases and not failures:
        report.notes.left_out(report.where, f"report {shown(name)} has no cases")
        return None
    if report.value.get("analyses"):
        text = "analyses over all cases: `evenhand show` makes its own"
        report.notes.left_out(f"{report.where}.analyses", text)
    trials = list(numbered(_trials([*cases, *failures])))
    report.notes.translated(report.where, f"report {shown(name)}, cases: {len(trials):,}")
    return ImportedRun(
        id=report.text("trace_id") or digest(encode(dict(report.value)))[:24],
        title=report.text("dataset_name") or name,
        created_at=dated(path, report.where, report.notes),
        variants=[Variant(0, "", name)],
        trials=trials,
        settings={"name": name, **report.without("cases", "failures", "analyses")},
    )


def _trials(cases: Sequence[Part]) -> Iterator[ImportedTrial]:
    scores = [list(_scores(one)) for one in cases]
    for one, measured in zip(cases, scores, strict=True):
        case = one.text("source_case_name") or one.text("name") or _unnamed(one)
        error = one.said("error_message")
        outcomes = [outcome_of(score, one.notes) for score in measured]
        metrics = one.part("metrics")
        yield ImportedTrial(
            case=case,
            outcome=state_of(outcomes, failed=bool(error)),
            output=one.value.get("output"),
            error=error,
            outcomes=outcomes,
            input=one.value.get("inputs"),
            expected=one.value.get("expected_output"),
            latency_s=one.amount("task_duration"),
            cost_usd=metrics.amount("cost") if metrics else None,
            tokens_in=metrics.whole("input_tokens") if metrics else None,
            tokens_out=metrics.whole("output_tokens") if metrics else None,
            metadata={
                **fields_of(one.value.get("metadata")),
                "report": {
                    **one.without(*_CASE),
                    **({"metrics": metrics.value} if metrics else {}),
                },
            },
            description=line_of(one.value.get("inputs")) or case,
        )


def _unnamed(case: Part) -> str:
    return case_id([case.value.get("inputs"), case.value.get("expected_output")])


def _scores(case: Part) -> Iterator[ForeignScore]:
    for key in ("assertions", "scores", "labels"):
        part = case.part(key)
        for name in part.value if part else ():
            one = part.part(name) if part else None
            if one is not None:
                more = one.without("name", "value", "reason")
                value = one.value.get("value")
                yield ForeignScore(
                    name=name,
                    value=value,
                    where=one.where,
                    reason=one.text("reason"),
                    metadata=more,
                )
    for one in case.parts("evaluator_failures"):
        why = one.said("error_message") or "the evaluator failed"
        yield ForeignScore(
            name=one.text("name") or "evaluator", value=None, where=one.where, error=why
        )


_CASE_KEYS = ("name", "inputs", "metadata", "expected_output", "evaluators")
_DATASET = ("$schema", "name", "cases", "evaluators", "report_evaluators")
_OF_ALL = ("evaluators", "report_evaluators")


def cases_of(dataset: Part) -> list[Case]:
    """The cases, each with the evaluators of all in its metadata, so that a part of them can be written again, too."""
    shared = {key: dataset.value[key] for key in ("name", *_OF_ALL) if dataset.value.get(key)}
    for key in dataset.without(*_DATASET):
        dataset.notes.left_out(f"{dataset.where}.{key}", "is not a field of a dataset")
    return [_case(one, shared) for one in dataset.parts("cases")]


def _case(one: Part, shared: Mapping[str, object]) -> Case:
    for key in one.without(*_CASE_KEYS):
        one.notes.left_out(f"{one.where}.{key}", "is not a field of a case")
    inputs, metadata = one.value.get("inputs"), one.value.get("metadata")
    name = one.text("name")
    extra: dict[str, object] = {"dataset": dict(shared)} if shared else {}
    if one.value.get("evaluators"):
        extra["evaluators"] = one.value["evaluators"]
    if not name:
        extra["unnamed"] = True
    if metadata is not None and not is_object(metadata):
        extra["metadata"] = metadata
    own = as_mapping(metadata)
    if is_object(metadata) and not metadata:
        extra["metadata"] = {}
    return Case(
        id=name or case_id([inputs, one.value.get("expected_output")]),
        input=inputs,
        expected=one.value.get("expected_output"),
        description=name or line_of(inputs),
        metadata={**own, **({KEPT: extra} if extra else {})},
    )


def document_of(cases: Iterable[Case], name: str) -> dict[str, Any]:
    """The dataset that these cases are in pydantic-evals' files.

    Args:
        cases: Those that were read from such a file, or others. Variables, passages and tags of others go into the
            metadata, and variables alone are the inputs where a case has no input.
        name: The dataset's, where the cases know none; empty for none.
    """
    shared: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for case in cases:
        extra: Mapping[str, Any] = case.metadata.get(KEPT) or {}
        shared = {**extra.get("dataset", {}), **shared}
        rows.append(_row(case, extra))
    name = str(shared.pop("name", name))
    return {**({"name": name} if name else {}), "cases": rows, **shared}


def _row(case: Case, extra: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: one for key, one in case.metadata.items() if key != KEPT}
    inputs = case.input
    if inputs is None and case.vars:
        inputs = dict(case.vars)
    elif case.vars:
        metadata["vars"] = dict(case.vars)
    if case.context:
        metadata["context"] = list(case.context)
    if case.tags:
        metadata["tags"] = list(case.tags)
    row: dict[str, Any] = {} if extra.get("unnamed") else {"name": case.id}
    row["inputs"] = inputs
    if "metadata" in extra:
        row["metadata"] = extra["metadata"]
    elif metadata:
        row["metadata"] = metadata
    if case.expected is not None:
        row["expected_output"] = case.expected
    if extra.get("evaluators"):
        row["evaluators"] = extra["evaluators"]
    return row


KEPT = "pydantic_evals"
"""Where a case's metadata keep what a dataset of ours has no place for: evaluators, and metadata that are no object."""


class EvaluatorSpec(Record, frozen=True):
    """An evaluator.

    Attributes:
        arguments: By name; the first argument, where it stands alone, is under an empty name.
        where: The file and the path inside it.
        written: As the file has it.
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    where: str = ""
    written: object = None


def specs_in(part: Part, key: str) -> list[EvaluatorSpec]:
    """The evaluators under a key, in their order; what is none of the three forms is noted."""
    written = part.value.get(key)
    if written is None:
        return []
    if not is_array(written):
        part.notes.left_out(f"{part.where}.{key}", f"is {shown(written)}, not a list")
        return []
    return specs_of(written, f"{part.where}.{key}", part)


def specs_of(written: Sequence[object], where: str, part: Part) -> list[EvaluatorSpec]:
    """The evaluators of a list."""
    specs: list[EvaluatorSpec] = []
    for i, one in enumerate(written):
        place = f"{where}[{i}]"
        if isinstance(one, str):
            specs.append(EvaluatorSpec(one, {}, place, one))
        elif is_object(one) and len(one) == 1:
            ((name, value),) = one.items()
            named = is_object(value) and all(
                isinstance(key, str) for key in cast("dict[object, object]", value)
            )
            arguments = value if named else {"": value}
            specs.append(EvaluatorSpec(name, arguments, place, one))
        else:
            part.notes.left_out(place, f"is {shown(one)}, not an evaluator")
    return specs
