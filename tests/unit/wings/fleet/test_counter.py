"""What workers are lent: room at accounts, money, answers. It is taken back when they are gone."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.wings.fleet.conftest import Scene, ScriptedLink, start_of, turns

from evenhand.core.errors import BudgetStop, RateLimited, StoreError
from evenhand.core.provider import RateLimits
from evenhand.core.run import CallEnd
from evenhand.engine.backing import Backing
from evenhand.wings.fleet.counter import Counter
from evenhand.wings.fleet.hands import SILENT_S, Hand
from evenhand.wings.fleet.messages import Message


class Counted:
    """A counter with two workers."""

    def __init__(self, backing: Backing) -> None:
        self.announced: list[Message] = []
        self.counter = Counter(backing, self.announced.append)
        self.links = [ScriptedLink("a"), ScriptedLink("b")]
        self.hands = [Hand(epoch=epoch, link=link) for epoch, link in enumerate(self.links, 1)]

    async def asks(self, worker: int, number: int, what: str, *arguments: object) -> bool:
        """A worker asks; whether it was answered at once."""
        self.counter.ask(self.hands[worker], number, what, arguments)
        await turns()
        return self.answered(worker, number)

    def answered(self, worker: int, number: int) -> bool:
        """Whether a worker has its answer."""
        return any(m[:2] == ("answer", number) for m in self.links[worker].heard)

    def tells(self, worker: int, what: str, *arguments: object) -> None:
        """A worker says something."""
        self.counter.tell(self.hands[worker], what, arguments)


def test_room_at_an_account_is_shared_by_all_workers_and_comes_back_from_a_dead_one(scene: Scene):
    """No more than there is; and what a worker gives back late, or twice, is nothing."""

    async def go() -> None:
        backing = scene.backing(ceiling=2)
        both = Counted(backing)
        assert await both.asks(0, 1, "acquire", "api", 0, 0)
        assert await both.asks(0, 2, "acquire", "api", 0, 0)
        assert not await both.asks(1, 3, "acquire", "api", 0, 0)
        assert not await both.asks(0, 4, "acquire", "api", 0, 0)
        permit, _ = both.links[0].answer(1)
        await both.counter.take_back(both.hands[0])
        await turns()
        assert both.answered(1, 3)
        assert not both.answered(0, 4)
        assert backing.limits.account("api").in_flight == 1
        both.tells(0, "release", permit, None, None, 0)
        both.tells(0, "withdraw", permit)
        assert backing.limits.account("api").in_flight == 1
        both.tells(1, "release", both.links[1].answer(3)[0], None, None, 0)
        assert backing.limits.account("api").in_flight == 0

    scene.loop.run(go())


def test_a_call_that_cost_nothing_is_counted_and_journaled_of_its_own_trial_only(scene: Scene):
    """Another worker's trial is none of its business."""

    async def go() -> None:
        backing = scene.backing()
        both = Counted(backing)
        both.hands[0].trials[5] = asyncio.get_running_loop().create_future()
        for worker in (0, 1):
            both.tells(worker, "note", start_of(5), CallEnd(b"{}", "cache"))
        assert (backing.counts.calls, backing.counts.cached) == (1, 1)
        assert scene.journal.noted == [start_of(5)]

    scene.loop.run(go())


def test_refusals_of_one_worker_close_the_gate_for_all(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """For as long as the vendor says."""
    monkeypatch.setattr("time.monotonic", scene.loop.time)

    async def go() -> None:
        both = Counted(scene.backing(ceiling=5))
        for number in range(5):
            await both.asks(0, number, "acquire", "api", 0, 0)
        for number in range(5):
            refused = RateLimited("slow down", retry_after_s=7.0)
            both.tells(0, "release", both.links[0].answer(number)[0], refused, None, 0)
        kind, name, seconds = both.announced[-1]
        assert (kind, name) == ("gate", "api")
        assert 7.0 <= seconds < 10.0
        assert not await both.asks(1, 99, "acquire", "api", 0, 0)
        await asyncio.sleep(seconds + 1)
        assert both.answered(1, 99)

    scene.loop.run(go())


def test_what_is_another_workers_cannot_be_written(scene: Scene):
    """A worker that was given up and comes back begins nothing and ends nothing."""

    async def go() -> None:
        both = Counted(scene.backing())
        future = asyncio.get_running_loop().create_future()
        both.hands[0].trials[5] = future
        await both.asks(0, 1, "begin", start_of(5))
        assert both.links[0].answer(1) == (1, None)
        end = CallEnd(b"reply", "provider")
        await both.asks(1, 2, "begin", start_of(5))
        await both.asks(1, 3, "end", 1, end)
        await both.counter.take_back(both.hands[0])
        del both.hands[0].trials[5]
        await both.asks(0, 4, "end", 1, end)
        await both.asks(0, 5, "begin", start_of(5))
        both.tells(0, "drop", 1, 0, 0)
        for worker, number in ((1, 2), (1, 3), (0, 4), (0, 5)):
            _, error = both.links[worker].answer(number)
            assert isinstance(error, StoreError)
            assert "another worker's" in str(error)
        assert (len(scene.journal.begun), scene.journal.ended, scene.journal.dropped) == (1, {}, [])

    scene.loop.run(go())


def test_money_of_a_dead_worker_is_booked_at_its_worst(scene: Scene):
    """The budget holds for all together."""

    async def go() -> None:
        backing = scene.backing(most_usd=1.0)
        both = Counted(backing)
        await both.asks(0, 1, "reserve", 0.6, "m", 0.0)
        assert not await both.asks(1, 2, "reserve", 0.6, "m", 0.0)
        await both.counter.take_back(both.hands[0])
        await turns()
        assert backing.budget.spent_usd == pytest.approx(0.6)
        _, error = both.links[1].answer(2)
        assert isinstance(error, BudgetStop)

    scene.loop.run(go())


def test_one_worker_asks_for_an_answer_and_the_others_wait_for_it(scene: Scene):
    """If the one dies, another one asks."""

    async def go() -> None:
        both = Counted(scene.backing())
        assert await both.asks(0, 1, "find", "key", "draw")
        assert both.links[0].answer(1) == (None, None)
        assert not await both.asks(1, 2, "find", "key", "draw")
        assert await both.asks(1, 3, "find", "other", "draw")
        await both.counter.take_back(both.hands[0])
        await turns()
        assert both.links[1].answer(2) == (None, None)
        both.tells(0, "landed", "key", "draw")  # of the dead one: nobody is freed by it
        assert ("key", "draw") in both.hands[1].claims

    scene.loop.run(go())


def test_a_worker_that_is_silent_with_a_permit_gets_no_more_until_it_speaks(scene: Scene):
    """Others get them; what it asked for comes as soon as it says something."""

    async def go() -> None:
        both = Counted(scene.backing(ceiling=2))
        assert await both.asks(0, 1, "acquire", "api", 0, 0)
        assert await both.asks(1, 2, "acquire", "api", 0, 0)
        assert not await both.asks(0, 3, "acquire", "api", 0, 0)
        assert not await both.asks(1, 4, "acquire", "api", 9, 0)
        await asyncio.sleep(2 * SILENT_S)
        both.hands[1].spoke()
        both.tells(1, "release", both.links[1].answer(2)[0], None, None, 0)
        await turns()
        assert both.answered(1, 4)
        assert not both.answered(0, 3)
        both.tells(1, "release", both.links[1].answer(4)[0], None, None, 0)
        await turns()
        assert not both.answered(0, 3)
        both.hands[0].spoke()
        await turns()
        assert both.answered(0, 3)

    scene.loop.run(go())


def test_a_worker_that_falls_silent_again_while_it_waits_gets_none_either(scene: Scene):
    """It was lent a permit of another account meanwhile."""

    async def go() -> None:
        both = Counted(scene.backing(ceiling=2))
        await both.asks(0, 1, "acquire", "api", 0, 0)
        await both.asks(1, 2, "acquire", "api", 0, 0)
        await both.asks(0, 3, "acquire", "api", 0, 0)
        await asyncio.sleep(2 * SILENT_S)
        both.hands[1].spoke()
        both.tells(1, "release", both.links[1].answer(2)[0], None, None, 0)
        assert await both.asks(1, 4, "acquire", "api", 0, 0)
        both.hands[0].spoke()
        assert await both.asks(0, 5, "acquire", "other", 0, 0)
        await asyncio.sleep(2 * SILENT_S)
        both.hands[1].spoke()
        both.tells(1, "release", both.links[1].answer(4)[0], None, None, 0)
        await turns()
        assert not both.answered(0, 3)
        assert await both.asks(1, 6, "acquire", "api", 0, 0)

    scene.loop.run(go())


def test_a_worker_that_dies_while_its_permits_wait_leaves_none_behind(scene: Scene):
    """What it held is free, and what it waited for goes to nobody."""

    async def go() -> None:
        backing = scene.backing(ceiling=2)
        both = Counted(backing)
        await both.asks(0, 1, "acquire", "api", 0, 0)
        await asyncio.sleep(2 * SILENT_S)
        assert not await both.asks(0, 2, "acquire", "api", 0, 0)
        await both.counter.take_back(both.hands[0])
        assert not both.hands[0].waiting
        assert backing.limits.account("api").in_flight == 0
        both.hands[0].spoke()
        await turns()
        assert not both.answered(0, 2)
        assert await both.asks(1, 3, "acquire", "api", 0, 0)
        assert await both.asks(1, 4, "acquire", "api", 0, 0)

    scene.loop.run(go())


def test_silence_counts_from_the_first_permit_on(scene: Scene):
    """However many it is lent after that."""

    async def go() -> None:
        hand = Hand(epoch=1, link=ScriptedLink("a"))
        hand.lend()
        await asyncio.sleep(0.8 * SILENT_S)
        hand.lend()
        assert not hand.silent
        await asyncio.sleep(0.4 * SILENT_S)
        assert hand.silent
        hand.spoke()
        assert not hand.silent

    scene.loop.run(go())


def test_only_what_was_not_sent_leaves_its_room_to_others(scene: Scene):
    """Of a worker that is gone, and of a call that was cut off, the vendor may have counted the calls."""

    async def go() -> None:
        both = Counted(scene.backing())
        await both.asks(0, 1, "acquire", "api", 0, 0)
        two_left = RateLimits(requests_remaining=2, requests_reset_s=60)
        both.tells(0, "release", both.links[0].answer(1)[0], None, two_left, 0)
        await both.asks(0, 2, "acquire", "api", 0, 0)
        both.tells(0, "withdraw", both.links[0].answer(2)[0])
        await both.asks(0, 3, "acquire", "api", 0, 0)
        both.tells(0, "forget", both.links[0].answer(3)[0])
        assert await both.asks(0, 4, "acquire", "api", 0, 0)
        await both.counter.take_back(both.hands[0])
        assert not await both.asks(1, 5, "acquire", "api", 0, 0)

    scene.loop.run(go())
