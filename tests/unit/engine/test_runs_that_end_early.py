"""Runs that stop: nothing goes on behind them, and what was received is never asked for again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Sequence

import pytest

from evenhand.core.errors import (
    AuthError,
    BadReply,
    BadRequest,
    BudgetStop,
    CodeError,
    Overloaded,
    RateLimited,
    StoreError,
    Unreachable,
)
from evenhand.core.expect import Expectation
from evenhand.core.score import check
from evenhand.engine import door, tasks
from evenhand.engine.budget import Budget
from evenhand.engine.calls import CallDesk
from evenhand.engine.code import CodeHost
from evenhand.engine.rate_limits import Limits
from evenhand.engine.runner import Runner
from evenhand.engine.session import Session
from evenhand.store import journal
from evenhand.store.cache import Cache
from evenhand.store.home import Lock
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted, example


def asking(model, text="question {n}"):
    """A body that asks a model, and says what it said."""

    async def body(trial):
        question = text.replace("{n}", str(trial.case.vars["n"]))
        return (await trial.model(model, "subject").generate(question)).text

    return body


class Judge:
    """A scorer that asks a model."""

    def __init__(self, model, question="good?") -> None:
        self.model = model
        self.question = question

    def __str__(self) -> str:
        return "judge"

    async def score(self, output, trial):
        reply = await trial.model(self.model, "judge").generate(f"{self.question} {output}")
        return check(reply.text == "yes")


class Bench:
    """A runner with all its parts in reach."""

    def __init__(self, plan, folder, *, cache=True, concurrency=4, resume=None) -> None:
        meta = door._meta(plan, door.Settings())
        self.journal = Journal.reopen(resume) if resume else Journal.create(folder / "runs", meta)
        self.cache = Cache.open(folder / "cache") if cache else None
        self.limits = Limits(concurrency)
        self.budget = Budget()
        self.host = CodeHost()
        self.desk = CallDesk(
            journal=self.journal,
            cache=self.cache,
            limits=self.limits,
            budget=self.budget,
            host=self.host,
        )
        self.notes = []
        self.runner = Runner(
            Session(
                plan=plan,
                journal=self.journal,
                desk=self.desk,
                limits=self.limits,
                budget=self.budget,
                host=self.host,
                concurrency=concurrency,
                note=self.notes.append,
            )
        )

    async def close(self) -> RunFile:
        """Ends the run, and opens its file."""
        await self.journal.finish("interrupted")
        if self.cache is not None:
            self.cache.close()
        return RunFile.open(self.journal.path)


@pytest.mark.parametrize("cache", [True, False])
async def test_a_fatal_error_leaves_what_is_under_way_elsewhere_alone(tmp_path, cache):
    """Calls of other accounts are answered, nothing is in doubt, and no task is left behind."""
    slow = Scripted(latency_s=0.05, id="slow", account="other")
    broken = Scripted([AuthError("wrong key")], id="broken", latency_s=0.01)

    async def body(trial):
        model = broken if trial.case.vars["n"] == 3 else slow
        return (await trial.model(model, "subject").generate(trial.case.id)).text

    bench = Bench(example(20, body), tmp_path, cache=cache)
    before = asyncio.all_tasks()
    ending = await asyncio.wait_for(bench.runner.run(), 20)
    assert (ending.status, ending.message) == ("stopped", "wrong key")
    assert asyncio.all_tasks() == before
    assert bench.limits.account("other").in_flight == 0
    assert bench.desk.counts.in_flight == 0
    assert (len(slow.asked), len(broken.asked)) == (19, 1)
    with await bench.close() as run:
        assert run.in_doubt() == []
        assert run.totals().passed == 19


async def test_a_judges_fatal_error_leaves_no_other_judge_of_the_trial_asking(tmp_path):
    """Of two judges side by side, one has a wrong key."""
    slow = Scripted(latency_s=60, id="slow", account="other")
    broken = Scripted([AuthError("wrong key")], id="broken", latency_s=0.01)

    async def body(trial):
        trial.expect(Expectation("x", Judge(slow)))
        trial.expect(Expectation("x", Judge(broken)))
        trial.expect(Expectation("x", Judge(slow, "kind?")))
        return "x"

    bench = Bench(example(3, body), tmp_path)
    before = asyncio.all_tasks()
    ending = await asyncio.wait_for(bench.runner.run(), 20)
    assert ending.status == "stopped"
    assert slow.in_flight == 0
    assert asyncio.all_tasks() == before
    (await bench.close()).close()


async def test_a_call_goes_on_while_anybody_waits_for_it(tmp_path, until):
    """One of two trials that share it is cancelled; the other gets the reply, and it is paid for once."""
    model = Scripted(latency_s=0.03)
    bench = Bench(example(2, asking(model, "the same")), tmp_path)
    run = asyncio.create_task(bench.runner.run())
    await until(lambda: model.in_flight == 1)
    next(iter(bench.runner._seats)).cancel()
    await run
    with await bench.close() as file:
        assert [trial.output for trial in file.trials()] == [None, "yes"]
        assert file.trial(0).error.message == "its code cancelled the task that it runs in"
    assert len(model.asked) == 1


async def test_a_shared_call_is_cancelled_when_all_who_waited_are_gone(tmp_path, until):
    """Nobody would hear its answer; it is in doubt."""
    model = Scripted(latency_s=60)
    bench = Bench(example(3, asking(model, "the same")), tmp_path)
    before = asyncio.all_tasks()
    run = asyncio.create_task(bench.runner.run())
    await until(lambda: model.in_flight == 1)
    bench.runner._stop()
    await asyncio.wait_for(run, 20)
    assert model.in_flight == 0
    assert asyncio.all_tasks() == before
    assert not bench.desk._under_way
    with await bench.close() as file:
        assert len(file.in_doubt()) == 1


async def test_what_was_in_doubt_is_asked_again_on_resume_and_said_to_be(tmp_path, until):
    """Its bound counts as spent; the other replies are read from the journal."""
    hanging = Scripted(cost_usd=0.1, bound_usd=0.5, latency_s=60)
    bench = Bench(example(1, asking(hanging)), tmp_path)
    run = asyncio.create_task(bench.runner.run())
    await until(lambda: hanging.in_flight == 1)
    bench.runner._drain(2, 60)
    bench.runner._drain(2, 60)
    ending = await run
    assert (ending.status, ending.signal) == ("interrupted", 2)
    assert bench.notes[-1] == "stopping now"
    (await bench.close()).close()
    model = Scripted(cost_usd=0.1, bound_usd=0.5)
    finished = await door.settle(
        example(1, asking(model)), door.Settings(max_cost_usd=0.9), resume=bench.journal.path
    )
    assert finished.ending.status == "out_of_budget"
    with RunFile.open(finished.path) as file:
        assert [call.start.cost_bound_usd for call in file.in_doubt()] == [0.5]
    again = await door.settle(example(1, asking(model)), resume=bench.journal.path)
    assert again.ending.status == "finished"
    assert len(model.asked) == 1


async def test_a_drain_that_takes_too_long_is_cut_short(tmp_path, until):
    """What does not end in time is given up."""
    model = Scripted(latency_s=60)
    bench = Bench(example(9, asking(model)), tmp_path, concurrency=2)
    run = asyncio.create_task(bench.runner.run())
    await until(lambda: model.in_flight == 2)
    bench.runner._drain(15, 0.01)
    ending = await asyncio.wait_for(run, 20)
    assert (ending.status, ending.message) == ("interrupted", "interrupted by SIGTERM")
    assert "Ctrl-C" not in bench.notes[0]
    assert len(model.asked) == 2
    (await bench.close()).close()


async def test_a_cancelled_attempt_says_nothing_of_the_account(tmp_path, until):
    """Neither an answer nor a fault: the permit comes back, and the count of failures stands."""
    model = Scripted(latency_s=60)
    bench = Bench(example(1, asking(model)), tmp_path)
    account = bench.limits.account("scripted")
    account._failures = 7
    run = asyncio.create_task(bench.runner.run())
    await until(lambda: model.in_flight == 1)
    bench.runner._stop()
    await run
    assert (account.in_flight, account._failures, account._answered_at) == (0, 7, None)
    (await bench.close()).close()


async def test_a_fault_in_a_provider_is_its_trials_error_and_loses_no_permit(tmp_path):
    """An exception that is no ProviderError: the others go on."""

    def reply(prompt):
        if "1" in prompt.text:
            raise ZeroDivisionError("a bug in the provider")
        return "yes"

    model = Scripted(reply)
    bench = Bench(example(5, asking(model)), tmp_path, concurrency=1)
    ending = await bench.runner.run()
    assert ending.status == "finished"
    assert bench.limits.account("scripted").in_flight == 0
    with await bench.close() as run:
        trials = list(run.trials())
    assert [t.outcome for t in trials] == ["pass", "error", "pass", "pass", "pass"]
    assert trials[1].error is not None
    assert "a bug in the provider" in trials[1].error.message


async def test_an_error_that_gives_up_on_the_account_ends_the_run(tmp_path, monkeypatch):
    """Failures and not one answer: the message names the last of them."""
    monkeypatch.setattr("evenhand.engine.rate_limits.FAILURES", 3)
    monkeypatch.setattr("evenhand.engine.rate_limits.PATIENCE_S", 0.0)
    monkeypatch.setattr(
        "evenhand.engine.retry_pauses.RetryPolicy.pause", lambda self, error, *_: 0.0 * bool(error)
    )
    model = Scripted([Overloaded("503 from the proxy")])
    finished = await door.settle(example(20, asking(model)), door.Settings(home=tmp_path))
    assert finished.ending.status == "stopped"
    assert "did not answer" in finished.ending.message
    assert "503 from the proxy" in finished.ending.message
    with RunFile.open(finished.path) as run:
        ends = [call.end.error for call in run.calls() if call.end]
        assert Unreachable.slug in ends
        assert set(ends) <= {Unreachable.slug, "given-up"}  # some were between two attempts


async def test_a_refused_call_is_not_sent_again_before_the_vendor_said_so_and_the_others_go_on(
    tmp_path,
):
    """One refusal is a matter of one call."""
    times = []
    loop = asyncio.get_running_loop()

    def reply(prompt):
        times.append((prompt.text, loop.time()))
        return RateLimited("slow down", retry_after_s=0.5) if len(times) == 1 else "yes"

    plan = example(8, asking(Scripted(reply)))
    finished = await door.settle(plan, door.Settings(home=tmp_path, concurrency=2))
    assert finished.ending.status == "finished"
    assert len(times) == 9
    refused, at = times[0]
    again = [t for text, t in times[1:] if text == refused]
    assert len(again) == 1
    assert again[0] >= at + 0.5
    assert times[-1] == (refused, again[0])
    with RunFile.open(finished.path) as run:
        assert run.totals().passed == 8
        assert sorted(c.end.attempts for c in run.calls() if c.end)[-2:] == [1, 2]


async def test_an_account_that_fails_while_the_intent_is_written_is_not_asked(tmp_path):
    """The call's end is known: it was never sent."""
    model = Scripted()
    bench = Bench(example(1, asking(model)), tmp_path)
    account = bench.limits.account("scripted")
    begin = bench.journal.begin

    async def begin_and_fail(start):
        call = await begin(start)
        account.fail(AuthError("wrong key"))
        return call

    bench.journal.begin = begin_and_fail
    ending = await bench.runner.run()
    assert ending.status == "stopped"
    assert model.asked == []
    assert account.in_flight == 0
    with await bench.close() as run:
        (call,) = run.calls()
        assert call.end is not None
        assert call.end.error == "auth"


async def test_a_result_that_cannot_be_stored_halts_the_run(tmp_path):
    """Those under way finish; nothing new is begun; the message is the store's."""
    bench = Bench(example(50, asking(Scripted(paid=False))), tmp_path, concurrency=2)

    async def settle(result):
        raise StoreError("the disk is full")

    bench.journal.settle = settle
    ending = await bench.runner.run()
    assert (ending.status, ending.message) == ("stopped", "the disk is full")
    assert bench.runner._counts == {"pass": 0, "fail": 0, "error": 0, "not_applicable": 0}
    (await bench.close()).close()


async def test_a_reply_that_cannot_be_stored_is_seen_by_nobody(tmp_path):
    """It was paid for: that is booked, and the run stops."""
    model = Scripted(cost_usd=0.25)
    bench = Bench(example(5, asking(model)), tmp_path, concurrency=1)

    async def end(call, end):
        raise StoreError("the disk is full")

    bench.journal.end = end
    ending = await bench.runner.run()
    assert ending.status == "stopped"
    assert len(model.asked) == 1
    assert bench.budget.spent_usd == 0.25
    with await bench.close() as run:
        assert run.totals().trials == 0


async def test_the_first_reason_to_stop_is_the_one_that_is_told(tmp_path):
    """What goes wrong afterwards follows from it."""
    bench = Bench(example(1, asking(Scripted())), tmp_path)
    bench.runner._halt(BudgetStop("spent"))
    bench.runner._halt(AuthError("wrong key"))
    assert (bench.runner._ending.status, bench.runner._ending.message) == (
        "out_of_budget",
        "spent",
    )
    (await bench.close()).close()


async def test_a_recorded_reply_that_can_no_longer_be_read_is_an_error(tmp_path):
    """The code that reads it has changed; it is not asked for again behind the user's back."""
    model = Scripted()
    broken = True

    async def body(trial):
        reply = await trial.model(model, "subject").generate("q")
        if broken:
            raise ValueError("later")
        return reply.text

    first = await door.settle(example(1, body), door.Settings(home=tmp_path, cache=False))
    broken = False

    class Stricter(Scripted):
        def reply(self, body):
            raise BadReply("not what was promised")

    model = Stricter()
    again = await door.settle(example(1, body), door.Settings(cache=False), resume=first.path)
    with RunFile.open(again.path) as run:
        (trial,) = run.trials()
    assert trial.error is not None
    assert trial.error.slug == "bad-reply"
    assert model.asked == []


async def test_a_run_outside_the_main_thread_has_no_signal_handlers(tmp_path):
    """It runs all the same."""
    endings = []

    def elsewhere():
        endings.append(door.run(example(2, asking(Scripted())), door.Settings(home=tmp_path)))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert endings[0].ending.status == "finished"


async def test_a_cache_that_lost_the_answer_is_made_up_for_by_the_journal(tmp_path):
    """On resume the answer to another trial's identical request is found in the run file."""
    model = Scripted()
    broken = True

    async def body(trial):
        if broken and trial.case.vars["n"]:
            raise CodeError("not yet")
        return (await trial.model(model, "subject").generate("the same")).text

    first = await door.settle(example(3, body), door.Settings(home=tmp_path))
    for file in (tmp_path / "cache").iterdir():
        file.unlink()
    broken = False
    again = await door.settle(example(3, body), resume=first.path)
    assert again.ending.status == "finished"
    assert len(model.asked) == 1
    with RunFile.open(again.path) as run:
        assert [t.cached for t in run.trials()] == [0, 1, 1]
        origins = [call.end.origin for call in run.calls() if call.end]
        assert origins == ["provider", "cache", "cache"]


async def test_the_dead_sessions_last_words_are_handed_on(tmp_path):
    """What user code was running when the process died, for whoever resumes."""
    first = await door.settle(
        example(2, asking(Scripted([BadRequest("no")]))), door.Settings(home=tmp_path)
    )
    note = door._crumbs(first.path)
    note.write_bytes(b"grader.py:get_assert  case-1".ljust(512, b"\0"))
    told = list[Sequence[str]]()
    await door.settle(
        example(2, asking(Scripted())),
        resume=first.path,
        resumed=lambda _, words: told.append(words),
    )
    assert told == [("grader.py:get_assert  case-1",)]
    assert not note.exists()


async def test_a_session_that_ends_in_order_meanwhile_leaves_no_last_words(tmp_path, monkeypatch):
    """What it was running when somebody else wanted to go on with the run is not what it died of."""
    first = await door.settle(
        example(2, asking(Scripted([BadRequest("no")]))), door.Settings(home=tmp_path)
    )
    note = door._crumbs(first.path)
    note.write_bytes(b"7:7\t0\t0\tgrader.py:get_assert  case-0".ljust(512, b"\0"))

    def lock_after_the_other(path, what):
        note.unlink(missing_ok=True)
        return Lock(path, what)

    monkeypatch.setattr(journal, "Lock", lock_after_the_other)
    told = list[Sequence[str]]()
    await door.settle(
        example(2, asking(Scripted())),
        resume=first.path,
        resumed=lambda _, words: told.append(words),
    )
    assert told == [()]
    assert not note.with_suffix(".deaths").exists()


def test_without_uvloop_there_is_asyncios_own_loop(monkeypatch):
    """It is not to be had everywhere."""
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = tasks.new_loop()
    try:
        assert isinstance(loop, asyncio.BaseEventLoop)
    finally:
        loop.close()


async def test_a_run_beside_a_config_is_kept_beside_it(tmp_path, monkeypatch):
    """Where nobody says another place; a plan without a source is kept in the folder one is in."""
    (tmp_path / "here").mkdir()
    (tmp_path / "evals").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    config = tmp_path / "evals" / "promptfooconfig.yaml"
    config.write_text("")
    beside = await door.settle(example(1, asking(Scripted(paid=False)), source=str(config)))
    here = await door.settle(example(1, asking(Scripted(paid=False))))
    assert beside.path.parent == tmp_path / "evals" / ".evenhand" / "runs"
    assert here.path.parent == tmp_path / "here" / ".evenhand" / "runs"


async def test_two_sessions_cannot_write_one_run(tmp_path, until):
    """The second is told who holds it, and changes nothing."""
    model = Scripted(latency_s=60)
    bench = Bench(example(1, asking(model)), tmp_path)
    run = asyncio.create_task(bench.runner.run())
    await until(lambda: model.in_flight == 1)
    with pytest.raises(StoreError, match="in use by process"):
        await door.settle(example(1, asking(model)), resume=bench.journal.path)
    bench.runner._stop()
    await run
    (await bench.close()).close()


async def test_the_delay_between_calls_ends_with_the_run(tmp_path, until):
    """A permit that is held through a long delay comes back when the run is stopped."""
    bench = Bench(example(1, asking(Scripted())), tmp_path)
    bench.desk._delay_s = 60
    account = bench.limits.account("scripted")
    run = asyncio.create_task(bench.runner.run())
    await until(lambda: account.in_flight == 1)
    bench.runner._stop()
    await asyncio.wait_for(run, 20)
    assert account.in_flight == 0
    (await bench.close()).close()


async def test_a_run_whose_waiter_is_cancelled_leaves_nothing_behind_and_says_so(tmp_path, until):
    """No progress is shown any more, nothing is imported, asked or waited for; its file says what happened."""
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(0.5)\ndef answer(): return 1\n")
    model = Scripted(latency_s=60)

    async def body(trial):
        if trial.case.vars["n"]:
            await trial.load(slow, "answer")
        return (await trial.model(model, "subject").generate("x")).text

    shown = []
    before = asyncio.all_tasks()
    run = asyncio.create_task(
        door.settle(example(2, body), door.Settings(home=tmp_path), progress=shown.append)
    )
    await until(lambda: model.in_flight == 1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    with RunFile.open(next((tmp_path / "runs").iterdir())) as file:
        assert file.meta.status == "interrupted"
        assert "by its caller" in file.meta.message
        assert len(file.in_doubt()) == 1


def test_an_interrupt_in_a_notebook_stops_the_run_and_not_only_the_waiting(tmp_path):
    """There the run has a thread of its own, that would go on asking."""
    program = """
        import asyncio, os, signal, sys, threading
        from pathlib import Path
        from evenhand.engine import door
        from evenhand.testing import Scripted, example

        model = Scripted(latency_s=0.05)

        async def body(trial):
            if trial.case.vars["n"] == 4:
                os.kill(os.getpid(), signal.SIGINT)
            return (await trial.model(model, "subject").generate(trial.case.id)).text

        async def cell():
            door.run(example(2000, body), door.Settings(home=Path(sys.argv[1]), concurrency=2))

        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(cell())
        except KeyboardInterrupt:
            print("interrupted", len(model.asked) < 20, model.in_flight)
        print(sorted(thread.name for thread in threading.enumerate()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == ["interrupted True 0", "['MainThread']"], done.stderr
    with RunFile.open(next((tmp_path / "runs").iterdir())) as file:
        assert file.meta.status == "interrupted"


async def test_trials_that_wait_for_nothing_do_not_hold_up_an_interrupt(tmp_path):
    """Between two of them the loop turns, though no trial ever gives it a chance."""
    done = []

    async def body(trial):
        time.sleep(0.03)  # noqa: ASYNC251 (as a user's may)
        done.append(trial.case.id)
        return "x"

    bench = Bench(example(40, body), tmp_path)
    asyncio.get_running_loop().call_later(0.05, bench.runner._drain, signal.SIGINT, 1.0)
    ending = await bench.runner.run()
    assert ending.status == "interrupted"
    assert len(done) < 20
    (await bench.close()).close()


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_second_interrupt_breaks_into_code_that_keeps_the_loop_from_turning(tmp_path, loop):
    """Of an async function that blocks, nobody would hear the first; nothing new is begun after the second."""
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    program = """
        import asyncio, os, signal, sys, threading, time
        from pathlib import Path
        from evenhand.engine import door
        from evenhand.testing import example

        if sys.argv[2] == "asyncio":
            sys.modules["uvloop"] = None
        begun = []

        async def blocks():
            begun.append(1)
            time.sleep(60)

        async def body(trial):
            await trial.call(blocks, name="blocks")

        def interrupts():
            while not begun:
                time.sleep(0.01)
            for _ in range(2):
                time.sleep(0.6)
                os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupts, daemon=True).start()
        settings = door.Settings(home=Path(sys.argv[1]), concurrency=2)
        done = door.run(example(5, body), settings, note=lambda _: None)
        print(done.ending.status, int(done.ending.signal), len(begun))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path), loop],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout == "interrupted 2 1\n", done.stderr
