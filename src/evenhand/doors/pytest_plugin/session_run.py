"""One pytest session as a run: the tests are its trials, the calls to judges are journaled, cached and limited.

How this works: the run has an event loop in a thread of its own, so that plain tests and async tests, on whatever
loop, are settled alike, and a connection or a limit lives as long as the session. A test records in its own thread;
what it expects is settled over there, while the test's thread waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import os
import threading
import time
import traceback
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from evenhand.core.case import Case
from evenhand.core.encoding import digest
from evenhand.core.errors import (
    BadRequest,
    BudgetStop,
    CodeError,
    EvenhandError,
    ProviderError,
    StoreError,
    UsageError,
    first_line,
)
from evenhand.core.expect import Expectation, Trial, share_passed
from evenhand.core.message import CallRole, Prompt, Reply
from evenhand.core.plan import CassetteUse, PlannedTrial
from evenhand.core.provider import Answer, Host, Provider, Request, says
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import PYTEST, RunMeta, TrialResult
from evenhand.core.score import Outcome, State
from evenhand.core.users_code import OURS, is_users
from evenhand.core.variant import Variant
from evenhand.core.version import __version__
from evenhand.doors.eval_sets.expect import Stated
from evenhand.doors.eval_sets.project_files import session_code
from evenhand.doors.pytest_plugin.attempts import Attempts, once_more
from evenhand.doors.pytest_plugin.cassette import SessionCassette
from evenhand.engine.budget import Budget
from evenhand.engine.call_context import Home
from evenhand.engine.calls import CallDesk
from evenhand.engine.code import CodeHost
from evenhand.engine.door import CEILING, START
from evenhand.engine.outcome import (
    checked_outcome,
    error_outcome,
    raise_if_final,
    task_name,
    too_late,
    trial_error,
)
from evenhand.engine.rate_limits import Limits
from evenhand.engine.replay.answering import Replay, replay_record
from evenhand.engine.replay.cassettes import record_cassettes
from evenhand.engine.strays import holds, threads_over
from evenhand.engine.trial import Asker, LiveTrial
from evenhand.languages.documents.project import Project
from evenhand.providers.app_call import AppCall
from evenhand.providers.roster import Roster
from evenhand.providers.wrapped import Wrapped
from evenhand.store.cache import Cache
from evenhand.store.journal import Journal
from evenhand.store.recordings import Recordings
from evenhand.store.run_lookup import cache_folder, home_for, new_id, run_folder

T = TypeVar("T")

NAME_A_JUDGE = (
    "Write evenhand_judge = anthropic:claude-sonnet-4-5 in pytest's configuration, give --evenhand-judge, write a "
    "fixture `judge` of your own or judge='…' for the scorer, judge = '…' below [tool.evenhand] in pyproject.toml, or "
    "set EVENHAND_JUDGE."
)
_LIBRARY = contextlib.__file__  # `with expect.that(…)` comes through here


class TestTrial(LiveTrial):
    """One test while it happens. What it expects is recorded in the test's thread, with the line that says so."""

    __slots__ = ("loop", "loops", "places")
    __test__ = False  # pytest, this is none of yours

    def __init__(
        self, planned: PlannedTrial, asker: Asker, host: Host, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(planned, asker, host)
        self.loop = loop
        self.places: list[str] = []
        self.loops: set[asyncio.AbstractEventLoop] = set()

    @property
    def judge(self) -> Provider:
        """Who judges, for scorers that name nobody.

        Raises:
            UsageError: Nobody is named at all.
        """
        if self.planned.judge is None:
            raise UsageError("no judge is named", hint=NAME_A_JUDGE)
        return self.planned.judge

    def expect(self, expectation: Expectation) -> None:
        if self.over:
            self.blame(too_late(expectation))
            return
        self._record(expectation)

    async def now(self, expectation: Expectation) -> Outcome:
        if self.over:
            problem = too_late(expectation)
            self.blame(problem)
            raise problem
        place = self._record(expectation)
        work = asyncio.run_coroutine_threadsafe(self._settled_apart(expectation), self.loop)
        outcome = self._settled[place] = await asyncio.wrap_future(work)
        return outcome

    def left_running(self) -> None:
        """Notes tasks that the test left on its loop and that can still expect something: nobody will wait for them."""
        for loop in self.loops:
            if loop.is_closed():
                continue
            for task in asyncio.all_tasks(loop):
                if holds(task.get_coro(), self):
                    self.blame(
                        CodeError(
                            f"the task {task_name(task)} was still running when the test ended: "
                            "what it expects is not known",
                            hint="Await it before the test returns.",
                        )
                    )

    def raised(self, error: BaseException) -> int:
        """Notes what ended the test early: a failed assert fails its trial, anything else leaves it without a verdict.

        Returns:
            The place of this outcome among those of the result, which pytest shows by itself.
        """
        text, frames = first_line(error), traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if is_users(frame.filename)] or frames
        where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
        text = text.splitlines()[0] if text else type(error).__name__
        if isinstance(error, (AssertionError, pytest.fail.Exception)):
            reason = f"{where}: {text}" if where else text
            self._expectations.append(Expectation(False, Stated("the test's own asserts", reason)))
            return len(self._expectations) - 1
        self.blame(CodeError(f"the test raised {text}", hint=where))
        # Problems come after all expectations in the result, so this outcome is the last one.
        return -1

    def _record(self, expectation: Expectation) -> int:
        with contextlib.suppress(RuntimeError):  # a plain test
            self.loops.add(asyncio.get_running_loop())
        self.places.append(_caller())
        self._expectations.append(expectation)
        return len(self._expectations) - 1

    async def _settled_apart(self, expectation: Expectation) -> Outcome:
        try:
            score = expectation.scorer.score(expectation.value, self)
            return checked_outcome(
                expectation, await score if inspect.isawaitable(score) else score
            )
        except Exception as error:  # noqa: BLE001 (a scorer may raise anything; it is an outcome)
            raise_if_final(error)
            return error_outcome(expectation, error)

    async def first_text(self, _: Trial) -> object:
        """What the results show as this trial's output: the first text that anything was expected of."""
        return next((e.value for e in self._expectations if isinstance(e.value, str)), None)


RECORD = "If the change was meant, record the cassette again: pytest --evenhand-record."
WITHOUT_LIVE = "and pytest runs without --evenhand-live"
LIVE_HINT = "To ask the model, and store its answer for later sessions: pytest --evenhand-live"


class Unplugged(Wrapped):
    """A model over the network that is not asked: what it has said before is all there is."""

    @property
    def remote(self) -> bool:
        return False

    async def send(self, request: Request, host: Host) -> Answer:
        del request, host
        raise BadRequest(
            f"{self.provider.id} was not asked: no answer to this question is stored, "
            f"{WITHOUT_LIVE}",
            hint=LIVE_HINT,
        )


class SessionRun:
    """The run of one pytest session, or of one worker of it.

    Args:
        root: Pytest's root folder: runs and cache are kept in its `.evenhand`.
        planned: The tests, and how many trials each has.
        live: Whether models over the network may be asked.
        calibrated: `required` or `accepted`, as the project says of its judges; empty for neither.
        cassette: What answers the calls, or is recorded; while it is, models are asked. None for none.

    Raises:
        StoreError: The run cannot be kept.
    """

    def __init__(
        self,
        root: Path,
        planned: Mapping[str, int],
        *,
        live: bool,
        calibrated: str = "",
        cassette: SessionCassette | None = None,
    ) -> None:
        self._cassette = cassette
        recordings = cassette.recordings if cassette else None
        self._live = live or cassette is not None
        self.notes: list[str] = []
        self._variants = {name: Variant(i, name, "") for i, name in enumerate(planned)}
        self._count = itertools.count()
        self._least: dict[str, float] = {}
        self._settled: dict[int, tuple[int, str, State]] = {}
        self._asked: dict[int, Provider] = {}
        self._models = Roster(root, os.environ, project=Project())
        home = home_for(root)
        meta = RunMeta(
            id=new_id(home),
            title=PYTEST,
            source=str(root),
            fingerprint=digest(*planned),
            planned=sum(planned.values()),
            case_count=sum(planned.values()),
            repeats=1,
            variants=tuple(self._variants.values()),
            created_at=time.time(),
            version=__version__,
            code=session_code(root, planned),
            settings={
                **({"calibrated": calibrated} if calibrated else {}),
                **replay_record([] if recordings is None else [recordings.header], asks=False),
            },
        )
        self._journal = Journal.create(run_folder(home), meta)
        self.path = self._journal.path
        self._cache = Cache.open(cache_folder(home))
        self._host = CodeHost()
        self._desk = CallDesk(
            journal=self._journal,
            cache=self._cache,
            limits=Limits(CEILING, START),
            budget=Budget(),
            host=self._host,
            replays={} if recordings is None else self._replays(recordings),
        )
        self.tools = self._desk.tools
        self._loop = asyncio.new_event_loop()
        # Threads that were there before the tests are not waited for at the end.
        self._known = threading.enumerate()
        self._late: list[tuple[LiveTrial, CodeError]] = []
        # Tests without `expect` are no trials: what they ask is their own business.
        barred = "" if self._live else "the session does not ask live"
        self._home = Home(self._loop, self._desk.strangers(barred, always=False))
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="evenhand-pytest", daemon=True
        )
        self._thread.start()

    def _replays(self, recordings: Recordings) -> dict[int, Replay]:
        """The recordings for all tests. Which of them there are is known only once they have run."""
        variants = tuple(self._variants.values())
        replay = Replay(recordings, variants, lambda: recordings.which, hint=RECORD)
        return dict.fromkeys((one.index for one in variants), replay)

    def attempts(
        self, test: str, function: str, repeat: int, description: str, at_least: float
    ) -> Attempts:
        """A repeat of a test that begins, before any attempt at it.

        Args:
            test: Its id; the case is known by it.
            function: It without its parameters.
            repeat: From 0.
            description: Of its row, if it is given one.
            at_least: The share of its repeats that has to pass.
        """
        self._least.setdefault(test, at_least)
        return Attempts(
            TrialResult(
                index=next(self._count),
                case=test,
                variant=self._variant(function).index,
                repeat=repeat,
                outcome="not_applicable",
                score=None,
                description=description,
            )
        )

    def _variant(self, function: str) -> Variant:
        return self._variants.get(function) or Variant(0, function, "")

    def trial(
        self,
        attempts: Attempts,
        function: str,
        case: Case | None,
        judge: Provider | None,
        asserts: str = "",
    ) -> TestTrial:
        """The trial of a test that begins.

        Args:
            attempts: Those at this repeat of it.
            function: The test without its parameters.
            case: The row that it is given, if any.
            judge: Who judges, for scorers that name nobody.
            asserts: A digest of what it asserts by itself; empty where that isn't known.
        """
        place = attempts.unsettled
        row = replace(case, id=place.case) if case is not None else Case(place.case)

        async def body(trial: Trial) -> object:
            return await test_trial.first_text(trial)

        planned = PlannedTrial(
            index=place.index,
            case=row,
            variant=self._variant(function),
            repeat=place.repeat,
            body=body,
            rule=share_passed,
            scored_by=asserts,
            judge=judge,
            models=self._models,
        )
        test_trial = TestTrial(planned, self, self._host, self._loop)
        test_trial.home = self._home
        test_trial.look_around()
        test_trial.late = lambda late, problem: self._late.append((late, problem))
        return test_trial

    async def ask(
        self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: CallRole
    ) -> Reply:
        """Asks through the run; a model over the network only where that is allowed."""
        if self._live or not (isinstance(provider, AppCall) or says(provider, "remote")):
            self._asked[id(provider)] = provider
        else:
            provider = Unplugged(provider)
        return await self._desk.ask(trial, provider, prompt, role)

    def settle(self, trial: TestTrial, attempts: Attempts) -> TrialResult:
        """Settles a test's expectations, and records what they came to."""
        return self._wait(self._settle(trial, attempts))

    async def _settle(self, trial: TestTrial, attempts: Attempts) -> TrialResult:
        fatal = False
        try:
            result = await trial.settle()
        except (ProviderError, BudgetStop, StoreError) as error:
            # After a StoreError nothing more can be written to the run's file.
            fatal = isinstance(error, StoreError)
            result = _without_verdict(attempts, error)
        if not fatal:
            try:
                result = await self._store(attempts, result)
            except StoreError as error:
                result = _without_verdict(attempts, error)
        attempts.result = result
        return result

    def settle_again(self, attempts: Attempts, outcome: Outcome) -> None:
        """Settles a trial once more, with what pytest reports of its test."""
        with contextlib.suppress(StoreError):
            attempts.result = self._wait(self._store(attempts, once_more(attempts, outcome)))

    async def _store(self, attempts: Attempts, result: TrialResult) -> TrialResult:
        if result.index in self._settled:
            self._journal.again(result.index)
        self._settled[result.index] = result.variant, result.case, result.outcome
        if not attempts.earlier:
            return await self._journal.settle(result)
        listed = await self._journal.settle(attempts.listed_in(result))
        return replace(listed, outcomes=listed.outcomes[: len(result.outcomes)])

    def expected_to_fail(self, test: str) -> None:
        """Notes that a test failed, and pytest does not mind: its marker `xfail` says so, or a plugin."""
        if test in self._least:
            self._least[test] = 0.0

    def must_pass(self, test: str) -> None:
        """Notes that a test failed outside of its body: pytest goes by no share there."""
        self._least[test] = 1.0

    def _requirements(self) -> tuple[Requirement, ...]:
        """What its tests have to reach; nothing where all repeats of each have to pass."""
        settled = self._settled.values()
        if all(self._least[test] == 1 for _, test, _ in settled):
            return ()
        applied = {test for _, test, state in settled if state != "not_applicable"}
        tests: dict[int, list[str]] = {}
        for variant, test in dict.fromkeys((variant, test) for variant, test, _ in settled):
            # A test that says no share of its own passes if nothing in it applies.
            if test in applied or self._least[test] < 1:
                tests.setdefault(variant, []).append(test)
        required: list[Requirement] = []
        for variant, of_it in tests.items():
            shares = {self._least[test] for test in of_it}
            # That all trials pass is the same of a test as a whole and of each of its cases.
            by_case = len(of_it) > 1 and shares != {1.0}
            required += [
                Requirement(PASSED, Bound(self._least[test]), (variant,), test if by_case else "")
                for test in (of_it if by_case else of_it[:1])
            ]
        return tuple(required)

    def late(self, trial: LiveTrial | None = None) -> list[str]:
        """What came to light about a test, or any, after it had been settled; each is told once."""
        reports = [pair for pair in self._late if trial is None or pair[0] is trial]
        self._late = [pair for pair in self._late if pair not in reports]
        return [
            f"{one.planned.case}: {problem.message}\n  {problem.hint}" for one, problem in reports
        ]

    def close(self, *, interrupted: bool = False) -> None:
        """Ends the run and lets go of everything."""
        try:
            self._wait(self._close(interrupted))
            self._record(interrupted=interrupted)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _record(self, *, interrupted: bool) -> None:
        """Writes the cassette, where it is to be recorded."""
        cassette = self._cassette
        if cassette is None:
            return
        if cassette.recordings is not None:
            cassette.recordings.close()
            return
        indexes = frozenset(one.index for one in self._variants.values())
        use = CassetteUse(cassette.path, indexes, whole=not interrupted)
        try:
            record_cassettes(self.path, [use], self.notes.append)
        except UsageError as error:
            self.notes.append(str(error))

    async def _close(self, interrupted: bool) -> None:
        await threads_over(self._known)
        await self._home.close()
        closing = [provider.close() for provider in self._asked.values()]
        # A provider that fails to close must not keep the others open.
        await asyncio.gather(*closing, return_exceptions=True)
        self._cache.close()
        self._host.close()
        await self._settle_late()
        journal = self._journal
        settled = Counter((variant, test) for variant, test, _ in self._settled.values())
        journal.meta = replace(
            journal.meta,
            repeats=max(settled.values(), default=1),
            requirements=self._requirements(),
        )
        if not interrupted:  # an interrupted run stays short of its plan, and has no verdict
            # A worker had a part of the tests; --maxfail ended the session before all were run.
            journal.meta = replace(journal.meta, planned=settled.total(), case_count=len(settled))
        await journal.finish("interrupted" if interrupted else "finished")

    async def _settle_late(self) -> None:
        """Leaves the tests without a verdict that expected something when they had been reported."""
        if not self._late:
            return
        await self._journal.turn()  # what they came to can be read from here on
        for trial, problem in self._late:
            result = self._journal.result(trial.planned.index)
            if result is not None:
                attempts = Attempts(result)
                outcome = error_outcome(Expectation(None, Stated("the test")), problem)
                await self._store(attempts, once_more(attempts, outcome))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C interrupts this thread alone: the work on the run's loop would go on.
            future.cancel()
            raise


def _without_verdict(attempts: Attempts, error: EvenhandError) -> TrialResult:
    known = trial_error(error)
    return replace(attempts.unsettled, outcome="error", reason=str(error), error=known)


def _caller() -> str:
    """The file and line of the test that is expecting something."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith((OURS, _LIBRARY)):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else ""
