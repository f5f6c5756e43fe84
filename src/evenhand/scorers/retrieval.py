"""How well something was found: `expect(ids, nDCG(relevant, k=10), at_least=0.7)`. No model is asked.

The output is a ranking: ids, the best first, or a dict from ids to scores. What is relevant is a list or set of ids, or
a dict from ids to grades. Where nothing is relevant, the question does not apply.
`evenhand.scorers.metrics.ranking` defines the numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any, ClassVar

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_mapping, is_number, is_whole
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits
from evenhand.scorers.metrics.ranking import Kind, RankMetric, Relevant, Retrieved
from evenhand.scorers.opposite import Question

_MOST = 1000.0
"""No grade is above this: 2^1000 is near the largest number that there is."""
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Ranked(Question):
    """Any of these numbers, as `evenhand.scorers.metrics.ranking.parse` gives it: `Ranked(parse("nDCG@10"), relevant)`.

    Args:
        relevant: What is relevant: ids, or grades by id.

    Raises:
        UsageError: What is relevant is a bare text, or a grade is no number.
    """

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES)

    metric: RankMetric
    relevant: Relevant = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "relevant", relevant_of(str(self.metric), self.relevant))

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        retrieved = _retrieved(str(self.metric), output)
        value = self.metric(retrieved, self.relevant)
        if value is None:
            return Score(None, reason="nothing is relevant, so there is nothing to find")
        _need_one_type(str(self.metric), retrieved, self.relevant)
        hits = [name for name in list(retrieved)[:_SHOWN] if name in self.relevant]
        missing = len(self.relevant) - len(set(retrieved) & set(self.relevant))
        reason = f"of {len(self.relevant)} relevant, {missing} not retrieved" if missing else ""
        return Score(value, reason=reason, metadata={"relevant_retrieved": list(map(str, hits))})

    def __str__(self) -> str:
        return str(self.metric)


def _need_one_type(who: str, retrieved: Retrieved, relevant: Relevant) -> None:
    """Refuses ids that are the same in words and not in type: 7 and "7" never match, and the score would be 0."""
    there = set(retrieved)
    missed = {str(name): name for name in relevant if name not in there}
    for name in there if missed else ():
        if name not in relevant and str(name) in missed:
            raise ScoreError(
                f"{who}: {name!r} was retrieved, and {missed[str(name)]!r} is relevant",
                hint="Write both as texts, or both as numbers.",
            )


def _metric(kind: Kind, k: Any) -> RankMetric:
    if k is not None and (not is_whole(k)):
        raise UsageError(f"{kind}: k is {k!r}, not a whole number")
    try:
        return RankMetric(kind, k)
    except ValueError as error:
        raise UsageError(str(error)) from None


class PrecisionAt(Ranked):
    """P@k: which share of the first k is relevant. The share is of k, also where fewer were retrieved."""

    __slots__ = ()

    def __init__(self, relevant: Relevant, *, k: int) -> None:
        super().__init__(_metric("P", k), relevant)


class RecallAt(Ranked):
    """R@k: which share of what is relevant is among the first k."""

    __slots__ = ()

    def __init__(self, relevant: Relevant, *, k: int) -> None:
        super().__init__(_metric("R", k), relevant)


class HitAt(Ranked):
    """hit@k: 1 where something relevant is among the first k, else 0."""

    __slots__ = ()

    def __init__(self, relevant: Relevant, *, k: int) -> None:
        super().__init__(_metric("hit", k), relevant)


class ReciprocalRank(Ranked):
    """RR: 1 divided by the rank of the first that is relevant; 0 where none is."""

    __slots__ = ()

    def __init__(self, relevant: Relevant, *, k: int | None = None) -> None:
        super().__init__(_metric("RR", k), relevant)


class AveragePrecision(Ranked):
    """AP: P@r summed over the ranks r of what is relevant, divided by all that are relevant."""

    __slots__ = ()

    def __init__(self, relevant: Relevant, *, k: int | None = None) -> None:
        super().__init__(_metric("AP", k), relevant)


class nDCG(Ranked):  # noqa: N801 (the field's spelling)
    """nDCG@k: how near the order comes to the best one. With `exponential`, a gain is 2^grade - 1 and not the grade."""

    __slots__ = ()

    def __init__(
        self, relevant: Relevant, *, k: int | None = None, exponential: bool = False
    ) -> None:
        super().__init__(_metric("nDCG_exp" if exponential else "nDCG", k), relevant)


def relevant_of(who: str, relevant: object) -> Relevant:
    """What is relevant, as it can be kept: a set of ids, or a dict of grades above 0.

    Raises:
        UsageError: It is a bare text, no collection, or has a grade that is no number.
    """
    if is_mapping(relevant):
        for name, grade in relevant.items():
            if not is_number(grade):
                raise UsageError(f"{who}: the grade of {name!r} is {grade!r}, not a number")
            if not isfinite(grade) or grade > _MOST:
                raise UsageError(f"{who}: the grade of {name!r} is {grade!r}, not up to {_MOST:g}")
        return {name: grade for name, grade in relevant.items() if grade > 0}
    return frozenset(_ids(f"{who}: what is relevant", relevant))


def _retrieved(who: str, output: object) -> Retrieved:
    if is_mapping(output):
        for name, score in output.items():
            if not is_number(score) or isnan(score):
                raise ScoreError(f"{who}: the score of {name!r} is {score!r}, not a number")
        return output
    try:
        return _ids(f"{who}: what was retrieved", output)
    except UsageError as error:
        raise ScoreError(error.message, hint=error.hint) from None


def _ids(what: str, values: object) -> list[Hashable]:
    hint = "Write a list of ids, the best first."
    if isinstance(values, (str, bytes)):
        raise UsageError(f"{what} is {values!r}, a text and not a list", hint=hint)
    if not isinstance(values, (Sequence, Collection)):
        raise UsageError(f"{what} is {values!r}, not a list", hint=hint)
    ids: list[Hashable] = list(values)
    for one in ids:
        try:
            hash(one)
        except TypeError:
            raise UsageError(f"{what} has {one!r} in it, not an id", hint=hint) from None
    return ids
