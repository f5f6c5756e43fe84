"""A trial under way: what the run lends to a body and its scorers, and how its outcomes become a result.

How this works: a body asks models and records expectations. When it is done, all its expectations are settled
together: those that answer at once first, those that wait (judges, user functions) side by side. Each one that
raises becomes an outcome of its own, `error`, and costs its neighbours nothing. Three things are not outcomes of a
trial but end the run, and pass through: an error that no retry can mend, a spent budget, and a store that cannot write.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from evenhand.core.case import Case, copy_key_of
from evenhand.core.decision import Decision, DecisionQuestion
from evenhand.core.definition import content_of, definition_of
from evenhand.core.errors import CodeError, EvenhandError, OutOfTime, UsageError, first_line
from evenhand.core.expect import Expectation
from evenhand.core.message import CallRole, Model, Prompt, Reply
from evenhand.core.plan import PlannedTrial
from evenhand.core.provider import Host, L, Provider
from evenhand.core.run import TrialError, TrialResult, unseen
from evenhand.core.score import Outcome, Verdict
from evenhand.core.step import Step
from evenhand.core.step_recorder import StepLog
from evenhand.core.variant import Variant
from evenhand.engine.budget import Spending, beside
from evenhand.engine.call_context import (
    Asked,
    Flight,
    Home,
    LentModel,
    OwnCalls,
    add_asked,
    asking,
    during,
    phase,
    scorer_calls,
)
from evenhand.engine.capture import Sink
from evenhand.engine.cascading import CascadeModel, FallbackModel
from evenhand.engine.deciding import Deciding, as_scorer
from evenhand.engine.outcome import (
    ANYTHING,
    problem_of,
    raise_if_final,
    settle_all,
    task_error,
    task_name,
    too_late,
    trial_error,
    with_problems,
)
from evenhand.engine.reuse import Taken
from evenhand.engine.suspending import Suspended, put_off
from evenhand.engine.time_limit import UNLIMITED, TrialClock
from evenhand.providers.cascade import CascadeJudge
from evenhand.providers.fallback import FallbackJudge

T = TypeVar("T")


class Asker(Protocol):
    """Where a trial's model calls go."""

    async def ask(
        self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: CallRole
    ) -> Reply:
        """Asks, with journal, cache, limits, budget and retries."""
        ...


class LiveTrial:
    """One trial while it happens. Implements `evenhand.core.expect.Trial`."""

    __slots__ = (
        "__weakref__",
        "_closed",
        "_deciding",
        "_earlier",
        "_expectations",
        "_host",
        "_kept",
        "_seen",
        "_settled",
        "_shared",
        "_step_log",
        "_tasks",
        "abandon",
        "asker",
        "checks",
        "compared",
        "content",
        "home",
        "identities",
        "late",
        "left_out",
        "limit_s",
        "log",
        "metadata",
        "out_of_time",
        "over",
        "own",
        "planned",
        "problems",
        "prompt_text",
        "reply",
        "result",
        "shown",
        "shows_thoughts",
        "spending",
        "suspended",
        "task",
        "tools",
        "unrecorded",
        "vars",
        "watched",
    )

    def __init__(
        self,
        planned: PlannedTrial,
        asker: Asker,
        host: Host,
        earlier: Callable[[int], Any] | None = None,
    ) -> None:
        self.planned, self._earlier = planned, earlier
        self._kept: Any = None
        self.asker, self._host = asker, host
        self._expectations: list[Expectation] = []
        self._seen: dict[str, int] = {}
        self._settled: dict[int, Outcome] = {}
        self.tools: dict[str, int] | None = None  # how often each was called how; see `tools`
        self._shared: dict[Hashable, tuple[Flight[Any], Asked]] | None = None  # made when shared
        self.reply: Reply | None = None
        self.prompt_text = ""
        self.vars: Mapping[str, Any] = planned.case.vars
        self.shown = planned.case.description, planned.test
        self.metadata: Mapping[str, Any] = planned.case.metadata
        if planned.case.tags:  # for slices
            self.metadata = {"tags": list(planned.case.tags), **planned.case.metadata}
        self.identities: list[bytes] = []
        """Of its subject's requests."""
        self.shows_thoughts = planned.shows_thoughts
        self.left_out = False
        self.spending = Spending()
        self._deciding: Deciding | None = None  # made for the first scorer that waits
        self._step_log: StepLog | None = None  # made for the first step
        self.log: Sink | None = None
        self.home: Home | None = None
        self.own: OwnCalls | None = None  # made when the application asks a model by itself
        self.over = self._closed = self.watched = False
        self.problems: list[CodeError] = []
        self.unrecorded: list[str] = []
        """Calls that were made while it ran, and may be its own: what they came to, nobody knows."""
        self._tasks: list[asyncio.Task[Any]] | None = None  # made when its code starts one
        self.abandon: Callable[[CodeError], None] | None = None
        """Settles it without its code, which does not end; None where nobody can."""
        self.task: asyncio.Task[None] | None = None
        """What settles it; None where that isn't said."""
        self.late: Callable[[LiveTrial, CodeError], None] | None = None
        """Told, from any thread, of what comes to light once it is settled."""
        self.result: TrialResult | None = None
        """The result of the trial, once it is settled."""
        self.compared: Sequence[int] = ()
        """The places of the trials that it is compared with, its own among them, while that is done in its name."""
        self.content: dict[str, str] = {}
        """Digests of what its case says beside its data: who plays the user."""
        self.checks = ""
        """A digest of what is expected of its answer, once it is about to ask; see `TrialResult.checks`."""
        self.limit_s: float | None = None
        """Seconds that it may take; None for as long as it does."""
        self.out_of_time = ""
        """What to say when they are over."""
        self.suspended: list[object] = []
        """The tasks of its code's that were told that an answer is not there yet; empty while it can go on."""

    @property
    def case(self) -> Case:
        return self.planned.case

    @property
    def variant(self) -> Variant:
        return self.planned.variant

    @property
    def repeat(self) -> int:
        return self.planned.repeat

    @property
    def judge(self) -> Provider | None:
        return self.planned.judge

    def provider(self, id: str | Mapping[str, Any]) -> Provider:  # noqa: A002 (the word that users write)
        if self.planned.models is None:
            raise UsageError(f"no model can be named here, and '{id}' is", hint="Give a provider.")
        return self.planned.models(id)

    @property
    def deciding(self) -> Deciding:
        if self._deciding is None:
            self._deciding = Deciding(
                lambda provider, prompt, role: self.asker.ask(self, provider, prompt, role),
                self.spending,
            )
        return self._deciding

    async def decide(
        self, provider: Provider, role: CallRole, questions: Sequence[DecisionQuestion]
    ) -> list[tuple[Decision, Reply]]:
        return await self.deciding.decide(provider, role, questions)

    def model(self, provider: Provider, role: CallRole) -> Model:
        ask = functools.partial(self.asker.ask, self)
        if isinstance(provider, FallbackJudge):
            models = [LentModel(self, ask, one, role) for one in provider.providers]
            return FallbackModel(models, role)
        if isinstance(provider, CascadeJudge):
            lend = functools.partial(LentModel, self, ask, role=role)
            return CascadeModel(provider, lend, role, self, self.planned.code)
        return LentModel(self, ask, provider, role)

    @property
    def steps(self) -> Sequence[Step]:
        if self.unrecorded:
            raise unseen(self.unrecorded)
        return () if self._step_log is None else self._step_log.steps()

    @property
    def step_log(self) -> StepLog:
        """What its application has done so far."""
        if self._step_log is None:
            self._step_log = StepLog(self.task)
        return self._step_log

    def step(self, step: Step) -> int:
        return self.step_log.add(step)

    def step_ended(self, place: int, **fields: Any) -> None:
        self.step_log.end(place, **fields)

    def within(self, place: int) -> AbstractContextManager[None]:
        return self.step_log.inside(place)

    def expect(self, expectation: Expectation) -> None:
        if self._closed:
            self.blame(too_late(expectation))
            return
        self._expectations.append(expectation)

    def blame(self, problem: CodeError) -> None:
        """Notes what keeps it from passing, whatever it expects; once it is settled, its run is told. Of any thread."""
        if not self.over:
            self.problems.append(problem)
        elif self.late is not None:
            self.late(self, problem)

    def lose_sight(self, call: str) -> None:
        """Notes a call that nobody recorded and that may be its own. Of any thread."""
        self.unrecorded.append(call)
        self.spending.lose_sight()

    def halt(self, error: EvenhandError) -> None:
        """Keeps it from a verdict: it ends in this error, whatever its code makes of that. The first one counts."""
        if self.own is None:
            self.own = OwnCalls()
        self.own.halted = self.own.halted or error

    def started(self, task: asyncio.Task[Any]) -> None:
        """Notes a task of its code's that can still expect something: it is waited for."""
        if self._tasks is None:
            self._tasks = []
        self._tasks.append(task)

    async def now(self, expectation: Expectation) -> Outcome:
        if self._closed:
            problem = too_late(expectation)
            self.blame(problem)
            raise problem
        place = len(self._expectations)
        self._expectations.append(expectation)
        with during("judge"):
            (outcome,) = await settle_all(self, [expectation], {})
        self._settled[place] = outcome
        return outcome

    def show(
        self,
        variables: Mapping[str, Any],
        description: str = "",
        test: Mapping[str, Any] | None = None,
    ) -> None:
        self.vars, before = variables, self.shown
        self.shown = description or before[0], test or before[1]

    def answered(self, prompt: Prompt, reply: Reply) -> None:
        self.reply = reply
        self.prompt_text = prompt.text
        if not self.unrecorded:
            self.spending.latency_s = (self.spending.latency_s or 0.0) + (reply.latency_s or 0.0)

    def mark(self, metadata: Mapping[str, Any]) -> None:
        self.metadata = {**self.metadata, **metadata}

    def keep(self, value: Any) -> None:
        self._kept = value

    def kept(self, index: int) -> Any:
        return self._earlier(index) if self._earlier is not None else None

    async def once(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._shared is None:
            self._shared = {}
        flight, calls = self._shared.get(key, (None, []))
        if flight is None or flight.task.cancelled() or flight.task.cancelling():
            with asking(calls):
                flight = Flight(asyncio.ensure_future(as_scorer(ask())))
            self._shared[key] = flight, calls
            self.deciding.begin()
            flight.task.add_done_callback(lambda _: self.deciding.end())
        try:
            with self.deciding.waiting():
                return await flight.landed()
        finally:
            add_asked(calls)

    async def load(self, path: Path, name: str) -> Callable[..., Any]:
        return await self._host.load(path, name)

    async def call(
        self,
        function: Callable[..., Awaitable[T] | T],
        *args: object,
        name: str,
        limit_s: float | None = None,
    ) -> T:
        return await self._host.call(function, *args, name=name, limit_s=limit_s)

    def lasting(self, make: Callable[[float], L]) -> L:
        return self._host.lasting(make)

    @property
    def fresh(self) -> bool:
        """Whether the trial has made no request yet."""
        return not self._seen

    def nth(self, key: str) -> int:
        """How many times this trial has made this very request before."""
        count = self._seen.get(key, 0)
        self._seen[key] = count + 1
        return count

    def unasked(self, key: str) -> None:
        """Takes the last one back: it got no answer, and who asks again means the same."""
        self._seen[key] -= 1

    async def settle(self) -> TrialResult:
        """Runs the body, settles what it expects, and sums up.

        Raises:
            ProviderError: A fatal one: the trial is left.
            BudgetStop: The budget is spent: the run has to stop.
            StoreError: Nothing can be written any more: the run has to stop.
        """
        planned = self.planned
        self.look_around()
        if planned.problem is not None:
            problem = planned.problem
            self.over = True
            known = TrialError(problem.slug, problem.summary, problem.hint)
            return self._result(None, (), Verdict("error", None, problem.summary), known)
        outcomes: tuple[Outcome, ...] = ()
        output: object = None
        verdict: Verdict | None = None
        phase.set("subject")
        began_s = time.monotonic()
        clock = UNLIMITED if self.limit_s is None else TrialClock(self.limit_s)
        try:
            if self.limit_s is not None and self.limit_s <= 0:
                raise OutOfTime(self.out_of_time)
            async with clock:
                output = await planned.body(self)
                await self._returned(began_s)
                self._go_on()
                phase.set("judge")
                self._closed = True
                self.look_around()
                outcomes = await settle_all(self, self._expectations, self._settled)
                if self.own is not None:
                    await self.own.over()
                verdict = planned.rule(outcomes)
                if planned.review is not None:
                    verdict = await planned.review(self, outcomes, verdict)
        except Taken as taken:
            return self._taken(taken.result)
        except Suspended:
            await self._put_off()
            raise
        except ANYTHING as raised:  # whatever a body raises is the trial's error, not the run's
            error: BaseException = OutOfTime(self.out_of_time) if clock.expired() else raised
            if self.own is not None:
                self.own.cancel()
                error = self.own.halted or error
            raise_if_final(error)
            named = {} if verdict is None else verdict.named_scores
            verdict = Verdict("error", None, first_line(error), named)
            outcomes = outcomes or tuple(self._settled[i] for i in sorted(self._settled))
            return self._ended(output, outcomes, verdict, trial_error(error))
        finally:
            self._closed = self.over = True
        return self._ended(output, outcomes, verdict, None)

    def look_around(self) -> None:
        """Looks for calls that may be its own: when it begins, is about to be judged, and is over."""
        if self.home is not None and self.home.strangers is not None:
            self.home.strangers.look(self)

    def _go_on(self) -> None:
        """Sees to it that a trial whose code goes on without an answer that is not there yet does not."""
        if self.suspended:
            raise Suspended

    async def _put_off(self) -> None:
        """Waits for what its code has under way: it may ask for more, and what is paid for has to be recorded."""
        await put_off(self._tasks or ())
        if self.own is not None and self.own.tasks:
            await asyncio.wait(self.own.tasks)

    def asked_times(self) -> int:
        """How many calls it has asked for."""
        return sum(self._seen.values())

    def _ended(
        self,
        output: object,
        outcomes: Sequence[Outcome],
        verdict: Verdict,
        error: TrialError | None,
    ) -> TrialResult:
        settled = len(outcomes)
        if error is None:
            # Recorded by another thread, in the very moment in which the others were settled.
            self.problems += map(too_late, self._expectations[settled:])
        self.look_around()
        self._closed = self.over = True
        if self.problems:
            verdict, outcomes = with_problems(verdict, outcomes, self.problems)
        # What the code did wrong comes first: the rest may have come of it.
        error = error or problem_of(verdict, (*outcomes[settled:], *outcomes[:settled]))
        self.result = self._result(output, outcomes, verdict, error)
        return self.result

    def _taken(self, earlier: TrialResult) -> TrialResult:
        """The trial's result, as an earlier run has it."""
        verdict = Verdict(
            earlier.outcome,
            earlier.score,
            earlier.reason,
            earlier.named_scores,
            scale=earlier.scale,
        )
        result = self._result(earlier.output, earlier.outcomes, verdict, None)
        self.result = replace(result, taken=earlier.taken, definitions=earlier.definitions)
        return self.result

    def given_up(self, error: CodeError) -> TrialResult:
        """The trial's result, where its code does not end."""
        return self._ended(None, (), Verdict("error", None, first_line(error)), trial_error(error))

    def corrected(self, problems: Sequence[CodeError]) -> TrialResult | None:
        """The trial's result, with what came to light after it was settled; None where it had not passed anyway."""
        result = self.result
        if result is None or result.outcome not in ("pass", "not_applicable"):
            return None
        verdict = Verdict(result.outcome, result.score, result.reason, result.named_scores)
        verdict, outcomes = with_problems(verdict, result.outcomes, problems)
        return replace(
            result,
            outcome=verdict.outcome,
            score=verdict.score,
            reason=verdict.reason,
            outcomes=outcomes,
            error=trial_error(problems[0]),
        )

    async def _returned(self, began_s: float) -> None:
        """Waits for what the function under evaluation has left running, where that can still tell something."""
        self._go_on()
        if self._tasks is not None:
            await self._tasks_done(self._tasks)
        if self.own is not None:
            await self.own.over()
        if self.home is not None and self.home.workers is not None:
            askers = self.own.askers if self.own is not None else None
            self.home.workers.returned(self, askers, began_s)

    async def _tasks_done(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Waits for the tasks that can still expect something; what they raise, and nobody saw, is a problem."""
        waited: set[asyncio.Task[Any]] = set()
        while open_ := [task for task in tasks if not task.done()]:
            waited.update(open_)
            names = ", ".join(sorted({task_name(task) for task in open_}))
            try:
                await self.call(asyncio.wait, open_, name=f"{names}, left running by the eval,")
            except BaseException:
                for task in open_:
                    task.cancel()
                raise
        for task in tasks:
            error = None if task.cancelled() else getattr(task, "_exception", None)
            if error is not None and (task in waited or getattr(task, "_log_traceback", False)):
                task.exception()  # looked at: asyncio need not tell of it, too
                self.blame(task_error(task, error))

    def summed(self, result: TrialResult) -> TrialResult:
        """The trial's result, with what was spent and printed since."""
        spent = self.spending
        return replace(
            result,
            cost_usd=spent.cost_usd,
            tokens_in=spent.tokens_in,
            tokens_out=spent.tokens_out,
            calls=spent.calls,
            cached=spent.cached,
            unpaid_usd=spent.unpaid_usd if spent.cached else None,
            log=self.log.text() if self.log else "",
            judged=spent.judged,
        )

    async def settled(self, expectations: Sequence[Expectation]) -> tuple[Outcome, ...]:
        if scorer_calls.get() is None:  # no scorer waits for them
            return await settle_all(self, expectations, {})
        with self.deciding.waiting():
            outcomes = await settle_all(self, expectations, {})
        for outcome in outcomes:  # what they are parts of rests on the same calls
            add_asked(outcome.rests_on)
        return outcomes

    def _result(
        self,
        output: object,
        outcomes: Sequence[Outcome],
        verdict: Verdict,
        problem: TrialError | None,
    ) -> TrialResult:
        planned, spent = self.planned, self.spending
        settled = self._expectations[: len(outcomes)]
        return TrialResult(
            index=planned.index,
            case=planned.case.id,
            variant=planned.variant.index,
            repeat=planned.repeat,
            outcome=verdict.outcome,
            score=verdict.score,
            output=output,
            reason=verdict.reason,
            error=problem,
            outcomes=tuple(outcomes),
            named_scores=verdict.named_scores,
            latency_s=spent.latency_s,
            cost_usd=spent.cost_usd,
            tokens_in=spent.tokens_in,
            tokens_out=spent.tokens_out,
            calls=spent.calls,
            cached=spent.cached,
            unpaid_usd=spent.unpaid_usd if spent.cached else None,
            prompt=self.prompt_text,
            vars=self.vars,
            description=self.shown[0],
            metadata=self.metadata,
            log=self.log.text() if self.log else "",
            kept=self._kept,
            threshold=verdict.threshold,
            scale=verdict.scale,
            judged=spent.judged,
            answer=beside(self.reply, spent, left_out=self.left_out),
            test=self.shown[1],
            input=planned.case.input,
            expected=planned.case.expected,
            checks=self.checks,
            copy_key=copy_key_of(planned.case, planned.test),
            steps=() if self._step_log is None else self._step_log.kept(),
            content=content_of(planned.case, self.vars, planned.test, planned.scored_by)
            | self.content,
            definitions=tuple([one.definition or definition_of(one.scorer) for one in settled]),
        )


present: ContextVar[LiveTrial | None] = ContextVar("evenhand_trial", default=None)
"""The trial for which code is running."""
