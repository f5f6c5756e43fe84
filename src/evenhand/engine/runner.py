"""Walks a plan and settles its trials, a number of them at a time.

How this works: `concurrency` workers take trials from the plan in its order, each settling one trial at a time, so what
is started is finished before anything new begins, and no more than that many trials are ever in memory. Results are
stored under their place in the plan, so their order is the plan's, whatever finishes first. Trials that come after
others wait for these (see `order`), and read what they kept; trials that say `alone` are settled before all others, one
by one. Trials that are compared with each other are stored together (see `contest`).

In the batch lane, trials that need an answer which is not there yet are put off. The plan is walked again, for them
alone, once their batches have come back.

A run ends early in four ways. *Draining*: no new trial is taken, those under way finish (first SIGINT or SIGTERM).
*Stopping*: those under way are cancelled; replies already paid for are in the journal (second SIGINT, or the drain's
time is up). *Halting*: a spent budget or a full disk drains, and says why. *Deciding*: enough is known (see
`Decider`), and it drains. Trials whose model can't be had are left, and all others go on (see `LeftTrials`).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
import threading
import time
from asyncio import sleep
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from evenhand.core.errors import BudgetStop, CodeError, EvenhandError, ProviderError, StoreError
from evenhand.core.plan import PlannedTrial
from evenhand.core.run import ProgressSnapshot, TrialResult
from evenhand.engine.agenda import Agenda, InOrder, KeptValues, LeftTrials, Tell
from evenhand.engine.backing import SettleElsewhere, TrialSource
from evenhand.engine.call_context import Home
from evenhand.engine.capture import Sink, current
from evenhand.engine.contest import Contests
from evenhand.engine.session import Ending, Session, settled_again
from evenhand.engine.signals import heard
from evenhand.engine.strays import tell_of_the_unawaited, threads_over
from evenhand.engine.suspending import Suspended
from evenhand.engine.tasks import OwnTask, leave_behind, part
from evenhand.engine.time_limit import GRACE_S, clock, limit_of_trial
from evenhand.engine.trial import LiveTrial, present
from evenhand.store.earlier import Settled

DRAIN_S = 60.0
TERM_DRAIN_S = 20.0
TURN_S = 0.02
UNHEARD_S = 0.3
after_the_run: list[str] = []
"""What came to light about trials when their run had ended, and its file was closed: whoever ended it has to tell."""
ShowProgress = Callable[[ProgressSnapshot], None]
Note = Callable[[str], None]


class Runner:
    """Settles the trials of one plan.

    Args:
        session: What is run, and with what.
        progress: Told ten times a second how far it is.
        tell: Told each result as soon as it is settled, in the plan's order.
        aside: Trials that are not run, and why.
        source: Hands out the trials; None for all of the plan that are not settled, in its order.
    """

    def __init__(
        self,
        session: Session,
        *,
        progress: ShowProgress | None = None,
        tell: Tell | None = None,
        aside: Mapping[int, CodeError] | None = None,
        source: TrialSource | None = None,
    ) -> None:
        self._plan = plan = session.plan
        self._journal = journal = session.journal
        self._desk = session.desk
        self._limits = session.limits
        self._budget = session.budget
        self._host = session.host
        self._concurrency = session.concurrency
        self._note = session.note
        self._decider = session.decider
        self._lane = lane = session.lane
        self._part = session.part
        self._elsewhere = session.elsewhere
        self._over = asyncio.Event()
        self._waves = None
        if lane is not None:
            from evenhand.engine.batches.submitted_batches import Waves  # noqa: PLC0415 (for runs in batches only)

            self._waves = Waves(lane, self._over, self._show_waiting)
        self._waits_for = ""
        self._done = Settled(plan.size)
        self._put_off: set[int] = set()
        self._left = LeftTrials(plan.size)
        self._source = source
        self._contests: Contests | None = None
        self._progress = progress
        self._order = InOrder(tell) if tell else None
        self._aside = aside or {}
        self._draining = False
        self._ending = Ending()
        self._seats: dict[asyncio.Task[None], asyncio.Future[None]] = {}
        self._stopping = False
        self._late: list[tuple[LiveTrial, CodeError]] = []
        self._agenda: TrialSource | None = None
        self._home: Home | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._counts = {"pass": 0, "fail": 0, "error": 0, "not_applicable": 0}
        self._under_way = 0
        self._planned = plan.size
        self._kept = KeptValues(journal)
        self._again: set[int] = set()
        self._done_again = self._asked_anew = 0
        self._unheard_since: float | None = None
        self._started_at, self._turned_at = clock(), time.monotonic()

    async def run(self) -> Ending:
        """Settles everything that is not settled yet.

        Raises:
            EvenhandError: The plan itself could not be walked to its end (a tests file that changed, say).
        """
        self._planned = (self._part or self._plan).size - len(self._journal.settled())
        ticker = asyncio.create_task(self._tick()) if self._progress else None
        count = max(1, min(self._concurrency, self._plan.size))
        known = threading.enumerate()
        self._home = Home(asyncio.get_running_loop(), self._desk.strangers())
        try:
            with self._signals():
                if self._waves is not None:
                    await self._waves.take_up_again()
                await self._pass(count)
                while await self._goes_on():
                    await self._pass(count)
                if self._waves is not None:
                    await self._waves.look_for_late()
                tell_of_the_unawaited()
                await threads_over(known)
                if self._home.workers is not None:
                    self._home.workers.over()
                await self._correct()
        finally:  # whoever waits for the run may be cancelled, too
            if self._deadline is not None:
                self._deadline.cancel()
            if ticker is not None:
                ticker.cancel()
                self._show()
            await self._home.close()
            if self._order is not None:
                self._order.finish()
        if self._ending.status == "decided" and self._decider is not None:
            whole = sum(self._counts.values()) >= self._planned
            # What was under way when it was decided is counted, too.
            self._ending = (
                Ending() if whole else replace(self._ending, message=self._decider.decided)
            )
        if self._left and self._ending.status == "finished":
            self._ending = Ending("stopped", self._left.reasons)
        if self._done_again:
            self._note(settled_again(self._done_again, self._asked_anew))
        return self._ending

    async def _pass(self, count: int) -> None:
        """Walks the plan once."""
        self._put_off.clear()
        self._left.begin()
        self._contests = None
        if self._source is not None:
            await self._walk(self._source, count)
        elif self._plan.options.some_alone:
            await self._walk(Agenda(self._to_settle(alone=True)), 1)
            await self._walk(Agenda(self._to_settle(alone=False)), count)
        else:
            await self._walk(Agenda(self._to_settle()), count)

    @property
    def _waits(self) -> bool:
        """Whether there are answers to wait for."""
        out = self._lane is not None and self._lane.open
        return bool(self._put_off or out) and not self._draining

    async def _goes_on(self) -> bool:
        """Whether the plan is to be walked again, for trials that were put off or left."""
        if self._waits:
            return await self._wave()
        if not self._left or self._draining or not self._limits.insist():
            return False
        self._desk.counts.calls -= self._left.calls
        self._desk.turned()
        return True

    async def _wave(self) -> bool:
        """Waits for what the trials that were put off need. Whether they can run again."""
        if self._waves is None:
            return False
        began = time.monotonic()
        try:
            end = await self._waves.wave()
            await self._journal.turn()
        except EvenhandError as error:
            self._halt(error)
            return False
        finally:
            self._started_at += time.monotonic() - began  # a run's time limit is for its trials
            self._waits_for = ""
        self._desk.turned()
        if end == "detached" and self._ending.status == "finished":
            self._ending = Ending("waiting", self._waves.out())
        return end == "again"

    def _show_waiting(self, what: str) -> None:
        self._waits_for = what

    def _to_settle(self, *, alone: bool | None = None) -> Iterator[PlannedTrial]:
        """What is to be settled, in the plan's order: all that has no verdict, and what came after such.

        Args:
            alone: Only the trials that say so, or that do not.
        """
        settled = self._journal.settled()
        again = self._again
        compared: list[PlannedTrial] = []
        entrants = 0
        planned_trials, decider, part = self._plan.trials(), self._decider, self._part
        for planned in decider.arranged(planned_trials) if decider is not None else planned_trials:
            if part is not None and planned.index not in part:
                continue
            contest = planned.contest
            done = planned.index in self._done
            is_open = not done and planned.index not in settled
            if decider is not None and not is_open and not done and alone is not False:
                self._take_in(self._journal.result(planned.index))
            if planned.after:
                if not is_open and not done and self._rests_on_others(planned):
                    is_open = True
                    if planned.index not in again:
                        again.add(planned.index)
                        self._planned += 1
                        self._journal.again(planned.index)
                if is_open:
                    self._journal.follow(planned.index, planned.after)
            if contest is None:
                if is_open and (alone is None or planned.alone is alone):
                    yield planned
                continue
            entrants += 1
            if is_open and (alone is None or planned.alone is alone):
                compared.append(planned)
            if entrants == contest.size:
                if compared:
                    if self._contests is None:
                        self._contests = Contests(self._journal)
                    self._contests.open(contest, compared)
                    yield from compared
                compared, entrants = [], 0

    def _rests_on_others(self, planned: PlannedTrial) -> bool:
        """Whether one of those that it comes after has, or will have, another result than when it was settled."""
        settled = self._journal.settled()
        return any(
            i in self._again or i not in settled for i in planned.after
        ) or self._journal.stale(planned.index, planned.after)

    async def _walk(self, agenda: TrialSource, count: int) -> None:
        self._agenda = agenda
        if self._draining:
            agenda.end()
        loop = asyncio.get_running_loop()
        seats: list[asyncio.Future[None]] = [loop.create_future() for _ in range(count)]
        for seat in seats:
            self._sit(seat, self._work(agenda))
        try:
            await asyncio.wait(seats)
        except asyncio.CancelledError:
            self._stop()
            await asyncio.wait(seats)
            raise
        for seat in seats:
            if not seat.cancelled():
                seat.result()

    def _sit(self, seat: asyncio.Future[None], work: Coroutine[Any, Any, None]) -> None:
        """Has a worker do this. Its seat is taken by another one where it is stuck in code that does not end."""
        worker = asyncio.create_task(work)
        self._seats[worker] = seat
        worker.add_done_callback(self._rise)

    def _rise(self, worker: asyncio.Task[None]) -> None:
        seat = self._seats.pop(worker, None)
        error = None if worker.cancelled() else worker.exception()
        if seat is None or seat.done():
            return
        if isinstance(error, Exception):
            seat.set_exception(error)
        else:
            seat.set_result(None)

    async def _work(self, agenda: TrialSource) -> None:
        worker = cast("asyncio.Task[None]", asyncio.current_task())
        while not self._draining:
            planned = await agenda.next()
            if planned is None or self._draining:
                return
            self._under_way += 1
            if self._order is not None:
                self._order.begin(planned.index)
            await self._one(planned, agenda, worker)
            if worker not in self._seats:  # it was stuck, and another took its seat
                return
            if time.monotonic() - self._turned_at > TURN_S:
                # Trials that wait for nothing would keep signals, progress and everybody else waiting.
                await sleep(0)
                self._turned_at = time.monotonic()

    async def _one(
        self, planned: PlannedTrial, agenda: TrialSource, worker: asyncio.Task[None]
    ) -> None:
        """Settles a trial and stores what it came to."""
        try:
            settled = await self._settle(planned, agenda, worker)
            if worker in self._seats:
                await self._store(planned, settled)
        except StoreError as error:
            self._halt(error)
        finally:
            if worker in self._seats:
                self._under_way -= 1
                agenda.done(planned)

    async def _store(self, planned: PlannedTrial, settled: Sequence[TrialResult]) -> None:
        for result in settled:
            stored = await self._journal.settle(result)
            self._left.came_through(stored.variant)
            self._counts[stored.outcome] += 1
            self._done.add(stored.index)
            if stored.index in self._again:
                self._done_again += 1
                self._asked_anew += stored.calls - stored.cached
            self._take_in(stored)
            if self._order is not None:
                self._order.end(stored.index, stored)
        if not settled and planned.contest is None and self._order is not None:
            self._order.end(planned.index, None)

    def _take_in(self, result: TrialResult | None) -> None:
        if self._decider is None or result is None:
            return
        self._decider.add(result)
        if self._decider.decided and self._ending.status == "finished":
            self._ending = Ending("decided", self._decider.decided)
            self._begin_nothing_more()

    async def _instead(self, trial: LiveTrial, agenda: TrialSource, error: CodeError) -> None:
        """Takes over from a worker that is stuck: stores the trial as an error, and goes on."""
        planned, result = trial.planned, trial.given_up(error)
        try:
            compared = planned.contest is not None
            results = await self._results_with(trial, result) if compared else (result,)
            await self._store(planned, results)
        except (BudgetStop, ProviderError, StoreError) as stop:
            self._unsettled(trial, stop)
        finally:
            self._under_way -= 1
            agenda.done(planned)
        await self._work(agenda)

    def _note_late(self, trial: LiveTrial, problem: CodeError) -> None:
        if self._home is not None and self._home.over:
            after_the_run.append(f"{trial.planned.case}: {problem.message}. {problem.hint}")
        else:
            self._late.append((trial, problem))

    async def _correct(self) -> None:
        """Stores again, as errors, trials of which something came to light after they had been settled."""
        late: dict[int, tuple[LiveTrial, list[CodeError]]] = {}
        for trial, problem in self._late:
            late.setdefault(trial.planned.index, (trial, []))[1].append(problem)
        for trial, problems in late.values():
            if (result := trial.corrected(problems)) is None:
                continue
            self._journal.again(result.index)
            try:
                await self._journal.settle(result)
            except StoreError as error:
                self._halt(error)
            self._note(f"{trial.planned.case}: {problems[0].message}. {problems[0].hint}")

    async def _settle(
        self, planned: PlannedTrial, agenda: TrialSource, worker: asyncio.Task[None]
    ) -> Sequence[TrialResult]:
        """The results to store; none where others have to be waited for, or the run has to end before there is one."""
        if self._put_off and not self._put_off.isdisjoint(planned.after):
            self._put_off.add(planned.index)
            return ()
        if self._left.skips(planned):
            return self._leave(planned)
        trial = LiveTrial(planned, self._desk, self._host, self._kept_by)
        trial.log = Sink(str(planned.case))
        trial.home, trial.task = self._home, worker
        trial.late = self._note_late
        self._limit(trial)
        trial.abandon = functools.partial(self._abandon, worker, trial, agenda)
        if isinstance(worker, OwnTask):
            worker.trial = trial
        current.set(trial.log)
        present.set(trial)
        try:
            try:
                if planned.index in self._aside:
                    result = trial.given_up(self._aside[planned.index])
                else:
                    settled = (
                        trial.settle()
                        if self._elsewhere is None
                        else self._away(trial, self._elsewhere)
                    )
                    result = await settled
            except asyncio.CancelledError:
                if self._stopping or worker not in self._seats:
                    raise
                while worker.uncancel():
                    pass
                result = trial.given_up(CodeError("its code cancelled the task that it runs in"))
            if trial.suspended:  # whatever its code made of that
                return self._suspend(trial)
            if result.kept is not None:
                self._kept.note(planned.index, result.kept)
            if planned.contest is None:
                return (result,)
            return await self._results_with(trial, result)
        except Suspended:  # the trial itself, or what compares it with others
            return self._suspend(trial)
        except (BudgetStop, ProviderError, StoreError) as error:
            self._unsettled(trial, error)
        finally:
            present.set(None)  # what it leaves behind goes now, and is not the next one's
            part(trial, worker)
        return ()

    async def _away(self, trial: LiveTrial, elsewhere: SettleElsewhere) -> TrialResult:
        """What a trial comes to in another process."""
        result = await elsewhere(trial)
        trial.spending.resume(result)  # a contest may spend more in its name
        trial.over = True
        if trial.log is not None:
            trial.log.write(result.log)
        return result

    async def _results_with(self, trial: LiveTrial, result: TrialResult) -> Sequence[TrialResult]:
        """What is to be stored now of trials that are compared: all, once this result is the last of them."""
        return () if self._contests is None else await self._contests.entered(trial, result)

    def _suspend(self, trial: LiveTrial) -> Sequence[TrialResult]:
        """Puts a trial off until its answers are there."""
        self._put_off.add(trial.planned.index)
        self._desk.put_off(trial)
        return ()

    def _abandon(
        self, worker: asyncio.Task[None], trial: LiveTrial, agenda: TrialSource, error: CodeError
    ) -> None:
        """Settles a trial whose code does not end, and leaves its task behind."""
        seat = self._seats.pop(worker, None)
        if seat is None:
            return
        leave_behind(worker)
        self._sit(seat, self._instead(trial, agenda, error))

    def _kept_by(self, index: int) -> Any:
        return self._kept.of(index)

    def _limit(self, trial: LiveTrial) -> None:
        """Tells a trial how long it may take: as long as any, or as long as the run still may."""
        seconds = clock() - self._started_at
        trial.limit_s, trial.out_of_time = limit_of_trial(self._plan.options, seconds)

    # Ending early

    def _unsettled(self, trial: LiveTrial, error: EvenhandError) -> None:
        """A trial has no result: its model can't be had, or the run has to end."""
        if isinstance(error, ProviderError):
            self._left.calls += trial.asked_times()
            self._leave(trial.planned, error)
        else:
            self._halt(error)

    def _leave(self, planned: PlannedTrial, error: ProviderError | None = None) -> tuple[()]:
        """Goes on without a trial, and without what would compare it with others."""
        self._left.add(planned, error)
        if self._contests is not None and planned.contest is not None:
            for index in self._contests.give_up(planned.contest):
                if self._order is not None:
                    self._order.end(index, None)
        return ()

    def _halt(self, error: EvenhandError) -> None:
        if self._ending.status == "finished":
            status = "out_of_budget" if isinstance(error, BudgetStop) else "stopped"
            self._ending = Ending(status, str(error))
        self._begin_nothing_more()

    def _drain(self, number: int, limit_s: float) -> None:
        self._unheard_since = None
        if self._draining:
            self._note("stopping now")
            self._ending.signal = number
            self._stop()
            return
        self._interrupted(number)
        if self._waits_for:
            self._note(
                "stopping; submitted batches stay submitted, and `evenhand resume` collects them"
            )
            return
        n, again = self._under_way, "; Ctrl-C again to stop now" * (number == signal.SIGINT)
        self._note(f"finishing {n} trial{'s'[: n != 1]} under way (at most {limit_s:.0f} s){again}")
        self._deadline = asyncio.get_running_loop().call_later(limit_s, self._stop)

    def _begin_nothing_more(self) -> None:
        self._draining = True
        self._over.set()
        if self._agenda is not None:
            self._agenda.end()  # workers may be waiting for trials that come after others

    def _interrupted(self, number: int) -> None:
        self._begin_nothing_more()
        if self._ending.status == "finished":
            name = signal.Signals(number).name
            self._ending = Ending("interrupted", f"interrupted by {name}", number)

    def _insist(self, number: int, frame: object) -> None:
        """Called at once, also while user code keeps the loop from turning: a second signal breaks into that."""
        del frame
        now = time.monotonic()
        if self._unheard_since is None:
            self._unheard_since = now
        elif now - self._unheard_since >= UNHEARD_S:
            self._unheard_since = None
            self._interrupted(number)
            raise KeyboardInterrupt

    def _stop(self) -> None:
        current = asyncio.current_task()
        self._stopping = True
        for worker in list(self._seats):
            if worker is not current:
                worker.cancel()
        asyncio.get_running_loop().call_later(GRACE_S, self._leave_stuck, current)

    def _leave_stuck(self, current: asyncio.Task[Any] | None) -> None:
        """The run ends; workers whose code swallows that they are cancelled are left behind."""
        for worker, seat in list(self._seats.items()):
            if worker is not current:
                del self._seats[worker]
                leave_behind(worker)
                if not seat.done():
                    seat.set_result(None)

    def _signals(self) -> contextlib.AbstractContextManager[None]:
        limits_s = {signal.SIGINT: DRAIN_S, signal.SIGTERM: TERM_DRAIN_S}
        limits_s[signal.SIGHUP] = TERM_DRAIN_S  # the terminal was closed
        return heard(limits_s, self._drain, self._insist)

    # Being seen

    async def _tick(self) -> None:
        while True:
            self._show()
            await sleep(0.1)

    def _show(self) -> None:
        if self._progress is None:
            return
        counts = self._counts
        self._progress(
            ProgressSnapshot(
                settled=sum(counts.values()),
                planned=self._planned,
                passed=counts["pass"],
                failed=counts["fail"],
                errors=counts["error"],
                under_way=self._under_way,
                calls=self._desk.counts.calls,
                cached=self._desk.counts.cached,
                cost_usd=self._budget.spent_usd,
                waiting=self._waits_for or self._limits.waiting(),
                seconds=clock() - self._started_at,
            )
        )
