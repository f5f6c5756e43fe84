"""Whether something is SQL, or has some in it."""

from __future__ import annotations

import pytest

from evenhand.core.errors import CodeError, ScoreError
from evenhand.languages.javascript.sql import DATABASES, sql_reader
from evenhand.scorers.sql import ContainsSql, IsSql


@pytest.mark.thorough(after=5)
@pytest.mark.parametrize("database", DATABASES)
def test_every_database_reads_a_query(database: str):
    """And tells what it does to which tables and columns."""
    query = "SELECT u.id FROM users u WHERE u.age > 18"
    assert IsSql(database).score(query).passed
    read = sql_reader(database).read(query, ["nothing"], ["nothing"])
    assert read.tables == ("select::null::users",)
    assert {column.rpartition("::")[2] for column in read.columns} == {"id", "age"}
    assert not IsSql(database).score("SELECT FROM WHERE").passed


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("", "empty"),
        ("SELECT * FROM", "is not SQL of MySQL: line 1, column 14"),
        ("SELECT a b FROM t", "a comma seems to be missing"),
        ("SELECT `a` FROM t -- `", "a backtick is not closed"),
        ("SELECT generate_series(1, 2)", "no generate_series"),
    ],
)
def test_what_is_wrong_is_said(query: str, why: str):
    """By the parser, or by a rule of thumb."""
    score = IsSql().score(query)
    assert not score.passed
    assert why in score.reason


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a AS b FROM t",
        "SELECT DISTINCT a FROM t",
        "SELECT a FROM t WHERE x = 'select a b from t'",
        "SELECT a FROM t /* select a b from t */",
        "SELECT a FROM t -- select a b from t",
    ],
)
def test_no_comma_is_missed_where_none_is_missing(query: str):
    """Modifiers, aliases, texts and comments are passed over."""
    assert IsSql().score(query).passed


def test_a_column_may_be_named_without_its_table():
    """What allows `users.id` allows a bare `id`."""
    allowed = IsSql(columns=("select::users::id",))
    assert allowed.score("SELECT id FROM users").passed
    assert not allowed.score("SELECT name FROM users").passed


def test_a_pattern_that_is_none_is_the_writers_fault():
    """And no verdict on the SQL."""
    with pytest.raises(CodeError):
        IsSql(tables=("(",)).score("SELECT 1")


def test_brackets_in_brackets_are_read_as_far_as_anybody_writes_them():
    """What goes deeper is no verdict, and the engine is whole afterwards."""
    assert IsSql().score("SELECT " + "(" * 100 + "1" + ")" * 100).passed
    with pytest.raises(ScoreError, match="too deep"):
        IsSql().score("SELECT " + "(" * 20_000)
    assert IsSql().score("SELECT 1").passed


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("So:\n```sql\nSELECT 1\n```", True),
        ("~~~\nSELECT 1\n~~~\n", True),
        ("```python\nSELECT 1\n```", False),
        ("````sql\nSELECT 1\n```\n````", False),
        ("```sql\nSELECT 1", False),
        ("SELECT 1", True),
        ("```sql\nhm\n```\n```\nSELECT 1\n```", True),
        ("    ```sql\nhm\n    ```\nhm", False),
    ],
)
def test_blocks_of_code_are_looked_at_first(text: str, passed: bool):
    """Those that are marked so, or not marked; an open one is none."""
    assert ContainsSql().score(text).passed is passed
