"""A world whose state is a SQLite database, one for each trial."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from evenhand.core.arguments import checked_class
from evenhand.core.errors import UsageError
from evenhand.core.scratch import ScratchFolder
from evenhand.doors.conversations.toolbox import Toolbox

_WAIT_S = 30
MOST_ROWS = 1_000
"""Rows of a table that `changes` lists, added and removed ones each."""


@checked_class
class DatabaseWorld(Toolbox):
    """A copy of a SQLite file, or what a script of SQL makes. It goes when nobody uses it any more, or on `close()`.

    Attributes:
        path: The copy, for code that opens it by itself.
    """

    def __init__(self, of: str | Path) -> None:
        super().__init__()
        of = Path(of)
        if not of.is_file():
            raise UsageError(f"World.copy: there is no file {of}", hint="Name a SQLite file.")
        folder = ScratchFolder("world")
        self._close = weakref.finalize(self, folder.cleanup)
        self._of = of.resolve()
        self.path = Path(folder.name) / f"{of.stem}.db"
        try:
            if of.suffix == ".sql":
                self._of = Path(folder.name) / "before.db"
                with closing(sqlite3.connect(self._of)) as database:
                    database.executescript(of.read_text("utf-8"))
            # backup() also copies what stands in the write-ahead log only, which a copy of the file would miss.
            source = sqlite3.connect(f"{self._of.as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)
            with closing(source), closing(sqlite3.connect(self.path)) as copy:
                source.backup(copy)
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            self._close()
            raise UsageError(
                f"World.copy: {of} cannot be copied: {error}", hint="Name a SQLite file."
            ) from None

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as database:
            database.row_factory = sqlite3.Row
            # SQLite checks foreign keys only on connections that ask for it.
            database.execute("pragma foreign_keys = on")
            # Commits, or rolls back after an error: closing alone drops what was changed.
            with database:
                yield database

    def query(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """The rows of a query, each as a dict; empty for none. Values take the place of `?`.

        Raises:
            sqlite3.Error: SQLite refuses it.
        """
        with self._opened() as database:
            return [dict(row) for row in database.execute(sql, values)]

    def value(self, sql: str, *values: Any) -> Any:
        """The first column of a query's first row; None for no row.

        Raises:
            sqlite3.Error: SQLite refuses it.
        """
        with self._opened() as database:
            row = database.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def execute(self, sql: str, *values: Any) -> int:
        """Changes the database, and returns how many rows were changed. Values take the place of `?`.

        Raises:
            sqlite3.Error: SQLite refuses it; nothing is changed then.
        """
        with self._opened() as database:
            return database.execute(sql, values).rowcount

    def changes(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """The rows that are not as in the file that was copied: table → `added` and `removed`. Empty for no change.

        A row that was changed is among both. Of rows that are alike, those are listed that are more than there were.

        Raises:
            UsageError: There are more than 1,000 rows of a table.
        """
        changes: dict[str, dict[str, list[dict[str, Any]]]] = {}
        with self._opened() as database:
            database.execute("attach ? as before", (str(self._of),))
            for name in _tables(database, "main", "before"):
                added = _only_in(database, "main", "before", name)
                removed = _only_in(database, "before", "main", name)
                if added or removed:
                    changes[name] = {"added": added, "removed": removed}
        return changes

    def close(self) -> None:
        """Deletes the copy."""
        self._close()


def _tables(database: sqlite3.Connection, *schemas: str) -> list[str]:
    """The names of the tables in any of these."""
    names: set[str] = set()
    for schema in schemas:
        rows = database.execute(
            f"select name from {schema}.sqlite_master where type = 'table' and name not like 'sqlite_%'"  # noqa: S608 (a name of ours)
        )
        names.update(str(row["name"]) for row in rows)
    return sorted(names)


def _only_in(
    database: sqlite3.Connection, one: str, other: str, table: str
) -> list[dict[str, Any]]:
    """The rows of a table that are in one schema and not in the other, which may have no such table."""
    columns = _columns(database, one, table)
    if not columns:
        return []
    sql = _numbered_rows(one, table, columns)
    if columns == _columns(database, other, table):
        sql += f" except {_numbered_rows(other, table, columns)}"
    rows = database.execute(f"{sql} limit {MOST_ROWS + 1}").fetchall()
    if len(rows) > MOST_ROWS:
        raise UsageError(
            f"World.changes: more than {MOST_ROWS:,} rows of the table {table} were added or removed",
            hint="Ask for what matters: world.query(…) or world.value(…).",
        )
    return [dict(zip(columns, row, strict=False)) for row in rows]


def _columns(database: sqlite3.Connection, schema: str, table: str) -> list[str]:
    """The names of a table's columns; empty where the schema has no such table."""
    if table not in _tables(database, schema):
        return []
    rows = database.execute(f"select * from {schema}.{_quoted(table)} limit 0")  # noqa: S608 (a quoted name)
    return [str(column[0]) for column in rows.description]


def _numbered_rows(schema: str, table: str, columns: Sequence[str]) -> str:
    """The query of a table's rows, each with its number among those that are alike: one more of them is a change.

    Texts are compared byte by byte, whatever the column's own order takes for equal.
    """
    values = ", ".join(f"t.{_quoted(column)} collate binary" for column in columns)
    number = f"row_number() over (partition by {values})"
    return f"select {values}, {number} from {schema}.{_quoted(table)} as t"  # noqa: S608 (quoted names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
