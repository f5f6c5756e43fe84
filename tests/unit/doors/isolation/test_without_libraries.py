"""What is said where a library is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.doors.isolation import django_rolled_back, rolled_back


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch):
    """With what to install."""
    for name in ("sqlalchemy", "django"):
        monkeypatch.delitem(sys.modules, f"evenhand.doors.isolation.{name}", raising=False)
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"needs SQLAlchemy 2.*\n.*pip install 'sqlalchemy"):
        rolled_back(object())  # pyright: ignore[reportCallIssue, reportArgumentType] (the mistake itself)
    with pytest.raises(UsageError, match=r"needs Django.*\n.*pip install django"):
        django_rolled_back()


def test_the_door_alone_loads_neither():
    """Nor does reading eval files."""
    script = (
        "import evenhand.doors.isolation, evenhand.doors.eval_sets.body, sys; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert not {"sqlalchemy", "django", "asgiref"} & set(done.stdout.split())


PLAIN = """
import sys, threading
sys.modules["greenlet"] = None  # as where it is not installed
from sqlalchemy import create_engine, text
from sqlalchemy.pool import StaticPool
from evenhand import EvalSet, run
from evenhand.doors.isolation import rolled_back

engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
with engine.begin() as connection:
    connection.execute(text("CREATE TABLE rows (name TEXT)"))
evals = EvalSet("plain", data=[{"id": f"c{i}"} for i in range(12)])

@evals.fixture
def session():
    with rolled_back(engine) as session:
        yield session

@evals.eval
def writes(case, session, expect):
    session.execute(text("INSERT INTO rows VALUES (:name)"), {"name": case.id})
    session.commit()
    expect(session.execute(text("SELECT count(*) FROM rows")).scalar() == 1, "is alone")

with run(evals) as found:
    print(found.totals().passed, sorted({t.error.message for t in found.trials() if t.error}))
with engine.connect() as connection:
    print(connection.execute(text("SELECT count(*) FROM rows")).scalar())
"""


def test_a_plain_engine_is_rolled_back_without_greenlet(tmp_path: Path) -> None:
    """SQLAlchemy 2.1 installs none, and only its asyncio wants it."""
    done = subprocess.run(
        [sys.executable, "-c", PLAIN],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.stdout.split("\n")[:2] == ["12 []", "0"], done.stderr


def test_an_old_sqlalchemy_is_told_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not by a name that it lacks."""
    import sqlalchemy

    monkeypatch.setattr(sqlalchemy, "__version__", "1.4.54")
    with pytest.raises(UsageError, match=r"needs SQLAlchemy 2, and this is 1\.4\.54"):
        rolled_back(object())  # pyright: ignore[reportCallIssue, reportArgumentType] (the mistake itself)
