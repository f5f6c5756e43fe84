"""`expect`: records an expectation, softly. Nothing raises, nothing waits; all are settled when the eval is done."""

from __future__ import annotations

import copy
import inspect
import re
import traceback
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractContextManager, ContextDecorator, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar, cast, get_args, overload

from evenhand.core.arguments import checked
from evenhand.core.definition import CODE, Definition
from evenhand.core.errors import CodeError, EvenhandError, UsageError, first_line
from evenhand.core.expect import Asks, Expectation, Recorder, Scorer, Trial
from evenhand.core.json_shapes import is_number
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.score import Outcome, Score, check, is_bool
from evenhand.core.step import Step, StepKind, StepStatus
from evenhand.core.traits import Traits, label_of
from evenhand.core.users_code import users_line
from evenhand.doors.eval_sets.bounds import misgiven, misspelt, of_expect, wrongly_bounded
from evenhand.doors.eval_sets.conditions import digest_here
from evenhand.doors.eval_sets.thresholds import Thresholds
from evenhand.scorers.function import ScorerFunction, as_scorer
from evenhand.scorers.known_outcomes import Raised
from evenhand.scorers.opposite import Question

J = TypeVar("J")


class Stated(Record, frozen=True):
    """Something that is true or false, as the eval found it."""

    traits: ClassVar[Traits] = Traits(asks=())
    label: str
    reason: str = ""

    def score(self, output: Any, trial: Trial) -> Score:
        del trial
        return check(bool(output), self.reason)

    def __str__(self) -> str:
        return self.label


class MeasuredNumber(Record, frozen=True):
    """A number, as the eval found it; bounds decide."""

    traits: ClassVar[Traits] = Traits(asks=())
    label: str

    def score(self, output: Any, trial: Trial) -> Score:
        del trial
        return Score(float(output))

    def __str__(self) -> str:
        return self.label


@dataclass(slots=True)
class ExpectBlock(ContextDecorator):
    """What `expect.that` returns: a block whose AssertionError fails the expectation."""

    recorder: Expect
    label: str
    metadata: dict[str, Any]
    place: str
    done: bool = field(default=False, init=False)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        # A cancelled trial, or Ctrl-C, ends the eval and is no outcome of it.
        if error is not None and not isinstance(error, Exception):
            return False
        self.done = True
        self.recorder.trial.expect(self._expectation(error))
        return error is not None

    def _expectation(self, error: Exception | None) -> Expectation:
        label = self.label
        scorer: Scorer = Stated(label)
        if isinstance(error, AssertionError):
            # A bare `assert` has no message; its line of source says what did not hold.
            reason = str(error) or traceback.extract_tb(error.__traceback__)[-1].line
            scorer = Stated(label, reason or "an assertion did not hold")
        elif isinstance(error, EvenhandError):
            scorer = Raised(label, error)
        elif error is not None:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            hint = f"{frame.filename}:{frame.lineno}: {frame.line}"
            scorer = Raised(label, CodeError(first_line(error), hint=hint))
        definition = self.recorder.definition(scorer, label)
        return Expectation(error is None, scorer, metadata=self.metadata, definition=definition)

    def left_out(self) -> Expectation:
        """The expectation, as an error: the block was never run to its end."""
        what = f"{self.place}: expect.that({self.label!r}) was never run, and so expects nothing"
        error = UsageError(what, hint=f"Write: with expect.that({self.label!r}):")
        return Expectation(None, Raised(self.label, error), metadata=self.metadata)


class Expect(Recorder):
    """What an eval is given to say what it expects.

    `expect(condition, "label")`, `expect(number, at_most=2, label="seconds")`, `expect(text, Contains("30 days"))`.
    Further keyword arguments are kept beside the outcome.
    """

    def __init__(self, trial: Trial, thresholds: Thresholds | None = None) -> None:
        self.trial = trial
        self._thresholds = thresholds
        self._blocks: list[ExpectBlock] = []

    def definition(self, scorer: Scorer, label: str) -> Definition | None:
        """What a condition, or a number, is known by; None where its code isn't known."""
        if not isinstance(scorer, Stated | MeasuredNumber):
            return None
        code = digest_here(label)
        return Definition(type(scorer).__name__, {CODE: code}) if code else None

    def finish(self) -> None:
        """Records what can no longer be met, as errors: blocks of `expect.that` that were never entered."""
        for block in self._blocks:
            if not block.done:
                self.trial.expect(block.left_out())
        self._blocks.clear()

    def __call__(
        self,
        value: Any,
        scorer: Scorer | ScorerFunction | str | None = None,
        /,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        label: str = "",
        weight: float = 1.0,
        metric: str = "",
        **metadata: Any,
    ) -> None:
        """Records an expectation.

        Args:
            value: A condition, a number, or the output that the scorer looks at. Lists and dicts are copied now.
            scorer: A scorer, or a function of the output (and of `case`); or, for a condition, its label.
            at_least: A score below this fails.
            at_most: A score above this fails.
            label: What people read, instead of the scorer's own.
            weight: Its share in the trial's score.
            metric: Also count the score under this name.
            **metadata: Kept beside the outcome. A name that is a slip of the pen away from a parameter is refused.

        What there is nothing to decide by (a number or a scorer that measures without a bound, a condition without a
        label) is an error among the outcomes, and ends nothing either.
        """
        self.trial.expect(
            self._expectation(
                value,
                scorer,
                at_least=at_least,
                at_most=at_most,
                label=label,
                weight=weight,
                metric=metric,
                metadata=metadata,
            )
        )

    @overload
    async def now(
        self,
        value: Any,
        scorer: Asks[J],
        /,
        *,
        at_least: float | None = ...,
        at_most: float | None = ...,
        label: str = ...,
        weight: float = ...,
        metric: str = ...,
        **metadata: Any,
    ) -> J: ...
    @overload
    async def now(
        self,
        value: Any,
        scorer: Scorer | ScorerFunction,
        /,
        *,
        at_least: float | None = ...,
        at_most: float | None = ...,
        label: str = ...,
        weight: float = ...,
        metric: str = ...,
        **metadata: Any,
    ) -> Outcome: ...

    async def now(
        self,
        value: Any,
        scorer: Scorer | ScorerFunction,
        /,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        label: str = "",
        weight: float = 1.0,
        metric: str = "",
        **metadata: Any,
    ) -> object:
        """Records an expectation and settles it at once, for evals that go on by what it comes to.

        Returns:
            The outcome; for a judge of your own, what it answered, as an object of its schema. Such a judge needs no
            bound here: expect what you want of its answer.

        Raises:
            JudgeError: A judge of your own gave no answer. The outcome is recorded; caught, the eval can go on.
        """
        expectation = self._expectation(
            value,
            scorer,
            at_least=at_least,
            at_most=at_most,
            label=label,
            weight=weight,
            metric=metric,
            metadata=metadata,
            at_once=True,
        )
        outcome = await self.trial.now(expectation)
        return cast("Asks[object]", scorer).judgement(outcome) if _answers(scorer) else outcome

    def that(self, label: str, /, **metadata: Any) -> ExpectBlock:
        """A block that must not raise: an AssertionError in it fails the expectation, anything else is an error.

        `with expect.that("…"):`. One that is never entered is an error, too.
        """
        block = ExpectBlock(self, label, metadata, users_line())
        self._blocks.append(block)
        return block

    @property
    def steps(self) -> Sequence[Step]:
        """What the application has done so far: model calls, recorded tools, and what was reported with `step`."""
        return self.trial.steps

    @checked
    def step(
        self,
        name: str,
        arguments: Any = None,
        /,
        *,
        kind: StepKind = "tool",
        result: Any = None,
        status: StepStatus | None = None,
        error: str = "",
        duration_s: float | None = None,
        agent: str = "",
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        cost_usd: float | None = None,
    ) -> ReportedStep:
        """Reports something that the application did: `expect.step("search", {"query": "moon"}, result=pages)`.

        As a block, it takes as long as the block does, has failed where the block raises, and what happens inside is
        part of it: `with expect.step("refund", {"order": 7}) as step: step.result = refund(7)`.

        Args:
            name: Of the tool or the agent; of a model, its name; of a message, who spoke.
            arguments: What it was given: a JSON value.
            result: What came of it: a JSON value.
            status: How it ended; by default `error` with an error, `ok` with a result, else `unknown`.
            duration_s: Seconds that it took.
            agent: The agent that did it, where there are several.
            tokens_in: Tokens that a model read.
            tokens_out: Tokens that a model wrote.
            cost_usd: Dollars.

        Raises:
            UsageError: There is no such kind or status.
        """
        ended = "error" if error else "unknown" if result is None else "ok"
        step = Step(
            kind,
            name,
            _copied(arguments),
            _copied(result),
            status=status or ended,
            error=error,
            duration_s=duration_s,
            agent=agent,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=cost_usd,
        )
        return ReportedStep(self.trial, checked_step(step))

    def _expectation(
        self,
        value: Any,
        condition: Scorer | ScorerFunction | str | None,
        at_least: float | None,
        at_most: float | None,
        label: str,
        weight: float,
        metric: str,
        metadata: dict[str, Any],
        *,
        at_once: bool = False,
    ) -> Expectation:
        if isinstance(condition, str):
            label, condition = condition, None
        answers = at_once and _answers(condition)  # the eval looks at the answer itself
        scorer: Scorer | None = None
        what, hint = misgiven(at_least, at_most, weight, label, metric), ""
        if not what:
            what, hint = misspelt(metadata)
        if not what:
            what, hint = _unfinished(value)
        if not what and condition is not None:
            try:
                scorer = as_scorer(condition, label)
                if self._thresholds and at_least is None and at_most is None and not answers:
                    at_least, at_most = self._thresholds.bounds(scorer, metric)
                what, hint = wrongly_bounded(scorer, at_least, at_most, needed=not answers)
            except UsageError as error:
                what, hint = error.message, error.hint
        bounded = at_least is not None or at_most is not None
        if not what and scorer is None:
            what, hint = _undecided(value, label, bounded)
        if what:
            if inspect.iscoroutine(value):
                value.close()  # it is told here, and need not be told once more as never awaited
            wrong = UsageError(f"{users_line()}: {of_expect(what)}", hint=hint)
            raised = Raised(
                str(label or (label_of(condition) if condition is not None else "expect")), wrong
            )
            return Expectation(None, raised, metadata=metadata)
        definition = None
        if scorer is None:
            scorer = MeasuredNumber(label) if bounded else Stated(label)
            definition = self.definition(scorer, label)
        return Expectation(
            value=_copied(value),
            scorer=scorer,
            at_least=at_least,
            at_most=at_most,
            weight=weight,
            metric=metric,
            label=label,
            metadata=metadata,
            only_measured=answers,
            definition=definition,
            place="" if condition is None or isinstance(value, (str, int)) else users_line(),
        )


def _copied(value: Any) -> Any:
    """A value that does not change any more; what cannot be copied is looked at as it is then."""
    if isinstance(value, (list, dict, set)):
        with suppress(Exception):
            return copy.deepcopy(value)  # pyright: ignore[reportUnknownVariableType]
    return value  # pyright: ignore[reportUnknownVariableType]


def _answers(scorer: object) -> bool:
    """Whether its answer is more than a score: a judge of the user's own."""
    return isinstance(scorer, Asks) and not isinstance(scorer, type)


def _undecided(value: Any, label: str, bounded: bool) -> tuple[str, str]:
    """What keeps a condition or a number from being decided, and what to do; empty where it can be."""
    if not label:
        hint = 'Write expect(condition, "what it says").'
        return "a condition or a number needs a label", hint
    number = is_number(value)
    if bounded and not number:
        return f"{label}: bounds are for numbers, and this is {value!r}", ""
    if number and not bounded:
        hint = "Write at_least= or at_most=, or a condition."
        return f"{label}: {value!r} is a number, and has no bound", hint
    return ("", "") if number or _is_condition(value) else _no_condition(value, label)


def _unfinished(value: Any) -> tuple[str, str]:
    """What is wrong with a value that is no result yet, and what to do; empty where it is one."""
    if isinstance(value, Question):
        return f"{value} stands first, where the output belongs", "Write expect(output, scorer)."
    if inspect.isawaitable(value):
        name = getattr(value, "__qualname__", type(value).__name__)
        return f"{name} was not awaited: there is no result yet", "Write expect(await …, …)."
    if isinstance(value, (Generator, AsyncGenerator)):
        name = cast("Any", value).__qualname__
        hint = "Write expect(list(…), …), or join its pieces."
        if isinstance(value, AsyncGenerator):
            hint = "Write expect([piece async for piece in …], …), or join its pieces."
        return f"{name} is a generator, which has not run yet", hint
    return "", ""


def _is_condition(value: Any) -> bool:
    """Whether a value is meant as true or false: a bool, NumPy's too, or what a search found, or None."""
    return value is None or isinstance(value, re.Match) or is_bool(value)


def _no_condition(value: Any, label: str) -> tuple[str, str]:
    if callable(value) and hasattr(value, "__name__"):
        name = "a lambda" if value.__name__ == "<lambda>" else f"{value.__name__}"
        return f"{label}: {name} is a function, which was not called", "Expect what it returns."
    kind = "a text" if isinstance(value, str) else f"of type {type(value).__name__}"
    what = f"nothing decides {label!r}: the value is {kind}, and the second argument only a label"
    own = f'expect(<a comparison, or bool(…)>, "{label}")'
    return what, f'Have a judge decide: expect(…, Passes("{label}")). Or decide it yourself: {own}.'


class ReportedStep:
    """What `expect.step` returns. Further attributes say what came of it once that is known.

    Attributes:
        result: What came of it: a JSON value.
        status: How it ended; None for `error` where the block raises, and `ok` where it doesn't.
        tokens_in: Tokens that a model read.
        tokens_out: Tokens that a model wrote.
        cost_usd: Dollars.
    """

    def __init__(self, trial: Trial, step: Step) -> None:
        self._trial = trial
        self._place = trial.step(step)
        self._block: AbstractContextManager[None] | None = None
        self.result = step.result
        self.status: StepStatus | None = None if step.status == "unknown" else step.status
        self.error = step.error
        self.tokens_in, self.tokens_out = step.tokens_in, step.tokens_out
        self.cost_usd = step.cost_usd

    def __enter__(self) -> Self:
        self._block = self._trial.within(self._place)
        self._block.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._block is not None:
            self._block.__exit__(kind, error, trace)
        report: dict[str, Any] = {"result": self.result, "error": self.error}
        if error is not None:
            report["error"] = self.error or first_line(error)
        failed = error is not None or bool(self.error)
        self._trial.step_ended(
            self._place,
            status=self.status or ("error" if failed else "ok"),
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd,
            **report,
        )


def checked_step(step: Step) -> Step:
    """The step, whose kind and status are words that there are.

    Raises:
        UsageError: One is not.
    """
    for name, words in (("kind", get_args(StepKind)), ("status", get_args(StepStatus))):
        word = cast("object", getattr(step, name))
        if word not in words:
            hint = did_you_mean(str(word), words, f"There are: {', '.join(words)}.")
            raise UsageError(f"expect.step({step.name!r}): {name} is {word!r}", hint=hint)
    return step
