"""Assertions on the structure of an output: JSON that fits a schema."""

from __future__ import annotations

import json

from evenhand.core.errors import ScoreError
from evenhand.core.names import did_you_mean
from evenhand.doors.assertions.assertion import Kind
from evenhand.doors.assertions.values import schema_text
from evenhand.scorers.json_formats import NAMES, unknown_format
from evenhand.scorers.structured import ContainsJson, IsJson, validator

GROUP = "JSON"


def _schema(value: object) -> str:
    schema = schema_text(value)
    if schema:
        # Compiled when the file is read, so that a wrong schema is told before anything is sent.
        validator(schema)
        unknown = unknown_format(json.loads(schema))
        if unknown:
            raise ScoreError(
                f"the schema has the format '{unknown}', which is not known",
                hint=f"{did_you_mean(unknown, NAMES)} It would silently check nothing.".strip(),
            )
    return schema


KINDS = (
    Kind(
        "is-json",
        "the whole output is JSON, and fits the schema where one is given",
        lambda _a, _cell, value: IsJson(_schema(value)),
        "JSON Schema, optional",
        optional=True,
        files=False,
    ),
    Kind(
        "contains-json",
        "the output has a JSON object in it that fits the schema",
        lambda _a, _cell, value: ContainsJson(_schema(value)),
        "JSON Schema, optional",
        optional=True,
        files=False,
    ),
)
