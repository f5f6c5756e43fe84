"""A trial under way: what the run lends to a body and its scorers, and how its outcomes become a result.

How this works: a body asks models and records expectations. When it is done, all its expectations are settled
together: those that answer at once first, those that wait (judges, user functions) side by side. Each one that
raises becomes an outcome of its own, `error`, and costs its neighbours nothing. Three things are not outcomes of a
trial but end the run, and pass through: an error that no retry can mend, a spent budget, and a store that cannot write.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from evenhand.core.case import Case
from evenhand.core.errors import CodeError, OutOfTime, UsageError
from evenhand.core.expect import Expectation
from evenhand.core.message import CallRole, Message, Model, Prompt, Reply, Task
from evenhand.core.plan import Step
from evenhand.core.provider import Host, L, Provider
from evenhand.core.run import NO_DETAILS, AnswerDetails, TrialError, TrialResult
from evenhand.core.score import Outcome, Score, Verdict
from evenhand.core.traits import label_of
from evenhand.core.variant import Variant
from evenhand.engine.call_context import (
    Asked,
    Home,
    OwnCalls,
    add_asked,
    asked,
    asking,
    during,
    phase,
)
from evenhand.engine.capture import Sink
from evenhand.engine.flight import Flight
from evenhand.engine.outcome import (
    ANYTHING,
    checked_outcome,
    error_outcome,
    first_line,
    is_final,
    problem_of,
    raise_if_final,
    resting_on,
    trial_error,
    with_problems,
)
from evenhand.engine.place import users_line
from evenhand.engine.spending import Spending
from evenhand.engine.taking import Taken
from evenhand.providers.configured import reading_by

T = TypeVar("T")


class Asker(Protocol):
    """Where a trial's model calls go."""

    async def ask(
        self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: CallRole
    ) -> Reply:
        """Asks, with journal, cache, limits, budget and retries."""
        ...


class LentModel:
    """A provider, lent to one trial in one role."""

    __slots__ = ("_asker", "_provider", "_role", "_trial")

    def __init__(self, trial: LiveTrial, asker: Asker, provider: Provider, role: CallRole) -> None:
        self._trial = trial
        self._asker = asker
        self._provider = provider
        self._role: CallRole = role

    @property
    def name(self) -> str:
        return self._provider.label

    async def generate(self, prompt: Prompt | str) -> Reply:
        prompt = Prompt.of(prompt) if isinstance(prompt, str) else prompt
        trial, role = self._trial, self._role
        if role == "subject":
            if phase.get() == "setup":  # lent to an eval, and asked by what prepares it
                role = "setup"
            else:
                trial.prompt_text = prompt.text
        provider = reading_by(self._provider, prompt.config) if prompt.config else self._provider
        reply = await self._asker.ask(trial, provider, prompt, role)
        trial.spending.add(reply, role)
        if role == "subject":
            trial.reply = reply
        return reply

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if len(texts) == 1:
            return [await self._measure(texts[0], "embed")]
        unique = dict.fromkeys(texts)  # the same text twice is one question
        asked = {text: asyncio.ensure_future(self._measure(text, "embed")) for text in unique}
        try:
            await asyncio.gather(*asked.values())
        except BaseException:
            for task in asked.values():
                task.cancel()
            await asyncio.wait(asked.values())
            raise
        return [asked[text].result() for text in texts]

    async def classify(self, text: str) -> dict[str, float]:
        return await self._measure(text, "classify")

    async def moderate(self, text: str) -> dict[str, float]:
        return await self._measure(text, "moderate")

    async def _measure(self, text: str, task: Task) -> Any:
        prompt = Prompt((Message("user", text),), text, task=task)
        reply = await self._asker.ask(self._trial, self._provider, prompt, self._role)
        self._trial.spending.add(reply, self._role)
        return reply.output


class LiveTrial:
    """One step while it happens. Implements `evenhand.core.expect.Trial`."""

    __slots__ = (
        "_closed",
        "_earlier",
        "_expectations",
        "_host",
        "_kept",
        "_seen",
        "_settled",
        "_shared",
        "_tasks",
        "abandon",
        "asker",
        "checks",
        "compared",
        "home",
        "late",
        "limit_s",
        "log",
        "metadata",
        "out_of_time",
        "over",
        "own",
        "problems",
        "prompt_text",
        "reply",
        "result",
        "spending",
        "step",
        "tools",
        "vars",
    )

    def __init__(
        self, step: Step, asker: Asker, host: Host, earlier: Callable[[int], Any] | None = None
    ) -> None:
        self.step = step
        self._earlier = earlier
        self._kept: Any = None
        self.asker = asker
        self._host = host
        self._expectations: list[Expectation] = []
        self._seen: dict[str, int] = {}
        self._settled: dict[int, Outcome] = {}
        self.tools: dict[str, int] | None = None  # how often each was called how; see `tools`
        self._shared: dict[Hashable, tuple[Flight[Any], Asked]] | None = None  # made when shared
        self.reply: Reply | None = None
        self.prompt_text = ""
        self.vars: Mapping[str, Any] = step.case.vars
        self.metadata: Mapping[str, Any] = step.case.metadata
        if step.case.tags:  # for slices
            self.metadata = {"tags": list(step.case.tags), **step.case.metadata}
        self.spending = Spending()
        self.log: Sink | None = None
        self.home: Home | None = None
        self.own: OwnCalls | None = None  # made when the application asks a model by itself
        self.over = False
        self._closed = False
        self.problems: list[CodeError] = []
        self._tasks: list[asyncio.Task[Any]] | None = None  # made when its code starts one
        self.abandon: Callable[[CodeError], None] | None = None
        """Settles it without its code, which does not end; None where nobody can."""
        self.late: Callable[[LiveTrial, CodeError], None] | None = None
        """Told, from any thread, of what comes to light once it is settled."""
        self.result: TrialResult | None = None
        """What it came to, once it is settled."""
        self.compared: Sequence[int] = ()
        """The places of the trials that it is compared with, its own among them, while that is done in its name."""
        self.checks = ""
        """A digest of what is expected of its answer, once it is about to ask; see `TrialResult.checks`."""
        self.limit_s: float | None = None
        """Seconds that it may take; None for as long as it does."""
        self.out_of_time = ""
        """What to say when they are over."""

    @property
    def case(self) -> Case:
        return self.step.case

    @property
    def variant(self) -> Variant:
        return self.step.variant

    @property
    def repeat(self) -> int:
        return self.step.repeat

    @property
    def judge(self) -> Provider | None:
        return self.step.judge

    def provider(self, id: str) -> Provider:  # noqa: A002 (the word that users write)
        if self.step.models is None:
            raise UsageError(f"no model can be named here, and '{id}' is", hint="Give a provider.")
        return self.step.models(id)

    def model(self, provider: Provider, role: CallRole) -> Model:
        return LentModel(self, self.asker, provider, role)

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
            (outcome,) = await self.settled([expectation])
        self._settled[place] = outcome
        return outcome

    def show(self, variables: Mapping[str, Any]) -> None:
        """Keeps these as the trial's variables in the results: what the case's came to once files were read."""
        self.vars = variables

    def answered(self, prompt: Prompt, reply: Reply) -> None:
        self.reply = reply
        self.prompt_text = prompt.text
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
                flight = Flight(asyncio.ensure_future(ask()))
            self._shared[key] = flight, calls
        try:
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
        """Whether it has asked for nothing yet."""
        return not self._seen

    def nth(self, key: str) -> int:
        """How many times this trial has made this very request before."""
        seen = self._seen.get(key, 0)
        self._seen[key] = seen + 1
        return seen

    def unasked(self, key: str) -> None:
        """Takes the last one back: it got no answer, and who asks again means the same."""
        self._seen[key] -= 1

    async def settle(self) -> TrialResult:
        """Runs the body, settles what it expects, and sums up.

        Raises:
            ProviderError: A fatal one: the run has to stop.
            BudgetStop: The budget is spent: the run has to stop.
            StoreError: Nothing can be written any more: the run has to stop.
        """
        step = self.step
        if step.problem is not None:
            problem = step.problem
            self.over = True
            known = TrialError(problem.slug, problem.summary, problem.hint)
            return self._result(None, (), Verdict("error", None, problem.summary), known)
        outcomes: tuple[Outcome, ...] = ()
        output: object = None
        verdict: Verdict | None = None
        phase.set("subject")
        clock = asyncio.timeout(self.limit_s)
        try:
            if self.limit_s is not None and self.limit_s <= 0:
                raise OutOfTime(self.out_of_time)
            async with clock:
                output = await step.body(self)
                if self._tasks is not None:
                    await self._tasks_done(self._tasks)
                if self.own is not None:
                    await self.own.over()
                phase.set("judge")
                self._closed = True
                outcomes = await self._outcomes(self._expectations, self._settled)
                if self.own is not None:
                    await self.own.over()
                verdict = step.rule(outcomes)
                if step.review is not None:
                    verdict = await step.review(self, outcomes, verdict)
        except Taken as taken:
            return self._taken(taken.result)
        except ANYTHING as raised:  # whatever a body raises is the trial's error, not the run's
            error: BaseException = OutOfTime(self.out_of_time) if clock.expired() else raised
            if self.own is not None:
                self.own.cancel()
                error = self.own.halted or error
            raise_if_final(error)
            named = {} if verdict is None else verdict.named_scores
            verdict = Verdict("error", None, first_line(error), named)
            return self._ended(output, outcomes, verdict, trial_error(error))
        finally:
            self._closed = self.over = True
        return self._ended(output, outcomes, verdict, None)

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
        self._closed = self.over = True
        if self.problems:
            verdict, outcomes = with_problems(verdict, outcomes, self.problems)
        # What the code did wrong comes first: the rest may have come of it.
        error = error or problem_of(verdict, (*outcomes[settled:], *outcomes[:settled]))
        self.result = self._result(output, outcomes, verdict, error)
        return self.result

    def _taken(self, earlier: TrialResult) -> TrialResult:
        """Its result, as an earlier run has it."""
        verdict = Verdict(
            earlier.outcome,
            earlier.score,
            earlier.reason,
            earlier.named_scores,
            scale=earlier.scale,
        )
        result = self._result(earlier.output, earlier.outcomes, verdict, None)
        self.result = replace(result, taken=earlier.taken)
        return self.result

    def given_up(self, error: CodeError) -> TrialResult:
        """Its result, where its code does not end."""
        return self._ended(None, (), Verdict("error", None, first_line(error)), trial_error(error))

    def corrected(self, problems: Sequence[CodeError]) -> TrialResult | None:
        """Its result, with what came to light after it was settled; None where it had not passed anyway."""
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
        """Its result, with what was spent and printed since."""
        spent = self.spending
        return replace(
            result,
            cost_usd=spent.cost_usd,
            tokens_in=spent.tokens_in,
            tokens_out=spent.tokens_out,
            calls=spent.calls,
            cached=spent.cached,
            log=self.log.text() if self.log else "",
            judged=spent.judged,
        )

    async def settled(self, expectations: Sequence[Expectation]) -> tuple[Outcome, ...]:
        outcomes = await self._outcomes(expectations, {})
        for outcome in outcomes:  # what they are parts of rests on the same calls
            add_asked(outcome.rests_on)
        return outcomes

    async def _outcomes(
        self, expectations: Sequence[Expectation], known: Mapping[int, Outcome]
    ) -> tuple[Outcome, ...]:
        outcomes: list[Outcome | None] = [None] * len(expectations)
        waiting: list[tuple[int, Awaitable[Score], Asked]] = []
        for i, expectation in enumerate(expectations):
            if i in known:
                outcomes[i] = known[i]
                continue
            calls: Asked = []
            token = asked.set(calls)
            try:
                score = expectation.scorer.score(expectation.value, self)
                if not isinstance(score, Score) and inspect.isawaitable(score):
                    waiting.append((i, score, calls))
                else:
                    outcomes[i] = resting_on(calls, checked_outcome(expectation, score))
            except ANYTHING as error:  # a scorer may raise anything; it is an outcome
                if is_final(error):
                    for _, unwanted, _ in waiting:
                        if inspect.iscoroutine(unwanted):
                            unwanted.close()
                    raise
                outcomes[i] = resting_on(calls, error_outcome(expectation, error))
            finally:
                asked.reset(token)
        if len(waiting) == 1:
            i, score, calls = waiting[0]
            outcomes[i] = await _outcome(expectations[i], score, calls)
        elif waiting:
            tasks = [asyncio.ensure_future(_outcome(expectations[i], s, c)) for i, s, c in waiting]
            try:
                settled = await asyncio.gather(*tasks)
            except (
                BaseException
            ):  # one of them ends the run, or all are cancelled: leave none behind
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
                raise
            for (i, _, _), outcome in zip(waiting, settled, strict=True):
                outcomes[i] = outcome
        return tuple(cast("list[Outcome]", outcomes))

    def _result(
        self,
        output: object,
        outcomes: Sequence[Outcome],
        verdict: Verdict,
        problem: TrialError | None,
    ) -> TrialResult:
        step, spent = self.step, self.spending
        return TrialResult(
            index=step.index,
            case=step.case.id,
            variant=step.variant.index,
            repeat=step.repeat,
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
            prompt=self.prompt_text,
            vars=self.vars,
            description=step.case.description,
            metadata=self.metadata,
            log=self.log.text() if self.log else "",
            kept=self._kept,
            threshold=verdict.threshold,
            scale=verdict.scale,
            judged=spent.judged,
            answer=_beside(self.reply, spent),
            test=step.test,
            input=step.case.input,
            expected=step.case.expected,
            checks=self.checks,
        )


def _beside(reply: Reply | None, spent: Spending) -> AnswerDetails:
    """What a reply says beside its output, as far as it does."""
    if reply is None:
        return NO_DETAILS
    return AnswerDetails(
        model=reply.model,
        finish_reason=reply.finish_reason,
        metadata=reply.metadata,
        cost_usd=spent.subject_usd or None,  # a model that costs nothing may have no price at all
    )


def too_late(expectation: Expectation) -> CodeError:
    """What to say of an expectation that comes when its trial is settled."""
    name = expectation.label or label_of(expectation.scorer)
    return CodeError(
        f"expected after the trial had ended: {name}",
        hint=f"Await, or join, what expects before the function returns. {users_line()}".strip(),
    )


def task_name(task: asyncio.Task[Any]) -> str:
    """The function that a task runs."""
    name = getattr(task.get_coro(), "__qualname__", task.get_name())
    return str(name).rpartition("<locals>.")[2]


def task_error(task: asyncio.Task[Any], error: BaseException) -> CodeError:
    """What to say of a task that raised, and that nobody awaited."""
    return CodeError(f"the task {task_name(task)} raised {first_line(error)}")


present: ContextVar[LiveTrial | None] = ContextVar("evenhand_trial", default=None)
"""The trial for which code is running."""


async def _outcome(expectation: Expectation, score: Awaitable[Score], calls: Asked) -> Outcome:
    try:
        with asking(calls):
            outcome = checked_outcome(expectation, await score)
    except ANYTHING as error:  # a scorer may raise anything; it is an outcome
        raise_if_final(error)
        outcome = error_outcome(expectation, error)
    return resting_on(calls, outcome)
