"""Which of a judge's verdicts can stand by themselves, at a risk that is agreed on beforehand.

How this works: each verdict comes with a number that says how sure the judge seems. Verdicts above a threshold are
accepted, the others are for a person. From the surest verdicts on, ever more are accepted. At each step somebody bets
on each labelled verdict among them that it is right, at odds that would be fair if just too many of these verdicts were
wrong. Who multiplies the stake by 1 / delta has shown that fewer are, whenever that happens: people may look after each
label. A step at which that hasn't happened ends it. As the surest step alone would have few labels, there are two
places to begin, each with half of delta: with half of the verdicts, and with all.

The promise is about these verdicts, and the labelled ones are a random draw of them, in the order of the draw. So it
holds whatever verdicts have in common, also where several are of one case. Of verdicts on other cases nothing is
promised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

STEPS = 20
"""Thresholds that are tried: fewer steps are less often ended by one unlucky label."""
DELTA = 0.1
STAKES = (0.1, 0.25, 0.5, 0.75, 0.95)
"""The parts of the capital that are bet on each label, a fifth of the capital by each."""
_BEGINNINGS = (0.5, 1.0)
"""Shares of the verdicts at which accepting may begin; each has an equal part of delta."""


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

    It holds at every number of labels, however often somebody looks.

    Args:
        labelled: For each labelled verdict, how sure it is, and whether people agree with it; in the order of the draw.
        everything: How sure each verdict is, the labelled ones among them. Higher is surer, in any unit.
        risk: The share of accepted verdicts that may be wrong, between 0 and 1.
        delta: How likely it may be that more are.

    Returns:
        None where no step passes: there are too few labels, or too many wrong verdicts.

    Raises:
        ValueError: The risk or delta isn't between 0 and 1.

    Source: thresholds in a fixed order as in Jung, Brahman and Choi, "Trust or Escalate" (ICLR 2025), arXiv:2407.18370,
        at quantiles. The level of a step that passes goes to the next one: Wiens, "A fixed sequence Bonferroni
        procedure for testing multiple endpoints" (Pharmaceutical Statistics 2, 2003), doi:10.1002/pst.64. The bets are
        those of Waudby-Smith and Ramdas, "Confidence sequences for sampling without replacement" (NeurIPS 2020),
        arXiv:2006.04347.

    >>> acceptable([(0.9, True)] * 40 + [(0.2, False)] * 40, [0.9] * 100 + [0.2] * 100, 0.1)
    Acceptance(threshold=0.9, labelled=40, wrong=0, accepted=100)
    """
    if not 0 < risk < 1 or not 0 < delta < 1:
        msg = f"a risk of {risk} with delta {delta}"
        raise ValueError(msg)
    thresholds = thresholds_of(everything)
    accepted = [sum(certainty >= t for certainty in everything) for t in thresholds]
    begins = _beginnings(accepted)
    level = 0.0
    best: Acceptance | None = None
    for place, threshold in enumerate(thresholds):
        level += delta * begins.count(place) / len(begins)
        if not level:
            continue
        verdicts = [agrees for certainty, agrees in labelled if certainty >= threshold]
        wrong = verdicts.count(False)
        proven = _capital(verdicts, accepted[place], risk) >= 1 / level
        # What was shown once still holds; but nobody accepts what the labels contradict by now.
        if proven and wrong <= risk * len(verdicts):
            best = Acceptance(threshold, len(verdicts), wrong, accepted[place])
        else:
            # A failed step has spent its part of the level; only a step that passes hands it on.
            level = 0.0
    return best


def _beginnings(accepted: Sequence[int]) -> list[int]:
    """The steps at which accepting may begin. They depend on how sure the verdicts are, and on no label."""
    if not accepted:
        return [0]
    return [
        next(place for place, count in enumerate(accepted) if count >= share * accepted[-1])
        for share in _BEGINNINGS
    ]


def _capital(agrees: Sequence[bool], accepted: int, risk: float) -> float:
    """The most that betting on these verdicts, in turn, has made of a stake of 1.

    The supposition is that just too many of the accepted verdicts are wrong; if more are, less is made.
    """
    # 0.29 × 100 is slightly less than 29 as a float.
    too_many = math.floor(risk * accepted + 1e-9) + 1
    capitals = [0.0] * len(STAKES)  # as logarithms
    most = 0.0
    wrong = 0
    for place, right in enumerate(agrees):
        left, unseen = too_many - wrong, accepted - place
        if left <= 0:
            break
        if left >= unseen:  # all that are left would have to be wrong
            return math.inf if right or left > unseen else most
        odds = left / (unseen - left)
        for bettor, stake in enumerate(STAKES):
            capitals[bettor] += math.log1p(stake * odds if right else -stake)
        wrong += not right
        most = max(most, sum(map(math.exp, capitals)) / len(STAKES))
    return math.inf if too_many > accepted else most


def labels_for_nothing_wrong(risk: float, delta: float = DELTA) -> int:
    """How many labelled verdicts it takes at least: with so many, none of them wrong, the risk is shown to be smaller.

    That is of many verdicts, some surer than others.

    >>> labels_for_nothing_wrong(0.1), labels_for_nothing_wrong(0.2)
    (41, 20)
    """
    return _labels(risk, 0.0, delta)


def labels_for_errors(risk: float, errors: float, delta: float = DELTA) -> int | None:
    """About how many labelled verdicts it takes where a share of them is wrong; None where no number is enough.

    >>> labels_for_errors(0.1, 0.05)
    245
    >>> labels_for_errors(0.1, 0.1)
    """
    odds = risk / (1 - risk)
    grows = ((1 - errors) * math.log1p(s * odds) + errors * math.log1p(-s) for s in STAKES)
    return _labels(risk, errors, delta) if max(grows) > 0 else None


def _labels(risk: float, errors: float, delta: float) -> int:
    """How many labels it takes to make of a stake what a beginning asks for, where a share of them is wrong."""
    odds = risk / (1 - risk)
    n = 1
    while True:
        wrong = math.floor(n * errors + 0.5)
        labels = (
            math.exp((n - wrong) * math.log1p(stake * odds) + wrong * math.log1p(-stake))
            for stake in STAKES
        )
        if sum(labels) / len(STAKES) >= len(_BEGINNINGS) / delta:
            return n
        # Steps of about 2 % from 100 on: single steps would take long where thousands of labels are needed.
        n += max(1, n // 50)


def thresholds_of(everything: Sequence[float]) -> list[float]:
    """From the surest on, at quantiles; each value that is there where there are few."""
    values = sorted(everything, reverse=True)
    different = sorted(set(values), reverse=True)
    if len(different) <= STEPS:
        return different
    places = (math.ceil(len(values) * step / STEPS) - 1 for step in range(1, STEPS + 1))
    return sorted({values[place] for place in places}, reverse=True)
