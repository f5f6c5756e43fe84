"""Tasks and threads that outlive the trial that started them: whose the calls are that they made, or that nobody knows.

Each application here is one that its users write: a worker that is made when it is first needed.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from pathlib import Path

import httpx
import pytest

from evenhand import Case, EvalSet, Expect, run
from evenhand.core.errors import CodeError
from evenhand.core.variant import Variant
from evenhand.engine.shared_workers import Askers, SharedWorkers
from evenhand.render.run import Run
from evenhand.scorers import Contains
from evenhand.testing import FakeProvider, Rule, Script

ROWS = [{"id": f"order {n}", "input": f"Where is order {n}?"} for n in range(4)]
Job = tuple[str, "queue.Queue[str]"]


def body_of(question: str) -> dict[str, object]:
    """What asks a model."""
    return {"model": "gpt-5-mini", "messages": [{"role": "user", "content": question}]}


class Threads:
    """A thread that asks for whoever has put a question into its queue."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/v1/chat/completions"
        self._jobs: queue.Queue[Job] = queue.Queue()
        self.served = threading.Event()
        self._started = False
        self._lock = threading.Lock()

    def ask(self, question: str) -> tuple[str, bool]:
        """The answer, and whether the thread was started for this question."""
        with self._lock:
            first, self._started = not self._started, True
        if first:
            threading.Thread(target=self._work, daemon=True).start()
        answer: queue.Queue[str] = queue.Queue()
        self._jobs.put((question, answer))
        return answer.get(timeout=30), first

    def _work(self) -> None:
        with httpx.Client() as client:
            for _ in ROWS:
                question, answer = self._jobs.get()
                answer.put(client.post(self._url, json=body_of(question), timeout=30).text)
            self.served.set()
            self._jobs.get()  # it is there for more


def tried(evals: EvalSet, home: Path) -> Run:
    """The run of these evals, each trial beside all others."""
    return run(evals, progress=False, cache=False, home=home, concurrency=8)


def rules() -> Script:
    """What the model answers."""
    return Script([Rule((rf"order {n}\b",), f"Order {n} came.") for n in range(len(ROWS))])


def test_a_thread_that_one_trial_starts_and_others_use_leaves_no_verdict(tmp_path: Path) -> None:
    """Though it asks nothing once that trial is over: all calls would be that trial's, and none the others'."""
    evals = EvalSet("shop", data=ROWS)
    with FakeProvider(rules()) as fake:
        threads = Threads(fake.url)

        @evals.eval
        def asks(case: Case, expect: Expect) -> None:
            text, first = threads.ask(case.input)
            if first:
                threads.served.wait(30)
                others.wait(30)
            expect(text, Contains(case.id[-1]))
            if not first:
                done.append(case.id)
                if len(done) == len(ROWS) - 1:
                    others.set()

        done: list[str] = []
        others = threading.Event()
        result = tried(evals, tmp_path)
    errors = [trial for trial in result.trials() if trial.outcome == "error"]
    assert len(errors) == 1
    assert "a task or thread that it started asks models" in errors[0].reason
    assert sum(trial.calls for trial in result.trials()) == len(ROWS)


@pytest.mark.parametrize("first_ends_last", [True, False])
def test_a_task_that_one_trial_starts_and_others_use_leaves_no_verdict(
    tmp_path: Path, first_ends_last: bool
) -> None:
    """Whichever of the trials ends last."""
    evals = EvalSet("shop", data=ROWS)
    with FakeProvider(rules()) as fake:
        workers: list[asyncio.Task[None]] = []
        ended: list[str] = []

        async def work(jobs: asyncio.Queue[tuple[str, asyncio.Future[str]]]) -> None:
            async with httpx.AsyncClient() as client:
                while True:
                    question, answer = await jobs.get()
                    url = f"{fake.url}/v1/chat/completions"
                    answer.set_result((await client.post(url, json=body_of(question))).text)

        @evals.eval
        async def asks(case: Case, expect: Expect) -> None:
            first = not workers
            if first:
                jobs.append(asyncio.Queue())
                workers.append(asyncio.create_task(work(jobs[0])))
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            jobs[0].put_nowait((case.input, answer))
            text = await answer
            while first is first_ends_last and len(ended) < (len(ROWS) - 1 if first else 1):
                await asyncio.sleep(0.01)
            expect(text, Contains(case.id[-1]))
            ended.append(case.id)

        jobs: list[asyncio.Queue[tuple[str, asyncio.Future[str]]]] = []
        result = tried(evals, tmp_path)
    (error,) = [trial for trial in result.trials() if trial.outcome == "error"]
    assert "a task or thread that it started" in error.reason
    assert sum(trial.calls for trial in result.trials()) == len(ROWS)


def test_a_task_of_ones_own_may_be_left(tmp_path: Path) -> None:
    """It works for its trial alone, as all others ask too; and an eval that asks nothing has no part in it."""
    evals = EvalSet("shop", data=ROWS)
    with FakeProvider(rules()) as fake:

        async def work(question: str, answer: asyncio.Future[str]) -> None:
            async with httpx.AsyncClient() as client:
                url = f"{fake.url}/v1/chat/completions"
                answer.set_result((await client.post(url, json=body_of(question))).text)
            await asyncio.Event().wait()

        left: list[asyncio.Task[None]] = []

        @evals.eval
        async def asks(case: Case, expect: Expect) -> None:
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            left.append(asyncio.create_task(work(case.input, answer)))
            expect(await answer, Contains(case.id[-1]))

        @evals.eval
        async def quiet(case: Case, expect: Expect) -> None:
            await asyncio.sleep(0.05)
            expect(case.id, Contains("order"))

        result = tried(evals, tmp_path)
    assert result.passed, [trial.reason for trial in result.trials()]
    assert [trial.calls for trial in result.trials()] in ([1, 0] * 4, [1] * 4 + [0] * 4)


@pytest.mark.parametrize("concurrency", [2, 8])
@pytest.mark.parametrize("refused", [0, len(ROWS) - 1])
def test_tasks_of_trials_own_may_be_left_where_one_trial_asks_nothing(
    tmp_path: Path, concurrency: int, refused: int
) -> None:
    """As a guardrail answers it: with a task for each trial that asks, none can be the work of another's."""
    evals = EvalSet("shop", data=ROWS)
    with FakeProvider(rules()) as fake:

        async def work(question: str, answer: asyncio.Future[str]) -> None:
            async with httpx.AsyncClient() as client:
                url = f"{fake.url}/v1/chat/completions"
                answer.set_result((await client.post(url, json=body_of(question))).text)
            await asyncio.Event().wait()

        left: list[asyncio.Task[None]] = []

        @evals.eval
        async def asks(case: Case, expect: Expect) -> None:
            if case.id == ROWS[refused]["id"]:
                while not left:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
                expect(case.id, Contains("order"))
                return
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            left.append(asyncio.create_task(work(case.input, answer)))
            expect(await answer, Contains(case.id[-1]))

        result = run(evals, progress=False, cache=False, home=tmp_path, concurrency=concurrency)
    assert result.passed, [trial.reason for trial in result.trials()]


class Trial:
    """A trial whose function returns when a test says so."""

    def __init__(self, name: str, *, fresh: bool = False) -> None:
        self.case = Case(name, {})
        self.variant = Variant(0, "", "")
        self.fresh = fresh
        self.problems: list[CodeError] = []

    def blame(self, problem: CodeError) -> None:
        """Keeps what it is blamed for."""
        self.problems.append(problem)


async def asked_once() -> tuple[Askers, asyncio.Task[bool]]:
    """What a trial's worker has asked, and the worker, which is there for more."""
    askers, task = Askers(), asyncio.create_task(asyncio.Event().wait())
    askers.add(task)
    return askers, task


async def test_what_a_worker_asked_before_a_trial_began_was_not_that_trials():
    """The trial that asked nothing lived while the worker waited."""
    workers, starter = SharedWorkers(), Trial("starter")
    askers, task = await asked_once()
    await asyncio.sleep(0.01)
    workers.returned(Trial("quiet", fresh=True), None, time.monotonic())
    workers.returned(starter, askers, time.monotonic() - 1)
    workers.over()
    assert starter.problems == []
    task.cancel()


@pytest.mark.parametrize("gone", [True, False])
async def test_two_trials_beside_each_other_that_left_workers_each_had_their_own(gone: bool):
    """Whether or not the first one's is still there when the second returns, and whichever began first."""
    workers, first, second = SharedWorkers(), Trial("first"), Trial("second")
    began_s = time.monotonic()
    (late, late_task), (early, early_task) = await asked_once(), await asked_once()
    workers.returned(first, late, began_s)
    if gone:
        late_task.cancel()
        await asyncio.wait([late_task])
    workers.returned(second, early, began_s - 1)
    workers.returned(Trial("quiet", fresh=True), None, began_s)
    workers.over()
    assert first.problems == second.problems == []
    early_task.cancel()
    late_task.cancel()


async def test_a_worker_in_place_of_one_that_is_gone_is_shared_like_that_one():
    """The trials that started them were not beside each other."""
    workers, first, second = SharedWorkers(), Trial("first"), Trial("second")
    for starter in (first, second):
        began_s = time.monotonic()
        askers, task = await asked_once()
        workers.returned(Trial("quiet", fresh=True), None, began_s)
        workers.returned(starter, askers, began_s)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0.01)
    workers.over()
    assert len(first.problems) == len(second.problems) == 1
