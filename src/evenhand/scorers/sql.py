"""Whether an output is SQL, or has some in it, and touches only what it may.

A parser of the database's own dialect decides, and some rules of thumb for what parsers let pass and people do not
mean: `SELECT a b FROM t` is rather a forgotten comma than an alias.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.score import Score, check
from evenhand.languages.javascript.sql import sql_reader
from evenhand.scorers.javascript_regex import SPACE
from evenhand.scorers.text import text_of

_QUOTED = {
    mark: rf"{mark}(?>(?:\\.|{mark}{mark}|[^{mark}\\])*)(?:{mark}|\\?\Z)"
    for mark in ("'", '"', "`")
}
_BRACKETS = r"\[(?>(?:\]\]|[^\]])*)(?:\]|\Z)"
_DOLLARS = r"\$(?P<tag>(?:[A-Za-z_][A-Za-z0-9_]*)?)\$.*?(?:\$(?P=tag)\$|\Z)"
_COMMENTS = r"(?:--|\#)[^\r\n]*|/\*.*?(?:\*/|\Z)"


def _passed_over(*texts: str) -> re.Pattern[str]:
    """Texts in quotes, and comments."""
    return re.compile(rf"(?P<text>{'|'.join(texts)}|{_DOLLARS})|{_COMMENTS}", re.DOTALL)


_PLAIN = _passed_over(*_QUOTED.values())
_WITH_BRACKETS = _passed_over(*_QUOTED.values(), _BRACKETS)


def _forgotten_comma(modifiers: str) -> re.Pattern[str]:
    """Two bare names between SELECT and FROM, and nothing else."""
    name, space = "[A-Za-z_][A-Za-z0-9_]*", rf"[{SPACE}]+"
    return re.compile(
        rf"\bselect{space}(?:{modifiers}{space})*(?!{modifiers}\b){name}{space}{name}{space}from\b",
        re.IGNORECASE | re.ASCII,
    )


_COMMA = _forgotten_comma("(?:all|distinct)")
_MYSQL_COMMA = _forgotten_comma(
    "(?:all|distinct(?:row)?|high_priority|straight_join"
    "|sql_(?:big_result|buffer_result|cache|calc_found_rows|no_cache|small_result))"
)
_GENERATE_SERIES = re.compile(rf"\bgenerate_series[{SPACE}]*\(", re.IGNORECASE | re.ASCII)

_FENCE = re.compile(r"[ \t]{0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
_LINE_END = re.compile(r"\r\n?|\n")


class IsSql(Record, frozen=True):
    """The whole output is SQL: one statement or several.

    Attributes:
        database: Whose, as `evenhand.languages.javascript.sql.DATABASES` spells it.
        tables: What it may do to which tables, as regular expressions: `select::null::users` for a table without a
            schema. None allow everything.
        columns: The same for columns: `select::users::id`, which allows a bare `id` as well.
    """

    database: str = "MySQL"
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        wrong = self.wrong(text_of(output))
        return check(not wrong, wrong)

    def wrong(self, text: str) -> str:
        """What is wrong with a text; empty for nothing."""
        if not text.strip():
            return "the output is empty"
        read = sql_reader(self.database).read(text, self.tables, _and_bare(self.columns))
        if read.wrong:
            return f"it is not SQL of {self.database}: {read.wrong}"
        unlikely = _unlikely(text, self.database)
        if unlikely:
            return unlikely
        beyond = (("tables", read.tables), ("columns", read.columns))
        return "; ".join(
            f"{what} that are not allowed: {', '.join(names)}" for what, names in beyond if names
        )

    def __str__(self) -> str:
        return f"is-sql {self.database}"


class ContainsSql(Record, frozen=True):
    """A block of code in the output is SQL; where there is none, all of it.

    Attributes:
        sql: What is asked of each block that is marked `sql`, or not at all.
    """

    sql: IsSql = IsSql()

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        text = text_of(output)
        wrong = "there is no SQL in it"
        for block in list(_blocks(text)) or [text]:
            if block.strip():
                wrong = self.sql.wrong(block)
                if not wrong:
                    return check(True)
        return check(False, wrong)

    def __str__(self) -> str:
        return f"contains-sql {self.sql.database}"


def _unlikely(text: str, database: str) -> str:
    """What a parser lets pass and nobody means; empty for nothing."""
    if text.count("`") % 2:
        return "a backtick is not closed"
    # Only these two dialects put names in square brackets.
    pattern = _WITH_BRACKETS if database in ("TransactSQL", "Sqlite") else _PLAIN
    bare = pattern.sub(lambda match: " ? " if match["text"] is not None else " ", text)
    comma = _MYSQL_COMMA if database in ("MySQL", "MariaDB") else _COMMA
    if comma.search(bare):
        return "a comma seems to be missing between SELECT and FROM"
    if database == "MySQL" and _GENERATE_SERIES.search(text):
        return "MySQL has no generate_series"
    return ""


def _and_bare(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns, and each without its table: a query that reads one table rarely names it."""
    parts = (column.split("::") for column in columns)
    return (*columns, *(f"{p[0]}::null::{p[2]}" for p in parts if len(p) == 3 and p[1] != "null"))


def _blocks(text: str) -> Iterator[str]:
    """The blocks of code between fences that are marked `sql`, or not marked."""
    lines: list[str] = []
    opened: re.Match[str] | None = None
    for line in _LINE_END.split(text):
        fence = _FENCE.fullmatch(line)
        if opened is None:
            opened = fence
            lines = []
        elif (
            fence is not None
            and not fence["info"].strip(" \t")
            and fence["mark"].startswith(opened["mark"])
        ):
            if opened["info"].strip().lower() in ("", "sql"):
                yield "\n".join(lines).strip()
            opened = None
        else:
            lines.append(line)
