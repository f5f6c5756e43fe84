"""What several wait for is done once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.plan import PlannedTrial
from evenhand.core.variant import Variant
from evenhand.engine.code import CodeHost
from evenhand.engine.trial import LiveTrial


@pytest.fixture
def trial() -> LiveTrial:
    """A trial that asks nobody."""

    async def body(trial: Any) -> object:
        return None

    nobody: Any = None
    return LiveTrial(
        PlannedTrial(index=0, case=Case("1"), variant=Variant(0, "p", "m"), repeat=0, body=body),
        nobody,
        CodeHost(),
    )


class Question:
    """Counts how often it is asked, and answers when it is let."""

    def __init__(self, answer: Any = 42) -> None:
        self.asked = self.cancelled = 0
        self.answer = answer
        self.may = asyncio.Event()

    async def __call__(self) -> Any:
        self.asked += 1
        try:
            await self.may.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def test_who_comes_first_asks_and_the_others_are_given_the_same(trial: LiveTrial):
    """At the same time, and later."""
    one, other = Question(), Question(7)
    waiting = [asyncio.ensure_future(trial.once("key", one)) for _ in range(3)]
    apart = asyncio.ensure_future(trial.once("another", other))
    await asyncio.sleep(0)
    one.may.set()
    other.may.set()
    assert await asyncio.gather(*waiting, apart) == [42, 42, 42, 7]
    assert await trial.once("key", other) == 42
    assert (one.asked, other.asked) == (1, 1)


async def test_an_error_is_given_to_all_and_not_asked_for_again(trial: LiveTrial):
    """What a judge could not say once, it cannot say to the others either."""
    one = Question(ValueError("no"))
    one.may.set()
    found = await asyncio.gather(
        *(trial.once("key", one) for _ in range(3)), return_exceptions=True
    )
    assert [str(error) for error in found] == ["no"] * 3
    assert one.asked == 1


async def test_it_goes_on_while_anybody_waits(trial: LiveTrial):
    """The first who asked may leave; with the last one it ends, and can be asked anew."""
    one = Question()
    first, second = (asyncio.ensure_future(trial.once("key", one)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert one.cancelled == 0
    second.cancel()
    await asyncio.wait([second])
    assert one.cancelled == 1
    one.may.set()
    assert await trial.once("key", one) == 42
    assert one.asked == 2
