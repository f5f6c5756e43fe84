"""By how much a corrected mean is less sure than it looks, because trials of one case go together.

As for rates, see `design_effect`: what a trial adds to the mean is how far the judge's score of it is from the judge's
mean, times λ, and, of a labelled trial, how far people's score is from theirs, less λ times the same of the judge's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evenhand.stats.design_effect import FEWEST_CASES, drawn_to_alike, ratio_by_case


class ScoreLabel(NamedTuple):
    """People's score of a trial and the judge's.

    Attributes:
        case: The case, by whatever it is called.
        people: People's score.
        judge: The judge's.
        weight: For how many trials it stands; only compared with those of other labels.
    """

    case: str
    people: float
    judge: float
    weight: float = 1.0


class MeanEffect(NamedTuple):
    """How much less labels say of a mean because trials of one case go together.

    Attributes:
        variance: By how much its variance is larger than if each trial were a case of its own; at least 1.
        free: How many cases are left to tell the spread from; None where no case is repeated.
        cases: How many cases are labelled.
        labels: How many trials are.
    """

    variance: float = 1.0
    free: int | None = None
    cases: int = 0
    labels: int = 0

    @property
    def too_few(self) -> bool:
        """Whether the labels are of so few cases that nothing can be said of others."""
        return self.cases < min(FEWEST_CASES, self.labels)


def mean_effect(
    judged: Sequence[tuple[str, float]],
    labels: Sequence[ScoreLabel],
    weight: float,
    *,
    same_trials: bool,
) -> MeanEffect:
    """By how much less the labels say.

    Args:
        judged: Each judged trial: its case, and the judge's score.
        labels: The labelled trials.
        weight: How much the judge's scores count, λ, from 0 to 1.
        same_trials: Whether the labelled trials are among the judged ones, and not of an earlier run of the same cases.

    Returns:
        1 without labels, and where no case has two trials and these are the labelled ones.

    Source: as `design_effects`; the mean is that of Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453.

    >>> judged = [(case, float(ord(case) % 5)) for case in "abcdefghijkl" for _ in range(3)]
    >>> labels = [ScoreLabel(case, 5 - score, score) for case, score in judged]
    >>> found = mean_effect(judged, labels, 0.0, same_trials=True)
    >>> round(found.variance, 2), found.free
    (3.27, 11)
    """
    cases = [label.case for label in labels]
    known = {case for case, _ in judged}
    different = len(set(cases))
    once = len(known) == len(judged) and different == len(cases)
    if not labels or not judged or (once and same_trials):
        return MeanEffect(cases=different, labels=len(labels))
    ratio = ratio_by_case(_parts(judged, labels, weight))
    if once:
        return MeanEffect(max(1.0, ratio), cases=different, labels=len(labels))
    groups = len(known | set(cases))
    variance = drawn_to_alike(ratio, cases) * groups / max(1, groups - 1)
    return MeanEffect(variance, max(1, different - 1), different, len(labels))


def _parts(
    judged: Sequence[tuple[str, float]], labels: Sequence[ScoreLabel], weight: float
) -> Iterator[tuple[str, float]]:
    middle = math.fsum(score for _, score in judged) / len(judged)
    for case, score in judged:
        yield case, weight * (score - middle) / len(judged)
    total = math.fsum(one.weight for one in labels)
    people = math.fsum(one.weight * one.people for one in labels) / total
    judge = math.fsum(one.weight * one.judge for one in labels) / total
    for one in labels:
        yield one.case, one.weight / total * (one.people - people - weight * (one.judge - judge))
