"""What calls may cost when they fail: booked at the worst, told in the journal, never sent past the budget."""

from __future__ import annotations

import asyncio

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import BadReply, ConnectionFailed, Overloaded
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.engine.rate_limits import Account
from evenhand.engine.retry_pauses import RetryPolicy
from evenhand.store.runfile import RunFile
from evenhand.store.writer import Writer
from evenhand.testing import Scripted, example, example_of


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(RetryPolicy, "_jittered", lambda *_: 0.0)


def asking(model):
    """A body that asks once."""

    async def body(trial):
        return (await trial.model(model, "subject").generate(trial.case.id)).text

    return body


class Breaks(Scripted):
    """A provider with a fault of its own where it should read an answer."""

    def reply(self, body):
        raise KeyError("choices")


class FiveTogether(Scripted):
    """A provider that begins to answer when five calls are there, however slow the machine is."""

    async def send(self, request, host):
        if len(self.asked) < 5:
            five = self.__dict__.setdefault("five", asyncio.Barrier(5))
            self.in_flight += 1
            self.most_at_once = max(self.most_at_once, self.in_flight)
            async with asyncio.timeout(30):
                await five.wait()
            self.in_flight -= 1
        return await super().send(request, host)


def test_an_attempt_that_may_have_been_charged_for_is_booked_at_its_worst(runs):
    """Two attempts of at most 0.4 fit into a budget of 1, a third does not, whatever they really cost."""
    model = Scripted([BadReply("half", billed=None)], cost_usd=0.1, bound_usd=0.4)
    finished = runs.run(
        example(5, asking(model), providers=(model,)), max_cost_usd=1.0, concurrency=1
    )
    assert finished.ending.status == "out_of_budget"
    assert "$0.8000 spent" in finished.ending.message
    assert len(model.asked) == 2
    (call,) = runs.calls()
    assert call.end is not None
    assert (call.end.error, call.end.wasted, call.end.attempts) == ("budget", 2, 2)


def test_an_attempt_that_was_never_sent_costs_nothing(runs):
    """A refused connection can be tried as often as the policy says."""
    model = Scripted([*[ConnectionFailed("refused")] * 4, "yes"], cost_usd=0.1, bound_usd=0.4)
    finished = runs.run(example(1, asking(model), providers=(model,)), max_cost_usd=0.4)
    assert finished.ending.status == "finished"
    (call,) = runs.calls()
    assert call.end is not None
    assert (call.end.cost_usd, call.end.wasted, call.end.attempts) == (0.1, 0, 5)


def test_a_call_given_up_in_doubt_leaves_less_for_the_others(runs):
    """Its last attempt counts like those before it."""
    model = Scripted([*[BadReply("half", billed=None)] * 6, "yes"], cost_usd=0.1, bound_usd=0.4)
    finished = runs.run(
        example(3, asking(model), providers=(model,)), max_cost_usd=2.6, concurrency=1
    )
    assert finished.ending.status == "out_of_budget"
    assert [t.outcome for t in runs.trials()] == ["error"]
    assert len(model.asked) == 6


def test_a_fault_in_a_provider_ends_its_call_and_is_not_paid_for_again(runs):
    """It is no call in doubt, nor a reason to stop the run, nor one to ask once more."""
    model = Breaks(bound_usd=0.4)
    finished = runs.run(example(3, asking(model), providers=(model,)), concurrency=1)
    assert finished.ending.status == "finished"
    assert {t.error.slug for t in runs.trials() if t.error} == {"provider"}
    assert "KeyError: 'choices'" in runs.trials()[0].reason
    assert len(model.asked) == 3
    assert all(call.end and call.end.error == "provider" for call in runs.calls())
    with RunFile.open(finished.path) as file:
        assert file.in_doubt() == []


async def test_a_call_given_up_between_two_attempts_is_not_in_doubt(tmp_path, monkeypatch):
    """What failed is known, and nothing was under way when the run was stopped."""
    monkeypatch.setattr(RetryPolicy, "_jittered", lambda *_: 60.0)
    model = Scripted([BadReply("half", billed=None)], bound_usd=0.4)
    run = asyncio.ensure_future(
        door.settle(example(1, asking(model), providers=(model,)), Settings(home=tmp_path))
    )
    while not model.asked:
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.02)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    with RunFile.open(next((tmp_path / "runs").glob("*.db"))) as file:
        (call,) = file.calls()
        assert call.end is not None
        assert (call.end.error, call.end.attempts, call.end.wasted) == ("given-up", 1, 1)
        assert file.in_doubt() == []
        assert file.most_spent() == 0.4


async def test_a_call_given_up_before_it_was_sent_is_not_in_doubt(tmp_path, monkeypatch):
    """Neither while its intent is written, nor while it waits for an account that has closed meanwhile."""
    writing, waiting = asyncio.Event(), asyncio.Event()
    plain = Writer.durable

    async def slow(self, kind, row):
        await plain(self, kind, row)
        writing.set()
        await asyncio.sleep(60)

    async def closed(self, permit):
        waiting.set()
        await asyncio.sleep(60)

    for patched, reached in (
        ((Writer, "durable", slow), writing),
        ((Account, "passable", closed), waiting),
    ):
        model = Scripted()
        with monkeypatch.context() as patch:
            patch.setattr(*patched)
            plan = example(1, asking(model), providers=(model,))
            home = tmp_path / patched[1]
            run = asyncio.ensure_future(door.settle(plan, Settings(home=home)))
            await reached.wait()
            patch.undo()
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        assert model.asked == []
        with RunFile.open(next((home / "runs").glob("*.db"))) as file:
            assert file.in_doubt() == []
            assert file.spend().calls == 0


@pytest.mark.parametrize(("reached", "becomes"), [("passable", "withdraw"), ("send", "forget")])
async def test_a_call_that_is_cancelled_leaves_its_room_only_where_it_was_not_sent(
    tmp_path, monkeypatch, reached, becomes
):
    """Once it is sent, the vendor may have counted it."""
    there, told = asyncio.Event(), []

    async def waits(*_):
        there.set()
        await asyncio.sleep(60)

    def telling(name):
        plain = getattr(Account, name)

        def told_too(account, permit):
            told.append(name)
            plain(account, permit)

        return told_too

    for name in ("withdraw", "forget"):
        monkeypatch.setattr(Account, name, telling(name))
    monkeypatch.setattr(Account if reached == "passable" else Scripted, reached, waits)
    plan = example(1, asking(model := Scripted()), providers=(model,))
    run = asyncio.ensure_future(door.settle(plan, Settings(home=tmp_path)))
    await there.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert told == [becomes]


def test_names_with_half_a_character_stop_nothing(runs):
    """Neither a case's nor a model's; each case is a draw of its own, found again in the cache."""
    model = Scripted(deterministic=False, id="m\ud800")
    cases = [Case(name) for name in ("a\ud800", "a\udfff", "a\x00", "\N{SNOWMAN}")]

    async def body(trial):
        return (await trial.model(model, "subject").generate("the same")).text

    for _ in range(2):
        runs.run(example_of(body, cases, providers=(model,)))
        assert [t.case for t in runs.trials()] == [case.id for case in cases]
        assert {t.outcome for t in runs.trials()} == {"pass"}
    assert len(model.asked) == 4


def test_only_tokens_beyond_the_guess_are_debited_after_the_answer(runs, monkeypatch):
    """The guess was debited when the call was let through."""
    seen = []
    plain = Account.release

    def release(self, permit, error, rates, tokens):
        seen.append(tokens)
        plain(self, permit, error, rates, tokens)

    monkeypatch.setattr(Account, "release", release)
    model = Scripted(("ok " * 40,))
    runs.run(example(1, asking(model), providers=(model,)))
    assert seen == [len("ok " * 40) // 4]


@pytest.mark.thorough
def test_a_thousand_trials_among_faults_come_out_in_order_each_paid_for_once(runs):
    """Every fourth attempt fails before it is charged for; nothing is lost, doubled or out of place."""
    model = Scripted(
        [Overloaded("busy"), "yes", ConnectionFailed("reset"), "yes", "yes", "yes", "yes", "yes"],
        cost_usd=0.001,
        bound_usd=0.002,
    )
    finished = runs.run(
        example(1000, asking(model), providers=(model,)), concurrency=50, max_cost_usd=1.1
    )
    assert finished.ending.status == "finished"
    assert [t.case for t in runs.trials()] == [f"case-{i}" for i in range(1000)]
    assert {t.outcome for t in runs.trials()} == {"pass"}
    calls = runs.calls()
    assert sorted(call.start.trial for call in calls) == list(range(1000))
    assert sum(call.end.attempts for call in calls if call.end) == len(model.asked)
    with RunFile.open(finished.path) as run:
        assert run.spend().cost_usd == pytest.approx(1.0)
        assert run.most_spent() == pytest.approx(1.0)


def test_a_budget_ends_a_run_by_what_it_spent_and_not_by_what_was_set_aside(runs):
    """Ten calls at once, each of which could have cost a dollar, share five; a hundred cost one."""
    model = FiveTogether(bound_usd=1.0, cost_usd=0.01, latency_s=0.001)

    async def body(trial):
        return (await trial.model(model, "subject").generate(trial.case.id)).text

    done = runs.run(example(100, body), cache=False, max_cost_usd=5, concurrency=10)
    assert done.ending.status == "finished"
    assert len(model.asked) == 100
    assert model.most_at_once == 5
