"""Assertions on SQL."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.doors.assertions.assertion import Assertion
from evenhand.doors.assertions.reading import problems


async def test_sql_is_that_of_the_database(settled: Any):
    """MySQL's, where none is named."""
    query = "SELECT a FROM t WHERE a ILIKE 'x%'"
    assert (await settled("is-sql", output=query)).outcome == "fail"
    postgres = {"databaseType": "PostgreSQL"}
    found = await settled("is-sql", postgres, output=query)
    assert (found.outcome, found.name) == ("pass", "is-sql PostgreSQL")
    assert (await settled("not-is-sql", output="hello")).outcome == "pass"


async def test_only_what_is_allowed_may_be_touched(settled: Any):
    """Tables and columns are patterns; what goes beyond them is named."""
    allowed = {
        "allowedTables": ["select::null::(users|orders)"],
        "allowedColumns": ["select::users::id"],
    }
    assert (await settled("is-sql", allowed, output="SELECT id FROM users")).outcome == "pass"
    found = await settled("is-sql", allowed, output="DELETE FROM users")
    assert found.outcome == "fail"
    assert "delete::null::users" in found.reason
    assert "delete::users::(.*)" in found.reason


async def test_a_block_of_code_is_enough_for_contains(settled: Any):
    """One of several; text alone is none."""
    text = "So:\n```sql\nSELECT\n```\nor\n```\nSELECT 1\n```"
    assert (await settled("contains-sql", output=text)).outcome == "pass"
    assert (await settled("contains-sql", output="I would select one.")).outcome == "fail"
    assert (await settled("not-contains-sql", output=text)).outcome == "fail"


@pytest.mark.parametrize(
    ("value", "what", "hint"),
    [
        ("MySQL", "not an object", "databaseType"),
        ({"databaseType": "Postgres"}, "'Postgres' is not known", "PostgreSQL"),
        ({"allowedTables": "select::null::t"}, "not a list of texts", "select::null"),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_runs(value: object, what: str, hint: str):
    """With the word that was probably meant."""
    ((said, way),) = problems(Assertion(type="is-sql", value=value))
    assert what in said
    assert hint in way
