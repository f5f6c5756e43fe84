"""Trials that hold several databases do not wait for each other forever, and a run that ends lets go of all."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from evenhand import EvalSet, Expect, run
from evenhand.doors.isolation import rolled_back

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
CASES = [{"id": str(i)} for i in range(6)]

STUCK = """
import time
from pathlib import Path

from sqlalchemy import create_engine

from evenhand import EvalSet
from evenhand.engine import runner
from evenhand.doors.isolation import rolled_back

runner.DRAIN_S = 0.5
here = Path(__file__).parent
first, second = (create_engine(f"sqlite:///{here}/{name}.db") for name in "ab")
evals = EvalSet("stuck", data=[{"id": str(i)} for i in range(8)])


@evals.fixture
def one():
    with rolled_back(first) as session:
        yield session


@evals.fixture
def two():
    with rolled_back(second) as session:
        yield session


@evals.eval
def is_stuck(one, two):
    (here / "stuck").touch()
    time.sleep(60)


@evals.eval
def waits(two, one):
    pass
"""


@pytest.fixture
def engines(tmp_path: Path) -> tuple[Engine, Engine]:
    """Two files that have room for one trial each."""
    return create_engine(f"sqlite:///{tmp_path}/a.db"), create_engine(f"sqlite:///{tmp_path}/b.db")


def plain(engine: Engine, name: str) -> Callable[..., object]:
    """A fixture."""

    def fixture():
        with rolled_back(engine) as session:
            time.sleep(0.002)
            yield session

    fixture.__name__ = name
    return fixture


def asynchronous(engine: AsyncEngine, name: str) -> Callable[..., object]:
    """The same, async."""

    async def fixture():
        async with rolled_back(engine) as session:
            await asyncio.sleep(0.002)
            yield session

    fixture.__name__ = name
    return fixture


@pytest.mark.parametrize("kinds", ["plain", "async", "mixed"])
@pytest.mark.parametrize("declared", ["ab", "ba"])
def test_databases_that_are_asked_for_in_different_orders_are_had(
    tmp_path: Path, engines: tuple[Engine, Engine], kinds: str, declared: str
):
    """In one set and in two, declared in one order or in two: everything passes."""
    if kinds == "plain":
        one, two = plain(engines[0], "one"), plain(engines[1], "two")
    else:
        url = f"sqlite+aiosqlite:///{tmp_path}"
        one = asynchronous(create_async_engine(f"{url}/c.db"), "one")
        two = asynchronous(create_async_engine(f"{url}/d.db"), "two")
        two = plain(engines[1], "two") if kinds == "mixed" else two
    sets = EvalSet("first", data=CASES), EvalSet("second", data=CASES)
    for evals, order in zip(sets, ("ab", declared), strict=True):
        for letter in order:
            evals.fixture({"a": one, "b": two}[letter])

        @evals.eval
        def forwards(one, two, expect: Expect):
            expect(one is not two, "there are both")

        @evals.eval
        async def backwards(two, one, expect: Expect):
            expect(one is not two, "there are both")

    with run(*sets, concurrency=24) as found:
        assert [t.outcome for t in found.trials()] == ["pass"] * 24


def test_a_fixture_that_gives_way_is_torn_down_and_made_anew(engines: tuple[Engine, Engine]):
    """As often as it was made; no trial hears of it."""
    made, torn_down = list[str](), list[str]()
    sets = EvalSet("first", data=CASES), EvalSet("second", data=CASES)
    for evals, order in zip(sets, (engines, engines[::-1]), strict=True):

        @evals.fixture
        def early(order=order):
            with rolled_back(order[0]):
                made.append("early")
                time.sleep(0.02)
                yield
            torn_down.append("early")

        @evals.fixture
        def late(order=order):
            with rolled_back(order[1]):
                yield

        @evals.eval
        def holds_both(early, late, expect: Expect):
            expect(True, "is settled")

    with run(*sets, concurrency=12) as found:
        trials = list(found.trials())
    assert [(t.outcome, len(t.outcomes)) for t in trials] == [("pass", 1)] * 12
    assert len(made) == len(torn_down) > 12


def test_evals_that_would_wait_for_each_other_themselves_are_told(engines: tuple[Engine, Engine]):
    """What an eval has begun cannot be begun anew: one of the two is an error that says what to do."""
    evals = EvalSet("by hand")
    inside: list[str] = []

    def both(first: Engine, second: Engine) -> None:
        with rolled_back(first):
            inside.append("")
            while len(inside) < 2:
                time.sleep(0.001)
            with rolled_back(second):
                pass

    @evals.eval
    def forwards(expect: Expect):
        both(*engines)
        expect(True, "came to its end")

    @evals.eval
    def backwards(expect: Expect):
        both(*engines[::-1])
        expect(True, "came to its end")

    with run(evals) as found:
        outcomes = {t.outcome: t for t in found.trials()}
    assert set(outcomes) == {"pass", "error"}
    error = outcomes["error"].outcomes[0]
    assert "would wait for each other's databases forever" in error.reason
    assert "same order" in error.hint


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_trials_that_wait_for_their_turn(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
):
    """One is stuck in a function and the others wait for its database: they are let go when the drain's time is up."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    evals = tmp_path / "stuck_evals.py"
    evals.write_text(
        STUCK.replace("DRAIN_S", "TERM_DRAIN_S" * (number == signal.SIGTERM) or "DRAIN_S")
    )
    process = subprocess.Popen(
        [*COMMAND, "run", "--no-progress", str(evals)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 20
    while not (tmp_path / "stuck").exists() and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number, err
