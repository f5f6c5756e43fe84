"""Each kind of trouble with a run file has a remedy of its own."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.store.writer import remedy


def locked(path: Path) -> None:
    """Two connections that write."""
    one, two = (sqlite3.connect(path, timeout=0, isolation_level=None) for _ in "ab")
    one.execute("create table t (x)")
    one.execute("begin immediate")
    try:
        two.execute("insert into t values (1)")
    finally:
        one.close()
        two.close()


def read_only(path: Path) -> None:
    """A connection that only reads."""
    sqlite3.connect(path).execute("create table t (x)").connection.close()
    sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("create table u (x)")


def full(path: Path) -> None:
    """A file that may not grow."""
    db = sqlite3.connect(path)
    db.execute("create table t (x)")
    db.execute("pragma max_page_count = 2")
    db.execute("insert into t values (zeroblob(100000))")


def no_database(path: Path) -> None:
    """Something else."""
    path.write_bytes(b"hello" * 1000)
    sqlite3.connect(path).execute("select * from t")


def nowhere(path: Path) -> None:
    """A folder that is not there."""
    sqlite3.connect(path / "folder" / "file.db").execute("select 1")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (locked, "Close whatever else has it open"),
        (read_only, "Make the file and its folder writable"),
        (full, "Free some space"),
        (no_database, "The file is damaged"),
        (nowhere, "See that its folder is there"),
    ],
)
def test_what_sqlite_says_has_a_remedy_of_its_own(
    trouble: Callable[[Path], None], told: str, tmp_path: Path
) -> None:
    """As it is raised, extended codes included."""
    with pytest.raises(sqlite3.Error) as caught:
        trouble(tmp_path / "x.db")
    assert remedy(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EROFS, "Make the file"),
        (errno.EMFILE, "Allow more open files"),
        (errno.EIO, "Look at the disk"),
    ],
)
def test_what_the_system_says_has_one_too(number: int, told: str) -> None:
    """The same words for the same trouble."""
    assert remedy(OSError(number, os.strerror(number))).startswith(told)
