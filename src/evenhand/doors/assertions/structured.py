"""Assertions on the structure of an output: JSON that fits a schema."""

from __future__ import annotations

from typing import Any

from evenhand.core.expect import Scorer
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.doors.assertions.values import schema_text
from evenhand.scorers.structured import ContainsJson, IsJson, validator

GROUP = "JSON"


def _is_json(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del assertion, cell
    return IsJson(_schema(value))


def _contains_json(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del assertion, cell
    return ContainsJson(_schema(value))


def _schema(value: object) -> str:
    schema = schema_text(value)
    if schema:
        # Compiled when the file is read, so that a wrong schema is told before anything is sent.
        validator(schema)
    return schema


KINDS = (
    Kind(
        name="is-json",
        group=GROUP,
        about="the whole output is JSON, and fits the schema where one is given",
        make=_is_json,
        takes="JSON Schema, optional",
        optional=True,
        files=False,
    ),
    Kind(
        name="contains-json",
        group=GROUP,
        about="the output has a JSON object in it that fits the schema",
        make=_contains_json,
        takes="JSON Schema, optional",
        optional=True,
        files=False,
    ),
)
