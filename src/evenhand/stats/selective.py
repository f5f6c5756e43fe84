"""Which of a judge's verdicts can stand by themselves, at a risk that is agreed on beforehand.

How this works: each verdict comes with a number that says how sure the judge seems. Verdicts above a threshold are
accepted, the others are for a person. From the surest verdicts on, ever more are accepted; at each step the labelled
ones among them are counted, and an exact test asks whether more than the agreed share of them can be wrong. The first
step that fails ends it. The order of the steps is fixed before the labels are seen, so it needs no correction for their
number. Where there are labels enough, the first step is one that a few wrong verdicts would not fail: of ten labels, a
single unlucky one would end it.

The promise is about these verdicts, and the labelled ones are a random draw of them. So it holds whatever verdicts have
in common, also where several are of one case. Of verdicts on other cases nothing is promised. Nor does the promise
allow for having tested before, with fewer labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.stats.beta import beta_share
from evenhand.stats.hypergeometric import chances

STEPS = 20
"""Thresholds that are tried: fewer steps are less often ended by one unlucky label."""
SPARE = 0.25
"""The first step has so many labels that this part of the agreed share of them may be wrong, and it passes."""
DELTA = 0.1


class Acceptance(NamedTuple):
    """The verdicts that can stand.

    Attributes:
        threshold: Verdicts that are at least so sure are accepted.
        labelled: Labelled verdicts among the accepted ones.
        wrong: How many of these people disagree with.
        accepted: Accepted verdicts of all.
    """

    threshold: float
    labelled: int
    wrong: int
    accepted: int


def acceptable(
    labelled: Sequence[tuple[float, bool]],
    everything: Sequence[float],
    risk: float,
    delta: float = DELTA,
) -> Acceptance | None:
    """The most verdicts that can be accepted so that at most a share `risk` of them is wrong.

    That holds with confidence 1 − delta, if the labelled verdicts are a random draw of all. It holds for these
    verdicts: on other cases, the same threshold may let more wrong ones through.

    Args:
        labelled: For each labelled verdict, how sure it is, and whether people agree with it.
        everything: How sure each verdict is, the labelled ones among them. Higher is surer, in any unit.
        risk: The share of accepted verdicts that may be wrong, between 0 and 1.
        delta: How likely it may be that more are.

    Returns:
        None where no step passes: there are too few labels, or too many wrong verdicts.

    Raises:
        ValueError: The risk or delta isn't between 0 and 1.

    Source: fixed-sequence testing as in Jung, Brahman and Choi, "Trust or Escalate" (ICLR 2025), arXiv:2407.18370, with
        thresholds at quantiles, and the exact test of a draw without replacement: the labelled verdicts are among
        those that are accepted.

    >>> acceptable([(0.9, True)] * 40 + [(0.2, False)] * 40, [0.9] * 100 + [0.2] * 100, 0.1)
    Acceptance(threshold=0.9, labelled=40, wrong=0, accepted=100)
    """
    if not 0 < risk < 1 or not 0 < delta < 1:
        msg = f"a risk of {risk} with delta {delta}"
        raise ValueError(msg)
    steps: list[Acceptance] = []
    for threshold in _thresholds(everything):
        verdicts = [agrees for certainty, agrees in labelled if certainty >= threshold]
        accepted = sum(certainty >= threshold for certainty in everything)
        wrong = len(verdicts) - sum(verdicts)
        steps.append(Acceptance(threshold, len(verdicts), wrong, accepted))
    found: Acceptance | None = None
    for step in steps[_first(steps, risk, delta) :]:
        if _chance(step.wrong, step.labelled, step.accepted, risk) > delta:
            break
        found = step
    return found


def _first(steps: Sequence[Acceptance], risk: float, delta: float) -> int:
    """Where to begin. It depends on how many labels there are, and on nothing that they say."""
    for spare in (risk * SPARE, 0.0):
        for place, step in enumerate(steps):
            wrong = math.floor(step.labelled * spare + 0.5)
            if _chance(wrong, step.labelled, step.accepted, risk) <= delta:
                return place
    return len(steps)


def labels_for_nothing_wrong(risk: float, delta: float = DELTA) -> int:
    """How many labelled verdicts it takes at least: with so many, none of them wrong, the risk is shown to be smaller.

    >>> labels_for_nothing_wrong(0.1), labels_for_nothing_wrong(0.2)
    (22, 11)
    """
    return math.ceil(math.log(delta) / math.log1p(-risk))


def labels_for_errors(risk: float, errors: float, delta: float = DELTA) -> int | None:
    """About how many labelled verdicts it takes where a share of them is wrong; None where no number is enough.

    >>> labels_for_errors(0.1, 0.05)
    65
    """
    if errors >= risk:
        return None
    n = labels_for_nothing_wrong(risk, delta)
    while _chance_of_so_few(math.floor(n * errors + 0.5), n, risk) > delta:
        n += max(1, n // 50)
    return n


def _thresholds(everything: Sequence[float]) -> list[float]:
    """From the surest on, at quantiles; each value that is there where there are few."""
    values = sorted(everything, reverse=True)
    different = sorted(set(values), reverse=True)
    if len(different) <= STEPS:
        return different
    places = (math.ceil(len(values) * step / STEPS) - 1 for step in range(1, STEPS + 1))
    return sorted({values[place] for place in places}, reverse=True)


def _chance(wrong: int, n: int, accepted: int, risk: float) -> float:
    """How likely so few wrong ones are among n drawn of the accepted ones, if just too many of these are wrong."""
    too_many = math.floor(risk * accepted + 1e-9) + 1
    if too_many > accepted:
        return 0.0
    likely = chances(too_many, accepted, n)
    return math.fsum(p for k, p in likely.items() if k <= wrong)


def _chance_of_so_few(wrong: int, n: int, risk: float) -> float:
    """How likely so few wrong ones of n are if each is wrong with this probability: a binomial distribution."""
    return 1.0 if wrong >= n else 1.0 - beta_share(wrong + 1, n - wrong, risk)
