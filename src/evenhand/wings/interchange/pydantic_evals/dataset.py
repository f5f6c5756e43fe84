"""A dataset of pydantic-evals as one of ours, and back: what is read and written again is equal.

Format: `Dataset.to_file`, https://ai.pydantic.dev/evals/how-to/dataset-serialization/. It has a `name`, `cases` with
`name`, `inputs`, `metadata`, `expected_output` and `evaluators`, and `evaluators` and `report_evaluators` of all. What
a case of ours has no place for is kept in its metadata, under `pydantic_evals`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.core.case import Case, case_id
from evenhand.core.json_shapes import as_mapping, is_object
from evenhand.doors.importers.foreign_cases import line_of
from evenhand.languages.documents.foreign import Part
from evenhand.wings.interchange.pydantic_evals.specs import KEPT

_CASE = ("name", "inputs", "metadata", "expected_output", "evaluators")
_DATASET = ("$schema", "name", "cases", "evaluators", "report_evaluators")
_OF_ALL = ("evaluators", "report_evaluators")


def cases_of(dataset: Part) -> list[Case]:
    """The cases, each with the evaluators of all in its metadata, so that a part of them can be written again, too."""
    shared = {key: dataset.value[key] for key in ("name", *_OF_ALL) if dataset.value.get(key)}
    for key in dataset.without(*_DATASET):
        dataset.notes.left_out(f"{dataset.where}.{key}", "is not a field of a dataset")
    return [_case(one, shared) for one in dataset.parts("cases")]


def _case(one: Part, shared: Mapping[str, object]) -> Case:
    for key in one.without(*_CASE):
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
