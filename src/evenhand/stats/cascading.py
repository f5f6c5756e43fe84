"""How sure one judge, or both of a cascade, has to be, so that few enough of the verdicts that stand are wrong.

How this works: a person labels a draw of outputs that the judges judged. Ways to share out the outputs are tried in an
order that is fixed beforehand. At each, the labels say how many verdicts would stand and how many of these would be
wrong: of both judges together. A way passes if so few would be unlikely at a higher risk, by the exact binomial tail;
then the next one is tried at the same level, and a way that fails ends its order. There are three orders:

1. The second judge decides all that the first one doesn't: from nothing at all to everything that the first one may
   decide. Each output has a verdict, so each label counts at each step, which is why few are enough.
2. The second judge alone, from what it is surest of to all: for one that errs too often. It leads up to the first
   order, and hands its level on to it.
3. The first judge alone, where the second one errs too often.

A judge without another before it has the second order only, from half of its verdicts on and from all of them.

A label that is still missing counts as a wrong verdict. More labels of a draw can only make that better, so what passes
after some of them would have passed in the end: people may look after each label. Each further draw is another look,
and has a smaller part of delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

STEPS = 20
"""Thresholds that are tried: fewer steps are less often ended by one unlucky label."""
DELTA = 0.05
"""How likely it may be that more verdicts are wrong than agreed."""
BEST, OTHER = 0.8, 0.1
"""The parts of delta of the first order, and of each of the others; and of the first draw."""
ONE = (0.5, 0.5)
"""The parts of delta of half of a single judge's verdicts, and of all."""


class JudgedTwice(NamedTuple):
    """What both judges said of one output.

    Attributes:
        first: How sure the first one is; None where it gave no verdict.
        then: How sure the second one is.
        first_right: Whether people agree with the first; None where nobody has said yet.
        then_right: The same of the second.
    """

    first: float | None
    then: float
    first_right: bool | None = None
    then_right: bool | None = None


class Limits(NamedTuple):
    """From which certainty on each judge decides; None for one that decides nothing.

    Attributes:
        then: The second one's, of what the first leaves.
    """

    first: float | None
    then: float | None

    def stage(self, one: JudgedTwice) -> str:
        """Whose verdict stands: `first`, `then`, or nobody's, which is `people`."""
        if self.first is not None and one.first is not None and one.first >= self.first:
            return "first"
        return "then" if self.then is not None and one.then >= self.then else "people"


def limits_of(
    draws: Sequence[Sequence[JudgedTwice]],
    everything: Sequence[JudgedTwice],
    risk: float,
    delta: float = DELTA,
) -> Limits | None:
    """The limits by which the most outputs have a verdict, and of these the first judge decides the most.

    With confidence 1 − delta, at most a share `risk` of the verdicts that stand is wrong, on further outputs of the
    kind: those of both judges together.

    Args:
        draws: The outputs of each random draw, of different cases.
        everything: All outputs, labelled or not.
        risk: The share of verdicts that stand which may be wrong, between 0 and 1.
        delta: How likely it may be that more are.

    Returns:
        None where nothing passes: there are too few labels, or too many wrong verdicts.

    Raises:
        ValueError: The risk or delta isn't between 0 and 1.

    Source: Angelopoulos, Bates, Candès, Jordan and Lei, "Learn then test" (Annals of Applied Statistics 19, 2025),
        arXiv:2110.01052, with fixed sequences; a level that is handed on as in Wiens, "A fixed sequence Bonferroni
        procedure for testing multiple endpoints" (Pharmaceutical Statistics 2, 2003), doi:10.1002/pst.64.

    >>> right = JudgedTwice(first=0.9, then=1.0, first_right=True, then_right=True)
    >>> limits_of([[right] * 40], [right] * 200, 0.1)
    Limits(first=0.9, then=1.0)
    """
    if not 0 < risk < 1 or not 0 < delta < 1:
        msg = f"a risk of {risk} with delta {delta}"
        raise ValueError(msg)
    firsts = thresholds_of([one.first for one in everything if one.first is not None])
    thens = thresholds_of([one.then for one in everything])
    if not thens:
        return None
    # The last way of an order that passes is its best one.
    alone = [Limits(first=None, then=then) for then in thens]
    shared = [Limits(first=first, then=thens[-1]) for first in firsts]
    # From half of the second judge's verdicts on, and all of them: the surest few would have too few labels.
    half = _half([one.then for one in everything], thens)
    last = len(alone) - 1 - half
    # One judge alone has no other orders, and little is known of how often it is wrong.
    ends = (OTHER, BEST) if firsts else ONE
    starts = {0: ends[0], last: ends[1]} if last else {0: sum(ends) if not firsts else BEST}
    half_of_first = _half([one.first or 0.0 for one in everything], firsts)
    first_alone = [Limits(first=first, then=None) for first in firsts]
    passed: list[Limits] = []
    drawn: list[JudgedTwice] = []
    for look, draw in enumerate(draws):
        drawn += draw
        level = delta * (BEST if look == 0 else (1 - BEST) / 2**look)

        def passes(limits: Limits, at: float, drawn: Sequence[JudgedTwice] = drawn) -> bool:
            return _passes(limits, drawn, risk, at)

        passed += [
            *_walk(alone[half:] + shared, starts, level, passes),
            *_walk(first_alone[half_of_first:], {0: OTHER}, level, passes),
        ]
    return max(passed, key=lambda limits: _decided(limits, everything), default=None)


def _walk(
    order: Sequence[Limits],
    parts: dict[int, float],
    level: float,
    passes: Callable[[Limits, float], bool],
) -> list[Limits]:
    """The last way that passes, if one does. A step that passes hands its level on; one that fails has spent it."""
    at = 0.0
    best: list[Limits] = []
    for place, limits in enumerate(order):
        at += level * parts.get(place, 0.0)
        if at and passes(limits, at):
            best = [limits]
        else:
            at = 0.0
    return best


def _passes(limits: Limits, drawn: Sequence[JudgedTwice], risk: float, level: float) -> bool:
    standing = right = 0
    for one in drawn:
        stage = limits.stage(one)
        if stage != "people":
            standing += 1
            right += (one.first_right if stage == "first" else one.then_right) is True
    return at_most(standing - right, standing, risk) <= level


def at_most(wrong: int, of: int, risk: float) -> float:
    """How likely it is that at most so many of these are wrong, each with this probability.

    >>> round(at_most(0, 22, 0.1), 3), at_most(0, 0, 0.1)
    (0.098, 1.0)
    """
    # From the likeliest number on, each is a multiple of its neighbour; the least likely ones may come to nothing.
    top = min(wrong, math.floor((of + 1) * risk))
    log = math.lgamma(of + 1) - math.lgamma(top + 1) - math.lgamma(of - top + 1)
    likeliest = math.exp(log + top * math.log(risk) + (of - top) * math.log1p(-risk))
    odds = risk / (1 - risk)
    chances = [likeliest]
    for k in range(top, 0, -1):
        chances.append(chances[-1] * k / ((of - k + 1) * odds))
    chance = likeliest
    for k in range(top, min(wrong, of)):
        chance *= (of - k) * odds / (k + 1)
        chances.append(chance)
    return min(1.0, math.fsum(chances))


def labels_needed(risk: float, errors: float = 0.0, delta: float = DELTA) -> int | None:
    """About how many labelled verdicts let one judge decide, of which a share is wrong; None if no number is enough.

    >>> labels_needed(0.1), labels_needed(0.1, 0.05), labels_needed(0.1, 0.1)
    (38, 146, None)
    """
    if errors >= risk:
        return None
    n = 1
    while at_most(math.floor(n * errors + 0.5), n, risk) > delta * BEST * ONE[0]:
        # Steps of about 2 % from 100 on: single steps would take long where thousands of labels are needed.
        n += max(1, n // 50)
    return n


def _decided(limits: Limits, everything: Sequence[JudgedTwice]) -> tuple[int, int]:
    stages = [limits.stage(one) for one in everything]
    return len(stages) - stages.count("people"), stages.count("first")


def _half(certainties: Sequence[float], thresholds: Sequence[float]) -> int:
    """The place of the first threshold that half of the outputs, or more, reach; 0 where none does."""
    reached = sorted(certainties, reverse=True)[(len(certainties) - 1) // 2] if certainties else 0.0
    return next((i for i, threshold in enumerate(thresholds) if threshold <= reached), 0)


def thresholds_of(everything: Sequence[float]) -> list[float]:
    """From the surest on, at quantiles; each value that is there where there are few."""
    values = sorted(everything, reverse=True)
    different = sorted(set(values), reverse=True)
    if len(different) <= STEPS:
        return different
    places = (math.ceil(len(values) * step / STEPS) - 1 for step in range(1, STEPS + 1))
    return sorted({values[place] for place in places}, reverse=True)
