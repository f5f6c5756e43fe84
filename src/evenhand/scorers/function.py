"""A plain function as a scorer: `expect(reply.text, is_iso_date)`, `expect(reply.text, word_count, at_most=60)`."""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, Self, cast

from evenhand.core.case import Case
from evenhand.core.errors import CodeError, UsageError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.score import Score, check, is_bool
from evenhand.core.traits import Traits
from evenhand.scorers.opposite import Question, opposite_value, refuse_opposite

ScorerResult = bool | float | Score
"""What a function may say of an output."""
ScorerFunction = (
    Callable[[Any], ScorerResult | Awaitable[ScorerResult]]
    | Callable[[Any, Case], ScorerResult | Awaitable[ScorerResult]]
)
"""A function of the output, or of the output and the case, which is then called `case`."""


@dataclass(frozen=True, slots=True)
class FunctionScorer(Question):
    """A function's answer: True or False, a number, or a Score. `~` asks the opposite of a verdict.

    `expect`, `score` and `score_batch` take the function itself; this gives it a label, traits, or its opposite. It may
    be `async`; a plain one runs off the event loop. A parameter called `case` is given the case.

    Args:
        function: What is asked, with the output.
        label: What people read; the function's name by default.
        traits: What is known of its answers before; by default as its annotation says, `-> bool` or `-> float`.

    Raises:
        UsageError: It is no function of one output, or a lambda without a label.
    """

    function: ScorerFunction = field(repr=False)
    label: str = ""
    traits: Traits = field(default_factory=Traits, kw_only=True)
    negated: bool = field(default=False, kw_only=True)
    _with_case: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        function: object = self.function
        if isinstance(function, type) or not callable(function):
            raise UsageError(
                f"FunctionScorer: {function!r} is not a function",
                hint="Write def is_short(output: str) -> bool: …",
            )
        name = _name(function)
        if not self.label and name == "<lambda>":
            raise UsageError(
                "a lambda as a scorer needs a label",
                hint='Write label="…", or use a named function.',
            )
        object.__setattr__(self, "_with_case", _takes_case(function, name))
        object.__setattr__(self, "label", self.label or name)
        if self.traits == Traits():
            object.__setattr__(self, "traits", _annotated(function))

    @property
    def takes_case(self) -> bool:
        """Whether the function is given the case, too."""
        return self._with_case

    async def score(self, output: Any, trial: Trial) -> Score:
        call = functools.partial(cast("Callable[..., Any]", self.function), output)
        if self._with_case:
            call = functools.partial(call, case=trial.case)
        score = self._read(await trial.call(call, name=self.label))
        return self._opposite(score) if self.negated else score

    def _read(self, result: object) -> Score:
        if isinstance(result, Score):
            return result
        if is_bool(result):
            return check(bool(result))
        if isinstance(result, numbers.Real):
            return Score(float(result))
        raise CodeError(
            f"{self.label} returned {type(result).__name__}, not True or False, a number, or a Score"
        )

    def _opposite(self, score: Score) -> Score:
        if score.value is None:
            return score if score.passed is None else replace(score, passed=not score.passed)
        if score.passed is None:
            raise CodeError(
                f"{self} gave the number {score.value:g}, and only a verdict has an opposite",
                hint="Leave the ~ out, and write at_least= or at_most=.",
            )
        value = opposite_value(score.value, score.scale)
        return replace(score, value=value, passed=not score.passed)

    def __invert__(self) -> Self:
        """The opposite.

        Raises:
            UsageError: It gives a number, as its annotation says.
        """
        refuse_opposite(self)
        return replace(self, negated=not self.negated)

    def __str__(self) -> str:
        return f"not {self.label}" if self.negated else self.label


def as_scorer(target: object, label: str = "") -> Scorer:
    """A scorer as it is; a function as one.

    Raises:
        UsageError: It is neither, or a function that cannot be asked.
    """
    if isinstance(target, type):
        raise UsageError(f"{target.__name__} is a class", hint=f"Write {target.__name__}(…).")
    if hasattr(target, "score"):
        return cast("Scorer", target)
    if callable(target):
        return FunctionScorer(cast("ScorerFunction", target), label)
    hint = "`evenhand info scorers` lists those that there are."
    if isinstance(target, (list, tuple)):
        hint = "Write an expect(…) for each scorer."
    if isinstance(target, bool):
        # `not Contains(…)` is plain False by the time it gets here.
        hint = "For the opposite of a scorer write ~ before it, as in ~Contains('sorry')."
    elif isinstance(target, (int, float)):
        hint = f'To bound a number: expect(number, at_most={target}, label="…"), or at_least.'
    raise UsageError(f"{type(target).__name__} {str(target)[:60]!r} is not a scorer", hint=hint)


def _annotated(function: object) -> Traits:
    """What a function's annotation says of its answers."""
    # A partial has no annotations of its own.
    while isinstance(function, functools.partial):
        function = function.func
    returned = getattr(inspect.unwrap(cast("Any", function)), "__annotations__", {}).get("return")
    if returned in (bool, "bool"):
        return Traits(gives="verdict")
    return Traits(gives="number") if returned in (int, float, "int", "float") else Traits()


def _name(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _takes_case(function: Any, name: str) -> bool:
    """Whether a scorer function takes the case, too; raises UsageError."""
    if type(function) is FunctionType and _of_one(function):
        return False
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # one that is not written in Python
        return False
    case = {"case": None} if "case" in signature.parameters else {}
    try:
        signature.bind(None, **case)
    except TypeError as error:
        raise UsageError(
            f"{name} as a scorer is given the output, and the case where it has a parameter 'case': {error}",
            hint=f"Write def {name}(output): … or def {name}(output, case): ….",
        ) from None
    return bool(case)


def _of_one(function: FunctionType) -> bool:
    """Whether a function plainly takes one thing, which is the output: most do, and a signature takes its time."""
    code = function.__code__
    flags = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    one = code.co_argcount == 1 and not code.co_kwonlyargcount and not flags
    # A wrapper's own code takes *args; only inspect.signature follows `__wrapped__` to the real parameters.
    return one and code.co_varnames[0] != "case" and not hasattr(function, "__wrapped__")
