"""`expect`: records an expectation, softly. Nothing raises, nothing waits; all are settled when the eval is done."""

from __future__ import annotations

import copy
import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, TypeVar, cast, overload

from evenhand.core.errors import CodeError, EvenhandError, UsageError
from evenhand.core.expect import Asks, Expectation, Scorer, Trial
from evenhand.core.score import Outcome, Score, check

J = TypeVar("J")


@dataclass(frozen=True, slots=True)
class Stated:
    """Something that is true or false, as the eval found it."""

    label: str
    reason: str = ""

    def score(self, output: Any, trial: Trial) -> Score:
        del trial
        return check(bool(output), self.reason)

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class Measured:
    """A number, as the eval found it; bounds decide."""

    label: str

    def score(self, output: Any, trial: Trial) -> Score:
        del trial
        return Score(float(output))

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class Raised:
    """Something that went wrong while the eval ran: an error, wherever it is asked."""

    label: str
    error: Exception

    def score(self, output: Any, trial: Trial) -> Score:
        del output, trial
        raise self.error

    def __str__(self) -> str:
        return self.label


class Expect:
    """What an eval is given to say what it expects.

    `expect(condition, "label")`, `expect(number, at_most=2, label="seconds")`, `expect(text, Contains("30 days"))`.
    Further keyword arguments are kept beside the outcome.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.count = 0

    def __call__(
        self,
        value: Any,
        scorer: Scorer | str | None = None,
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
            scorer: A scorer; or, for a condition, its label.
            at_least: A score below this fails.
            at_most: A score above this fails.
            label: What people read, instead of the scorer's own.
            weight: Its share in the trial's score.
            metric: Also count the score under this name.
            **metadata: Kept beside the outcome.

        What there is nothing to decide by (a number or a scorer that measures without a bound, a condition without a
        label) is an error among the outcomes, and ends nothing either.
        """
        self.count += 1
        self._trial.expect(
            self._expectation(value, scorer, at_least, at_most, label, weight, metric, metadata)
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
        scorer: Scorer,
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
        scorer: Scorer,
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
        self.count += 1
        expectation = self._expectation(
            value, scorer, at_least, at_most, label, weight, metric, metadata, at_once=True
        )
        outcome = await self._trial.now(expectation)
        if not hasattr(scorer, "judgement"):
            return outcome
        return cast("Asks[object]", scorer).judgement(outcome)

    @contextmanager
    def that(self, label: str, /, **metadata: Any) -> Iterator[None]:
        """A block that must not raise: an AssertionError in it fails the expectation, anything else is an error."""
        self.count += 1
        scorer: Scorer = Stated(label)
        value = True
        try:
            yield
        except AssertionError as error:
            said = str(error) or traceback.extract_tb(error.__traceback__)[-1].line
            value, scorer = False, Stated(label, said or "an assertion did not hold")
        except EvenhandError as error:
            scorer = Raised(label, error)
        except Exception as error:  # noqa: BLE001 (whatever the block raises is this expectation's error)
            frame = traceback.extract_tb(error.__traceback__)[-1]
            hint = f"{frame.filename}:{frame.lineno}: {frame.line}"
            scorer = Raised(label, CodeError(f"{type(error).__name__}: {error}", hint=hint))
        self._trial.expect(Expectation(value, scorer, metadata=metadata))

    def _expectation(
        self,
        value: Any,
        scorer: Scorer | str | None,
        at_least: float | None,
        at_most: float | None,
        label: str,
        weight: float,
        metric: str,
        metadata: dict[str, Any],
        *,
        at_once: bool = False,
    ) -> Expectation:
        bounded = at_least is not None or at_most is not None
        if isinstance(scorer, str):
            label, scorer = scorer, None
        answers = at_once and hasattr(scorer, "judgement")  # the eval looks at the answer itself
        what, hint = _misgiven(at_least, at_most, weight, label, metric), ""
        if not what:
            what, hint = _undecided(value, scorer, label, bounded or answers)
        if what:
            wrong = UsageError(f"{_place()}: expect: {what}", hint=hint)
            asked = Raised(str(label or scorer or "expect"), wrong)
            return Expectation(None, asked, metadata=metadata)
        if scorer is None:
            scorer = Measured(label) if bounded else Stated(label)
        if isinstance(value, (list, dict, set)):
            with suppress(Exception):  # what cannot be copied is looked at as it is then
                value = copy.deepcopy(value)
        return Expectation(value, scorer, at_least, at_most, weight, metric, label, metadata)


def _misgiven(at_least: Any, at_most: Any, weight: Any, label: Any, metric: Any) -> str:
    """Which argument is of the wrong kind; empty for none."""
    for name, number in (("at_least", at_least), ("at_most", at_most), ("weight", weight)):
        if number is None and name != "weight":
            continue
        if type(number) is bool or not isinstance(number, Real) or not isfinite(number):
            return f"{name} is {number!r}, not a number"
    if weight < 0:
        return f"weight is {weight!r}, less than 0"
    for name, text in (("label", label), ("metric", metric)):
        if not isinstance(text, str):
            return f"{name} is {text!r}, not a text"
    return ""


def _undecided(value: Any, scorer: Scorer | None, label: str, bounded: bool) -> tuple[str, str]:
    """What keeps an expectation from being decided, and what to do; empty where it can be."""
    if scorer is not None:
        if isinstance(scorer, type):
            return f"{scorer.__name__} is a class", f"Write {scorer.__name__}(…)."
        if not hasattr(scorer, "score"):
            return (
                f"{type(scorer).__name__} {str(scorer)[:60]!r} is no scorer",
                "`evenhand scorers` lists those that there are.",
            )
        if getattr(scorer, "measures", False) and not bounded:
            return f"{scorer} gives a number, and has no bound", "Write at_least= or at_most=."
        return "", ""
    if not label:
        hint = 'Write expect(condition, "what it says").'
        return "a condition or a number needs a label", hint
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if bounded and not number:
        return f"{label}: bounds are for numbers, and this is {value!r}", ""
    if number and not bounded:
        hint = "Write at_least= or at_most=, or a condition."
        return f"{label}: {value!r} is a number, and has no bound", hint
    return "", ""


def _place() -> str:
    """The line of the user's that is expecting something."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""
