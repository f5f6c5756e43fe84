"""The tables of the page on the run file, made of the schema: `just formats` writes them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from evenhand.store import schema

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats" / "run-file.md"
_BLOCK = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
_TABLE = re.compile(
    r"((?:^ *--[^\n]*\n)+) *create (table|view)(?: if not exists)? (\w+)", re.MULTILINE
)
_COMMENT = re.compile(r"^ +(\w+) +(?:text|blob|integer|real)\b[^\n]*?-- ([^\n]*)$", re.MULTILINE)


def versions() -> Iterator[str]:
    """A row for each version, with the tables that it added."""
    yield "| version | added | tables |"
    yield "| --- | --- | --- |"
    said = re.findall(r"^(\d+)  (.+)$", schema.__doc__ or "", re.MULTILINE)
    for (number, what), sql in zip(said, schema.RUN_MIGRATIONS, strict=True):
        names = ", ".join(f"`{name}`" for _, _, name in _TABLE.findall(sql))
        yield f"| {number} | {what} | {names} |"


def tables() -> Iterator[str]:
    """Each table with its columns, as SQLite has them once all versions were applied."""
    with sqlite3.connect(":memory:") as db:
        for version, sql in enumerate(schema.RUN_MIGRATIONS, 1):
            db.executescript(sql)
            for about, kind, name in _TABLE.findall(sql):
                text = " ".join(line.strip().removeprefix("-- ") for line in about.splitlines())
                yield f"\n### `{name}`\n"
                yield f"{text} A {kind} since version {version}.\n"
                if kind == "view":
                    continue
                yield "| column | type | null | meaning |"
                yield "| --- | --- | --- | --- |"
                inner = sql[sql.index(f" {name} (") :].partition("\n    )")[0]
                meanings = dict(_COMMENT.findall(inner))
                for _, column, type_, strict, _, key in db.execute(f"pragma table_info({name})"):
                    null = "never" if strict or key else "not known"
                    meaning = meanings.get(column, "")
                    if "null: " in meaning:
                        meaning, _, null = meaning.partition("null: ")
                    meaning = meaning.strip().rstrip(";")
                    yield f"| `{column}` | {type_.lower()} | {null} | {meaning} |"
    db.close()


TABLES = {"versions": versions, "tables": tables}


def with_tables(text: str) -> str:
    """The page with each table made anew."""
    return _BLOCK.sub(
        lambda match: (
            f"<!-- table: {match[1]} -->\n" + "\n".join(TABLES[match[1]]()) + "\n<!-- end -->"
        ),
        text,
    )


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
