"""`recording.tool`: what tools return is recorded in a trial, and given back in a replay."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, EvalSet, Expect, run
from evenhand.core.encoding import digest
from evenhand.core.errors import EvenhandError, ScoreError, UsageError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.run import TrialResult
from evenhand.core.score import check
from evenhand.core.step import Step
from evenhand.doors.recording import tool
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.scorers import StepDuration
from evenhand.store.recordings import Recordings, RunSource
from evenhand.store.runfile import RunFile
from evenhand.testing import example


class OutOfStock(Exception):
    """An application's own exception."""


class Busy(Exception):
    """Carries more than its arguments."""

    def __init__(self, *, wait_s: int) -> None:
        super().__init__(f"busy for {wait_s} s")
        self.wait_s = wait_s


class Outer:
    """Has an exception of its own."""

    class Closed(ValueError):
        """One of a class's own."""


@tool
def fails(how: str) -> None:
    """Raises it."""
    if how == "busy":
        raise Busy(wait_s=7)
    if how == "nested":
        raise Outer.Closed("on Sunday")
    if how == "system":
        Path("/nowhere/at/all").read_text("utf-8")
    if how == "bytes":
        b"\xff".decode()
    if how == "group":
        raise ExceptionGroup("several", [ValueError("one")])

    class Local(Exception):
        pass

    raise Local("here")


class Shop:
    """A shop that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    @tool
    def look_up(self, order: str, *, deep: bool = False) -> dict[str, Any]:
        """An order."""
        self.asked += 1
        return {"order": order, "deep": deep, "number": self.asked}

    @tool(name="search")
    async def find(self, words: list[str]) -> list[str]:
        """Goods."""
        await asyncio.sleep(0)
        self.asked += 1
        if not words:
            raise OutOfStock("nothing", 0)
        return [f"{word} {self.asked}" for word in words]


class Is:
    """An expectation that always holds."""

    def score(self, output: Any, trial: Trial):
        del trial
        return check(True, str(output))


def using(work: Callable[[Trial], Any]):
    """A body that returns what the work does, and expects something of it."""

    async def body(trial: Trial) -> object:
        said = await work(trial)
        trial.expect(Expectation(said, Is()))
        return said

    return body


async def ran(work: Callable[[Trial], Any], home: Path, replay: Path | None = None, **more: Any):
    """Runs two trials of two repeats of it, and says which file it wrote."""
    plan = example(2, using(work), repeats=2)
    if replay is None:
        return (await door.settle(plan, Settings(home=home))).path
    with closing(Recordings(RunSource(replay))) as recordings:
        settings = Settings(home=home, replay=recordings, **more)
        return (await door.settle(plan, settings)).path


def trials(path: Path) -> list[TrialResult]:
    """All results of a run."""
    with RunFile.open(path) as run:
        return list(run.trials())


async def test_tools_are_given_back_as_they_answered_each_time_and_do_not_run(tmp_path: Path):
    """Plain and async, for each trial and repeat, and for the n-th call with the same arguments; so are exceptions."""
    shop = Shop()

    async def work(trial: Trial) -> object:
        case = trial.case.id
        said: list[object] = [shop.look_up(case), shop.look_up(case), shop.look_up(case, deep=True)]
        said.append(await asyncio.to_thread(shop.look_up, order=case))
        said.append(await shop.find(["a", "b"]))
        with pytest.raises(OutOfStock) as error:
            await shop.find([])
        return [*said, list(error.value.args)]

    first = await ran(work, tmp_path)
    assert shop.asked == 4 * 6
    again = await ran(work, tmp_path, first)
    assert shop.asked == 4 * 6
    assert [t.outcome for t in trials(again)] == ["pass"] * 4
    assert [t.output for t in trials(again)] == [t.output for t in trials(first)]
    with RunFile.open(again) as run:
        tools = list(run.tools())
        assert len(tools) == 24
        assert all(tool.replayed for tool in tools)
        assert {tool.name for tool in tools} == {"Shop.look_up", "search"}
        assert tools[0].arguments == b'{"deep":false,"order":"case-0"}'
        assert run.totals().calls == 0  # a tool is no model


@pytest.mark.parametrize("how", ["busy", "nested", "system"])
async def test_an_exception_is_given_back_with_its_text_and_its_attributes(
    tmp_path: Path, how: str
):
    """An application goes by them, and tells a model of them."""
    heard: list[object] = []

    async def work(_: Trial) -> str:
        try:
            fails(how)
        except (Busy, ValueError, OSError) as error:
            told = {name: getattr(error, name, None) for name in ("wait_s", "errno", "filename")}
            heard.append((type(error), str(error), error.args, told))
        return "caught"

    first = await ran(work, tmp_path)
    await ran(work, tmp_path, first)
    assert len(heard) == 8
    assert heard[4:] == heard[:4]


@pytest.mark.parametrize("how", ["bytes", "group", "local"])
async def test_an_exception_that_cannot_be_given_back_as_it_was_leaves_no_verdict(
    tmp_path: Path, how: str
):
    """Whatever the application makes of another one in its place."""

    async def work(_: Trial) -> str:
        with suppress(Exception):
            fails(how)
        return "caught"

    first = await ran(work, tmp_path)
    assert [t.outcome for t in trials(first)] == ["pass"] * 4
    again = trials(await ran(work, tmp_path, first))
    assert [t.outcome for t in again] == ["error"] * 4
    assert again[0].error is not None
    assert "can't bring back as it was" in again[0].error.message


async def test_a_call_that_was_not_recorded_is_an_error_that_shows_the_difference(tmp_path: Path):
    """The trial has no verdict, whatever the application makes of that; where it may run, it runs."""
    shop = Shop()

    def work(order: str):
        async def inner(_: Trial) -> object:
            try:
                return shop.look_up(order)["order"]
            except EvenhandError:
                return "a fallback"

        return inner

    first = await ran(work("order 30"), tmp_path)
    again = await ran(work("order 31"), tmp_path, first)
    errors = [t.error for t in trials(again)]
    assert {error.slug for error in errors if error} == {"not-recorded"}
    assert errors[0] is not None
    assert (
        'no such call of the tool Shop.look_up: order, character 8: "order 30" recorded, '
        '"order 31" now' in errors[0].message
    )
    asked = await ran(work("order 31"), tmp_path, first, replay_asks=True)
    assert [t.outcome for t in trials(asked)] == ["pass"] * 4


def test_a_trial_under_another_name_is_given_no_result_that_may_be_anothers(tmp_path: Path):
    """It is given what all trials that it may have been were told, and what belongs to its own answers."""
    stock = {"1": 3, "2": 5}

    @tool(ignore=["case"])
    def count(case: str, place: str) -> int:
        return stock[case[-1]] if place == "here" else 0

    def counts(place: str, case: str = "case") -> EvalSet:
        evals = EvalSet("stock", data=[{"id": f"{case} {n}"} for n in "12"])

        @evals.eval
        def counted(case: Case, expect: Expect) -> None:
            number = count(case.id, place)
            expect(number == (stock[case.id[-1]] if place == "here" else 0), "its own")

        return evals

    for place, outcome in (("here", "error"), ("there", "pass")):
        cassette = tmp_path / f"{place}.cassette"
        with run(counts(place), home=tmp_path, cassette=cassette) as first:
            assert first.totals().passed == 2
        with run(counts(place, "new"), home=tmp_path, cassette=cassette) as again:
            assert [trial.outcome for trial in trials(again.path)] == [outcome, outcome], place


async def test_a_tool_takes_as_long_in_a_replay_as_when_it_ran(tmp_path: Path):
    """It isn't run, and no bound of time is met for that; where nobody recorded how long it took, that is an error."""

    @tool
    def slow() -> str:
        time.sleep(0.2)
        return "late"

    evals = EvalSet("slow", data=[{"id": "a"}])

    @evals.eval
    def waits(expect: Expect) -> None:
        slow()
        expect(expect.steps, StepDuration(), at_most=0.1)

    cassette = tmp_path / "slow.cassette"
    with run(evals, home=tmp_path, cassette=cassette) as first:
        assert first.totals().failed == 1
    with run(evals, home=tmp_path, cassette=cassette) as again:
        assert again.totals().failed == 1
    for path in (first.path, again.path):
        recordings = Recordings(RunSource(path))
        (record,) = recordings.calls_of_tool(digest("tool", "slow", b"{}"), 0)
        assert (recordings.tool_seconds(record) or 0) >= 0.2, path
        recordings.close()


def test_steps_of_tools_whose_recording_does_not_say_how_long_they_took_have_no_duration():
    """Steps of tools whose recording doesn't say how long they took have no duration, which is an error and not 0."""
    step = Step("tool", "slow", status="ok", started_s=0.0, record="tool:a:0")
    other = Step("tool", "find", status="ok", started_s=1.0, duration_s=1.0)
    with pytest.raises(ScoreError, match="doesn't say how long the tool slow took"):
        StepDuration().score([step, other])


@pytest.mark.parametrize("value", [(1, 2), {1: "a"}, {"a"}, object(), float("nan")])
async def test_what_json_does_not_bring_back_is_an_error_when_it_is_recorded(
    value: object, tmp_path: Path
):
    """Rather than something else when it is replayed."""

    @tool
    def gives() -> object:
        return value

    async def work(_: Trial) -> object:
        gives()
        return None

    (result, *_) = trials(await ran(work, tmp_path))
    assert result.outcome == "error"
    assert result.error is not None
    assert "the tool" in result.error.message


async def test_what_has_no_form_in_json_is_left_out_where_that_is_said(tmp_path: Path):
    """A connection, say; without that it is an error which says so."""

    @tool(ignore=["connection"])
    def rows(connection: object, table: str) -> int:
        del connection
        return len(table)

    @tool
    def careless(connection: object) -> int:
        del connection
        return 1

    async def work(_: Trial) -> object:
        return rows(object(), "orders")

    first = await ran(work, tmp_path)
    assert [t.output for t in trials(await ran(work, tmp_path, first))] == [6] * 4

    async def wrong(_: Trial) -> object:
        return careless(object())

    (result, *_) = trials(await ran(wrong, tmp_path))
    assert result.error is not None
    assert "is called with what JSON has no form for" in result.error.message
    assert "ignore=" in result.error.where


async def test_outside_of_a_trial_it_is_just_the_function(tmp_path: Path):
    """It keeps its name, takes what it takes, and returns whatever it does."""
    del tmp_path
    shop = Shop()
    assert shop.look_up("a")["number"] == 1
    assert await shop.find(["b"]) == ["b 2"]
    assert Shop.look_up.__name__ == "look_up"

    @tool
    def pair() -> tuple[int, int]:
        return 1, 2

    assert pair() == (1, 2)


def test_what_is_no_function_is_refused_when_it_is_decorated():
    """Classes, generators, and parameters that there are not."""
    with pytest.raises(UsageError, match="is not a function"):
        tool(Shop)
    with pytest.raises(UsageError, match="is a generator"):

        @tool
        def some():
            yield 1

    with pytest.raises(UsageError, match="has no parameter conn to ignore"):

        @tool(ignore=["conn"])
        def none(connection: object) -> None:
            del connection
