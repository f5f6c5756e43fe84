"""The tables of the page on the run file, made of the schema: `python run_file_tables.py` writes them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from evenhand.store import schema

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats" / "run-file.md"
_BLOCK = re.compile(r"<!-- table: tables -->\n.*?<!-- end -->", re.DOTALL)
_TABLE = re.compile(r"((?:^ *--[^\n]*\n)+) *create (table|view) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^ +(\w+) +(?:text|blob|integer|real)\b[^\n]*?-- ([^\n]*)$", re.MULTILINE)


def tables() -> Iterator[str]:
    """Each table with its columns, as SQLite has them."""
    sql = schema.RUN_FILE.sql
    with sqlite3.connect(":memory:") as db:
        db.executescript(sql)
        for about, kind, name in _TABLE.findall(sql):
            text = " ".join(line.strip().removeprefix("-- ") for line in about.splitlines())
            yield f"\n### `{name}`\n"
            yield f"{text}{' A view.' if kind == 'view' else ''}\n"
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


def with_tables(text: str) -> str:
    """The page with its tables made anew."""
    return _BLOCK.sub(
        lambda _: "<!-- table: tables -->\n" + "\n".join(tables()) + "\n<!-- end -->", text
    )


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
