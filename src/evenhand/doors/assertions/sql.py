"""Assertions on SQL: whether it is some, and touches only what it may."""

from __future__ import annotations

from typing import Any

from evenhand.core.built_parts import missing
from evenhand.core.errors import CodeError, ScoreError
from evenhand.core.expect import Scorer
from evenhand.core.json_shapes import is_mapping, is_texts
from evenhand.core.names import did_you_mean
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.languages.javascript.sql import DATABASES, PARSERS, has_parsers, known_database
from evenhand.scorers.sql import ContainsSql, IsSql

GROUP = "SQL"


def _sql(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    whole = _asked(assertion, value)
    return whole if assertion.type == "is-sql" else ContainsSql(whole)


def _asked(assertion: Assertion, value: object) -> IsSql:
    if not has_parsers():
        absent = missing(PARSERS)
        raise CodeError(f"'{assertion.written}': {absent.message}", hint=absent.hint)
    if not value:
        return IsSql()
    if not is_mapping(value):
        raise assertion.misvalued(
            value, ", not an object", hint="Write {databaseType: PostgreSQL}, say, or no value."
        )
    name = str(value.get("databaseType") or "MySQL")
    database = known_database(name)
    if not database:
        raise CodeError(
            f"'{assertion.written}': databaseType '{name}' is not known",
            hint=did_you_mean(name, DATABASES) or f"Known are: {', '.join(DATABASES)}.",
        )
    return IsSql(
        database,
        _patterns(assertion, value.get("allowedTables"), "allowedTables"),
        _patterns(assertion, value.get("allowedColumns"), "allowedColumns"),
    )


def _patterns(assertion: Assertion, value: object, key: str) -> tuple[str, ...]:
    if not value:
        return ()
    if not is_texts(value):
        raise ScoreError(
            f"'{assertion.written}': {key} is {value!r}, not a list of texts",
            hint="Write what is allowed as [select::null::users], say.",
        )
    return tuple(value)


_SETTINGS = "{databaseType, allowedTables, allowedColumns}, optional"
KINDS = (
    Kind(
        "is-sql",
        "the whole output is SQL of a database (MySQL), and touches only what is allowed",
        _sql,
        _SETTINGS,
        optional=True,
    ),
    Kind(
        "contains-sql",
        "a block of code in the output, or all of it, is such SQL",
        _sql,
        _SETTINGS,
        optional=True,
    ),
)
