"""Rows and cases: a case of a row, and the row of a case again."""

# Rows and cases are users': what their types say may not hold.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import encode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_sequence

_WRITE = "Write texts, numbers, lists and objects; leave out what is not known."
FIELDS = ("id", "input", "expected", "context", "description", "tags", "metadata", "vars")


def case_of(row: Case | Mapping[str, Any]) -> Case:
    """The case that a row says: its own fields by their names, all others its variables.

    Raises:
        UsageError: A field is of the wrong kind, or the row holds what cannot be kept.
    """
    if isinstance(row, Case):
        return _kept(row)
    if not isinstance(row, Mapping):
        raise UsageError(f"a case is {_shown(row)}, not an object", hint=_as_object(row))
    fields = dict(row)
    metadata = fields.get("metadata") or {}
    variables = {key: value for key, value in fields.items() if key not in FIELDS}
    more = fields.get("vars") or {}
    for name, value in (("metadata", metadata), ("vars", more)):
        if not isinstance(value, Mapping):
            raise UsageError(f"{name} is {_shown(value)}, not an object")
    variables.update(more)
    tags = fields.get("tags") or ()
    id_ = fields.get("id")
    if isinstance(id_, str):
        id_ = str.__str__(id_)  # a member of an enum prints itself otherwise
    named = id_ is not None and id_ != ""
    description = fields.get("description")
    case = Case(
        id=str(id_) if named else _own_id(fields),
        vars=variables,
        input=fields.get("input"),
        expected=fields.get("expected"),
        context=_texts("context", fields.get("context")),
        description=str((id_ if named else "") if description is None else description),
        tags=tuple(filter(None, (tag.strip() for tag in tags.split(","))))
        if isinstance(tags, str)
        else _texts("tags", tags),
        metadata=cast("Mapping[str, Any]", metadata),
    )
    return _kept(case)


def _as_object(row: object) -> str:
    """How to write what is no case."""
    if isinstance(row, list):
        return "Give the rows one by one, Dataset.of(*rows), or as one list, Dataset(rows)."
    if isinstance(row, tuple):
        return "Name its parts: {'input': …, 'expected': …}."
    return "Name what it is: {'input': …}."


def _kept(case: Case) -> Case:
    """The case, if all that it says can be written down."""
    if not isinstance(case.id, str):
        raise UsageError(f"the id of a case is {_shown(case.id)}, not a text")
    if isinstance(case.tags, str) or isinstance(case.context, str):
        raise UsageError(f"case {case.id!r}: tags and context are lists of texts, not one text")
    if type(case.id) is not str:
        case = replace(case, id=str.__str__(case.id))
    try:
        encode([case.vars, case.input, case.expected, case.metadata])
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"case {case.id!r}: {_unkept(case)} cannot be kept: {error}", hint=_WRITE
        ) from None
    return case


def _unkept(case: Case) -> str:
    """The first part of a case that cannot be written down."""
    parts = {"input": case.input, "expected": case.expected, "metadata": case.metadata}
    for name, value in {**parts, **case.vars}.items():
        try:
            encode(value)
        except (TypeError, ValueError):
            return str(name)
    return "what it says"


def row_of(case: Case) -> dict[str, Any]:
    """The row that says this case: `case_of` gives it back."""
    row: dict[str, Any] = {"id": case.id}
    if case.input is not None:
        row["input"] = case.input
    if case.expected is not None:
        row["expected"] = case.expected
    if case.context:
        row["context"] = list(case.context)
    if case.description != case.id:
        row["description"] = case.description
    if case.tags:
        row["tags"] = list(case.tags)
    if case.metadata:
        row["metadata"] = dict(case.metadata)
    row |= {name: value for name, value in case.vars.items() if name not in FIELDS}
    # A variable that is called like a field would be read back as that field.
    clashing = {name: value for name, value in case.vars.items() if name in FIELDS}
    return row | ({"vars": clashing} if clashing else {})


def _texts(what: str, value: object) -> tuple[str, ...]:
    """A list of texts; one text is a list of one, and nothing or an empty text a list of none."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    if not is_sequence(value):
        raise UsageError(f"{what} is {_shown(value)}, not a list of texts")
    for item in value:
        if not isinstance(item, str):
            raise UsageError(f"{what} has {_shown(item)} in it, not a text")
    return tuple(cast("Sequence[str]", value))


def _own_id(row: Mapping[str, Any]) -> str:
    try:
        return case_id(row)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the case cannot be kept: {error}", hint=_WRITE) from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
