"""The opposite of a question: `~Contains("sorry")`, `~Passes("is rude")`. Only a verdict has one."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from evenhand.core.arguments import checked_class
from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.record import Record
from evenhand.core.score import SHARES, Scale, Score
from evenhand.core.traits import Traits, label_of, traits_of

_NOT = "not "
_READS = (
    (re.compile(r"^never "), ""),
    (re.compile(r"^no step fails"), "a step fails"),
    (re.compile(r"^(\S+) never fails"), r"\1 fails"),
    (re.compile(r"^(latency|cost) ≤"), r"\1 >"),
)
"""Labels whose opposite has words of its own."""


class Question:
    """What all scorers share: `~` is the opposite, and arguments that one doesn't take are refused in words."""

    __slots__ = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__init__" in vars(cls):  # a dataclass with slots is made twice, the second time with it
            checked_class(cls)

    def __invert__(self) -> Scorer:
        """The opposite: what passes fails, and the other way round. An error stays an error.

        Raises:
            UsageError: It measures, so that a bound decides.
        """
        return opposite(self)


class Not(Record, frozen=True):
    """The opposite of a question. An error stays an error, and what doesn't apply still doesn't.

    Attributes:
        keeps_score: Only the verdict is turned round.
        word: What its label begins with: `not-` in configs.
    """

    scorer: Scorer
    keeps_score: bool = False
    word: str = _NOT

    @property
    def traits(self) -> Traits:
        """The question's traits; a verdict has no better end of a scale."""
        of = traits_of(self.scorer)
        return Traits(
            gives=of.gives,
            scale=of.scale,
            counted=of.counted,
            of_contexts=of.of_contexts,
            may_ask_nobody=of.may_ask_nobody,
        )

    def score(self, output: Any, trial: Trial) -> Any:
        score = self.scorer.score(output, trial)
        return self._opposite(score) if isinstance(score, Score) else self._later(score)

    async def _later(self, score: Any) -> Score:
        return self._opposite(await score)

    def _opposite(self, score: Score) -> Score:
        if score.value is None:
            return score if score.passed is None else replace(score, passed=not score.passed)
        if score.passed is None:  # `not None` would pass
            hint = _instead(self.scorer) if self.word == _NOT else ""
            raise ScoreError(
                f"{label_of(self.scorer)} gave {score.value:g} without a verdict", hint=hint
            )
        value = score.value if self.keeps_score else opposite_value(score.value, score.scale)
        reason = score.reason
        if score.passed and not reason:
            reason = f"{label_of(self.scorer)} passes"
        metadata = score.metadata
        if "probability" in metadata or "cascade" in metadata:  # of what was asked, not of a pass
            metadata = {**metadata, "negated": True}
        return replace(
            score, value=value, passed=not score.passed, reason=reason, metadata=metadata
        )

    def __invert__(self) -> Scorer:
        return self.scorer

    def __str__(self) -> str:
        label = label_of(self.scorer)
        if self.word == _NOT:
            for pattern, words in _READS:
                if pattern.match(label):
                    return pattern.sub(words, label)
        return self.word + label


def opposite_value(value: float, scale: Scale | None) -> float:
    """What a number becomes where the verdict is turned round; on a scale of its own, it stays.

    A score outside of 0 to 1 must not give an opposite that is outside of it, too.

    >>> opposite_value(0.25, None), opposite_value(4, (1, 5)), opposite_value(30, None)
    (0.75, 4, 0.0)
    """
    return value if scale not in (None, SHARES) else min(1.0, max(0.0, 1.0 - value))


def opposite(scorer: Any) -> Not:
    """The opposite of a scorer.

    Raises:
        UsageError: It measures, so that a bound decides.
    """
    refuse_opposite(scorer)
    return Not(scorer, keeps_score=traits_of(scorer).scale not in (None, SHARES))


def refuse_opposite(scorer: object) -> None:
    """Refuses the opposite of a scorer, or of a class of scorers, that measures.

    Raises:
        UsageError: It measures, so that a bound decides.
    """
    if traits_of(scorer).gives == "number":
        what = f"{label_of(scorer)} measures, and only a verdict has an opposite"
        raise UsageError(what, hint=_instead(scorer))


def _instead(scorer: object) -> str:
    """What to write in place of the opposite of what measures."""
    bound = "at_least" if traits_of(scorer).lower_is_better else "at_most"
    name = scorer.__name__ if isinstance(scorer, type) else type(scorer).__name__
    return f"Leave the ~ out, and write a bound: expect(…, {name}(…), {bound}=…)."
