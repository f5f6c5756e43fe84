"""Assertion types that installed packages add: a function of the output, or a class of scorers made of the value.

`not-`, `weight`, `metric`, `transform` and `threshold` are ours: what a package adds only scores.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from evenhand.core.errors import EvenhandError, ScoreError, UsageError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import is_number
from evenhand.core.plugins import Plugin
from evenhand.core.record import Record
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits, label_of, traits_of
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind, Wrong
from evenhand.scorers.function import FunctionScorer, as_scorer

_WRITE_ONE = "Write threshold: … beside the type."


class Bounded(Record, frozen=True):
    """A scorer and the assertion's threshold, which decides where the scorer does not."""

    scorer: Scorer
    threshold: float | None

    async def score(self, output: Any, trial: Trial) -> Score:
        result: Any = self.scorer.score(output, trial)
        score: Any = await result if inspect.isawaitable(result) else result
        if not isinstance(score, Score):
            raise ScoreError(f"{self} gave {type(score).__name__}, not a Score")
        if score.value is None:
            return score
        bound, passed, reason = self.threshold, score.passed, score.reason
        if bound is None and passed is None:
            raise ScoreError(
                f"{self} gave {score.value:g} without a verdict, and there is no threshold",
                hint=_WRITE_ONE,
            )
        traits = traits_of(self.scorer)
        if bound is not None:
            low = traits.lower_is_better
            meets_bound = score.value <= bound if low else score.value >= bound
            if not meets_bound:
                shortfall = f"{score.value:g}, wanted at {'most' if low else 'least'} {bound:g}"
                reason = f"{shortfall}: {reason}" if reason else shortfall
            # A bound can only make the scorer's own verdict stricter.
            passed = meets_bound and passed is not False
        settled = replace(score, passed=passed, reason=reason, scale=score.scale or traits.scale)
        return settled if _has_scale(score, traits) else _as_verdict(settled)

    def __str__(self) -> str:
        return label_of(self.scorer)


def _has_scale(score: Score, traits: Traits) -> bool:
    """Whether a number can take part in the mean of a test's scores, which are from 0 to 1 if nothing else is said."""
    if score.scale is not None or traits.scale is not None:
        return True
    decides = score.passed is not None and traits.gives != "number"
    return decides and 0 <= (score.value or 0.0) <= 1


def _as_verdict(score: Score) -> Score:
    """A count as promptfoo scores its own (`word-count`): 1 if it passes, else 0. The count is kept beside it."""
    return replace(
        score,
        value=1.0 if score.passed else 0.0,
        reason=score.reason or f"{score.value:g}",
        metadata={"measured": score.value, **score.metadata},
        scale=SHARES,
    )


def kind_from(added: Plugin) -> Kind:
    """The assertion type that a package adds.

    Raises:
        UsageError: It cannot be imported, or is not a scorer.
    """
    loaded = added.load()
    if not callable(loaded) or (isinstance(loaded, type) and not hasattr(loaded, "score")):
        raise added.broken("is neither a function of the output nor a class with a score()")

    def make(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
        try:
            scorer = _scorer(loaded, added.name, value)
        except EvenhandError as error:
            raise ScoreError(error.message, hint=error.hint) from error
        except Exception as error:  # the package's own code
            broken = added.broken(f"cannot be made of the value {value!r}", error)
            raise ScoreError(broken.message, hint=broken.hint) from error
        return Bounded(scorer, assertion.threshold)

    try:
        traits = traits_of(
            loaded if isinstance(loaded, type) else _function(loaded, added.name, None)
        )
    except UsageError as error:
        raise added.broken("cannot be used", error) from error
    about = (inspect.getdoc(loaded) or "").partition("\n")[0]
    return Kind(
        added.name,
        about or added.place,
        make,
        group=f"from the package {added.package}",
        optional=True,
        # Of a number on a scale of its own, only the verdict has an opposite.
        negation="opposite" if traits.scale in (None, SHARES) else "kept",
        check=functools.partial(_check, traits),
    )


def _scorer(target: Callable[..., Any], name: str, value: Any) -> Scorer:
    if isinstance(target, type):
        return as_scorer(target(value) if inspect.signature(target).parameters else target())
    return _function(target, name, value)


def _function(target: Callable[..., Any], name: str, value: Any) -> FunctionScorer:
    function = functools.partial(target, value=value) if _takes_value(target) else target
    label = name if value is None else f"{name} {value!r}"
    return FunctionScorer(cast("Any", function), label)


def _takes_value(function: Callable[..., Any]) -> bool:
    try:
        return "value" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _check(traits: Traits, assertion: Assertion) -> Wrong:
    bound = cast("object", assertion.threshold)  # as written
    if bound is None:
        if traits.gives != "number":
            return ()
        return [(f"'{assertion.written}' gives a number, and has no threshold", _WRITE_ONE)]
    return () if is_number(bound) else [(f"threshold is {bound!r}, not a number", "")]
