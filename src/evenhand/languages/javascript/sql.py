"""SQL in the dialects of fourteen databases, read by node-sql-parser in an embedded engine of its own.

How this works: the parsers' code comes with this package, compressed together. A database's is loaded once, when the
first text needs it, into a world that has no files, no network and no Python in it. One engine for each database serves
the whole process, one text at a time: reading one takes about a millisecond. It lives in a thread of its own, since the
parser goes deep, and other threads may have little room for that.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import msgspec

from evenhand.core.built_parts import is_built, part
from evenhand.core.errors import CodeError, ScoreError
from evenhand.core.record import Record

PARSERS = "the SQL parsers of is-sql and contains-sql"
_ROOM = "evenhand.languages.javascript"
LIMIT_S = 5.0
MEMORY_BYTES = 256 * 1024 * 1024
STACK_BYTES = 16 * 1024 * 1024

DATABASES = (
    "Athena",
    "BigQuery",
    "DB2",
    "FlinkSQL",
    "Hive",
    "MariaDB",
    "MySQL",
    "Noql",
    "PostgreSQL",
    "Redshift",
    "Snowflake",
    "Sqlite",
    "TransactSQL",
    "Trino",
)
"""The databases whose SQL is known; capitals do not matter."""


class ParsedSql(Record, frozen=True):
    """What was made of a text.

    Attributes:
        wrong: Why it is not SQL, in a line; empty where it is.
        tables: What it does to which tables beyond those that are allowed: `select::null::users`.
        columns: The same for columns: `select::users::id`; a table is `null` where none is written.
    """

    wrong: str = ""
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


class SqlReader:
    """One database's SQL.

    Args:
        database: One of `DATABASES`.
    """

    def __init__(self, database: str) -> None:
        import quickjs  # noqa: PLC0415 (only where SQL is looked for)

        self._failure = quickjs.JSException
        # A thread takes the size that is set when it starts: this one gets the large stack, and no other does.
        before = threading.stack_size(STACK_BYTES)
        try:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sql")
            self._read: Any = self._thread.submit(_loaded, database).result()
        finally:
            threading.stack_size(before)

    def read(self, sql: str, tables: Sequence[str] = (), columns: Sequence[str] = ()) -> ParsedSql:
        """What is made of a text: one statement or several.

        Args:
            tables: Regular expressions for what is allowed, whatever the capitals; none allow everything.
            columns: The same for columns.

        Raises:
            CodeError: One of them is not a regular expression.
            ScoreError: It took too long to read, or goes too deep.
        """
        query = json.dumps({"sql": sql, "tables": list(tables), "columns": list(columns)})
        try:
            result = json.loads(self._thread.submit(self._read, query).result())
        except self._failure as error:
            message = str(error).strip().partition("\n")[0]
            if message.startswith("SyntaxError: "):
                raise CodeError(message.removeprefix("SyntaxError: ")) from None
            raise ScoreError(f"the SQL is too much to be read: {message}") from None
        if result.get("wrong") == _TOO_DEEP:
            raise ScoreError("the SQL is nested too deep to be read")
        if "wrong" in result:
            place = f"line {result['line']}, column {result['column']}: " if result["line"] else ""
            return ParsedSql(wrong=f"{place}{_short(result['wrong'])}")
        return ParsedSql("", tuple(result["tables"]), tuple(result["columns"]))


def _loaded(database: str) -> Any:
    """The function that reads a database's SQL, in an engine of its own."""
    import quickjs  # noqa: PLC0415 (only where SQL is looked for)

    context = quickjs.Context()
    context.set_memory_limit(MEMORY_BYTES)
    context.set_max_stack_size(STACK_BYTES * 3 // 4)
    context.set_time_limit(LIMIT_S)
    numbers = part(PARSERS, _ROOM, "libraries", "big-integer.js").decode()
    parser = _sources()[database.lower()]
    world = context.eval(
        f"(() => {{ const module = {{ exports: {{}} }}; (function () {{ {numbers}\n }}).call({{}});"
        "const numbers = module.exports, exports = {}, require = () => numbers;"
        f"(function () {{ {parser}\n }}).call({{}}); return new exports.Parser(); }})()"
    )
    return context.eval(files(_ROOM).joinpath("sql.js").read_text("utf-8"))(world, database)


def _sources() -> Mapping[str, str]:
    """The parsers' code, by database: three megabytes, so it is not kept."""
    import lzma  # noqa: PLC0415 (only where SQL is looked for)

    packed = part(PARSERS, _ROOM, "libraries", "sql.json.xz")
    return msgspec.json.decode(lzma.decompress(packed), type=dict[str, str])


_TOO_DEEP = "Maximum call stack size exceeded"


def _short(message: str) -> str:
    """What was found there, without the long list of what could have been."""
    _, but, token = message.rpartition(" but ")
    return f"unexpected {token.removesuffix(' found.')}" if but else message


def has_parsers() -> bool:
    """Whether this installation has the parsers."""
    return is_built(_ROOM, "libraries", "big-integer.js")


def known_database(name: str) -> str:
    """A database's name as it is spelt here; empty for one that is not known."""
    return next((one for one in DATABASES if one.lower() == name.lower()), "")


_readers: dict[str, SqlReader] = {}
_making = threading.Lock()


def sql_reader(database: str) -> SqlReader:
    """The reader of this process for a database."""
    with _making:
        if database not in _readers:
            _readers[database] = SqlReader(database)
        return _readers[database]
