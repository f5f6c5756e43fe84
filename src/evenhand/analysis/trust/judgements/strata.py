"""Which outputs were equally likely to be labelled, once some draws preferred some outputs to others.

How this works: a draw that isn't uniform divides the outputs into strata, and within each all are equally likely. Where
there are several such draws, outputs are of one stratum if they are of one in each draw. Whatever was drawn when, the
labelled outputs of such a stratum are then a uniform draw of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from evenhand.analysis.trust.judgements.judged import Item, verdicts_of
from evenhand.stats.correction import Verdicts
from evenhand.stats.design_effect import DesignEffects
from evenhand.stats.distributions import chances
from evenhand.stats.weighted import Weighted, weighted
from evenhand.store.labels.draw import Draw

Key = tuple[int, ...]
"""A stratum: in each draw that isn't uniform, which of its strata; −1 for none."""


def uneven(draws: Sequence[Draw], metric: str) -> list[Draw]:
    """The draws that aren't uniform and have a say in which outputs are labelled under a metric.

    A later draw leaves out what an earlier one drew, though that was of another metric.
    """
    together = {name for draw in draws if metric in draw.metrics for name in draw.metrics}
    return [draw for draw in draws if draw.strata and together & set(draw.metrics)]


def is_undrawn(draws: Sequence[Draw], metric: str, items: Sequence[Item]) -> bool:
    """Whether some items could not be drawn, as they were judged after the draws: labels say nothing of these."""
    of = [draw for draw in draws if metric in draw.metrics]
    if not all(draw.strata for draw in of):
        return False
    places = _every(of)
    return bool(of) and any(item.index not in places for item in items)


def strata_of(draws: Sequence[Draw], metric: str) -> Callable[[int], Key]:
    """Says of a place in the plan of which stratum it is; all are of the same one where every draw is uniform."""
    stratum: list[dict[int, int]] = [
        {place: i for i, one in enumerate(draw.strata) for place in one.places}
        for draw in uneven(draws, metric)
    ]
    return lambda place: tuple(of.get(place, -1) for of in stratum)


def uniform_first(draws: Sequence[Draw], metric: str) -> list[Draw]:
    """The draws before the first one that isn't uniform: their labels alone are a uniform draw of all outputs."""
    others = uneven(draws, metric)
    return [draw for draw in draws if not others or draw.number < others[0].number]


def uniform_of(draws: Sequence[Draw], metric: str) -> list[Draw]:
    """The uniform draws of a metric itself: of those of another one no label is missing."""
    return [draw for draw in uniform_first(draws, metric) if metric in draw.metrics]


def inclusions(draws: Sequence[Draw], metric: str) -> Callable[[int], float]:
    """Says of a drawn place how likely it was to be drawn under a metric, from 0 to 1.

    Of uniform draws, that is the share of the trials that was drawn. Otherwise it is the share of its stratum, in one
    draw as it is in the run file.
    """
    of = [draw for draw in draws if metric in draw.metrics]
    others = uneven(draws, metric)
    if not others:
        drawn = sum(len(draw.places) for draw in of)
        population = max((draw.population for draw in of), default=1)
        return lambda _: drawn / population
    key = strata_of(draws, metric)
    every = _every(others)
    sizes = Counter(map(key, every))
    # What was judged after an earlier draw is of none of its strata.
    rest = max((draw.population for draw in of if not draw.strata), default=0) - len(every)
    sizes[tuple(-1 for _ in others)] += max(0, rest)
    taken = Counter(key(place) for draw in of for place in draw.places)
    # Labels of an earlier draw may make more of a stratum than the later one drew from.
    return lambda place: taken[key(place)] / max(1, sizes[key(place)], taken[key(place)])


def weights(
    items: Sequence[Item],
    people: Mapping[Item, bool],
    key: Callable[[int], Key],
    effects: DesignEffects | None = None,
) -> tuple[Weighted, float]:
    """What people's verdicts on some items say of all of them, and how likely a draw is to look like these: a p value.

    Args:
        people: People's, on one item at least.
        key: Of which stratum a place is.
        effects: By how much less the labels say because trials of one case go together; None where each is a case.
    """
    strata: dict[Key, list[Item]] = {}
    for item in items:
        strata.setdefault(key(item.index), []).append(item)
    counts = [
        verdicts_of(group, {item: people[item] for item in group if item in people})
        for _, group in sorted(strata.items())
    ]
    return weighted(counts, effects=effects or DesignEffects()), drawn_within_strata(counts)


def weight_of(draws: Sequence[Draw], labelled: Collection[int]) -> Callable[[int], float]:
    """Says of a labelled place for how many places it stands: as many as there are of its stratum for each label."""
    others = [draw for draw in draws if draw.strata]
    names = dict.fromkeys(metric for draw in others for metric in draw.metrics)
    keys = [strata_of(draws, metric) for metric in names]

    def key(place: int) -> tuple[Key, ...]:
        return tuple(of(place) for of in keys)

    sizes = Counter(map(key, _every(others)))
    counts = Counter(map(key, labelled))
    return lambda place: max(1.0, sizes[key(place)] / counts[key(place)]) if others else 1.0


def _every(draws: Sequence[Draw]) -> set[int]:
    return {place for draw in draws for one in draw.strata for place in one.places}


def drawn_within_strata(strata: Sequence[Verdicts]) -> float:
    """How likely the strata's draws are to hold as many of the judge's passes, or a number no likelier: a p value.

    Args:
        strata: For each, the labelled items and all of them, in the judge's verdicts.

    Returns:
        1 where every item is labelled.

    Source: the exact test of a draw without replacement (hypergeometric) in each stratum, and the sum of these,
        two-sided by likelihood. With one stratum it is `drawn_at_random`.

    >>> round(drawn_within_strata([Verdicts(60, 0, 5, 35, 465, 1000)]), 6)
    0.000123
    """
    distribution, passed = [1.0], 0
    for s in strata:
        passed += s.both_pass + s.excused
        distribution = _sum_of(distribution, _passes_drawn(s))
    own = distribution[passed] * (1 + 1e-9)
    return min(1.0, math.fsum(p for p in distribution if p <= own))


def _passes_drawn(s: Verdicts) -> list[float]:
    """How likely the labelled items of a stratum are to hold 0, 1, … passes of the judge."""
    likely = chances(s.passed, s.items, s.labels)
    return [likely.get(k, 0.0) for k in range(s.labels + 1)]


def _sum_of(first: Sequence[float], second: Sequence[float]) -> list[float]:
    total = [0.0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        # Below that nothing is added that a float could tell, and most entries are.
        if a > 1e-18:
            for j, b in enumerate(second):
                total[i + j] += a * b
    return total
