"""The share of outputs that have a kind of failure: what people found on a draw, and a judge on all of them.

How much of what fails such kinds cover is Good and Turing's estimate: a failure whose kinds all have no other note
would have had no name, had it not been read, and one without any kind has no name either.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from statistics import NormalDist

from evenhand.stats.correction import Estimate, Verdicts
from evenhand.stats.interval import clopper_pearson, wilson, z_of
from evenhand.stats.weighted import corrected_by_strata, weighted

FEW = 3
"""With fewer labelled outputs that have a kind, its share may be as low as labels alone allow."""


def kind_share(strata: Sequence[Verdicts]) -> Estimate | None:
    """The share of all outputs that people would find to have a kind, from 0 to 1, with its interval.

    Args:
        strata: For each stratum that outputs were drawn from, the judge's codes and people's. An output that doesn't
            have the kind passes.

    Returns:
        None without labels. Where people found no output that has it, the interval begins at 0.

    Source: see `evenhand.stats.weighted`; with few outputs that have it, the lower end of Clopper and Pearson's
        interval of the labels, if that is lower.

    >>> estimate = kind_share([Verdicts(80, 3, 2, 15, 410, 500)])
    >>> [round(x, 3) for x in estimate]
    [0.171, 0.124, 0.225]
    """
    labelled = [one for one in strata if one.items]
    if not sum(one.labels for one in labelled):
        return None
    passed, items = sum(one.passed for one in labelled), sum(one.items for one in labelled)
    uniform = weighted(labelled).uniform
    estimate = corrected_by_strata(uniform, passed, items)
    if estimate is None:
        return None
    low, positives = 1 - estimate.high, sum(one.excused + one.both_fail for one in labelled)
    if positives < FEW:
        # The prior gives every share a chance and so leaves none for 0, which a rare kind may well have.
        size = uniform.size
        low = min(low, clopper_pearson(max(0.0, 1 - uniform.rate) * size, size)[0])
    return Estimate(1 - estimate.value, low, 1 - estimate.low)


def difference_p(before: Estimate, after: Estimate) -> float:
    """How likely two shares of separate draws are to differ as much if they are the same: a two-sided p-value.

    Source: the variance of the difference, recovered from both intervals: Newcombe, Statistics in Medicine 17 (1998),
        873–890, method 10.

    >>> round(difference_p(Estimate(0.1, 0.05, 0.18), Estimate(0.3, 0.22, 0.4)), 4)
    0.0005
    """
    low, high = sorted((before, after))
    margin = math.hypot(high.value - high.low, low.high - low.value)
    if not margin:
        return float(low.value == high.value)
    return 2 * (1 - NormalDist().cdf((high.value - low.value) / margin * z_of()))


_LEAST = 0.5
"""Failures without a name that are taken to be there at least, where the spread is estimated."""


def named_share(failures: Sequence[tuple[float, Collection[str]]]) -> Estimate | None:
    """The share of all failures that a named kind covers, from 0 to 1, with its interval.

    Args:
        failures: For each failure that people read, for how many it stands, and its kinds; empty for none.

    Returns:
        None without failures.

    Source: Good, Biometrika 40 (1953), doi:10.1093/biomet/40.3-4.237. The variance of what is left to be seen is
        Esty's, Annals of Statistics 11 (1983), doi:10.1214/aos/1176346256: (u (1 − u/n) + 2 t)/n², where u failures
        have no kind with another note, and t kinds have two notes. The interval is Wilson's with the number of
        failures that leaves this variance; with weights, of the effective number (Kish, Survey Sampling, 1965, §11.7).

    >>> failures = [(1.0, ["late"])] * 12 + [(1.0, ["rude"])] * 7 + [(1.0, ["odd"])]
    >>> [round(x, 3) for x in named_share(failures)]
    [0.95, 0.764, 1.0]
    """
    total = math.fsum(weight for weight, _ in failures)
    if not total:
        return None
    notes = Counter(kind for _, kinds in failures for kind in set(kinds))
    alone = [weight for weight, kinds in failures if all(notes[kind] < 2 for kind in kinds)]
    pairs = sum(size == 2 for size in notes.values())
    size = total**2 / math.fsum(weight * weight for weight, _ in failures)
    share = min(1.0, math.fsum(alone) / total)
    nameless = min(max(share * size, _LEAST), size - _LEAST) if size > 2 * _LEAST else size / 2
    spread = nameless * (1 - nameless / size)
    effective = size * spread / (spread + 2 * pairs * size / len(failures))
    _, high = wilson(share * effective, effective)
    # Wilson's lower end is above 0 with any such failure; yet all kinds may be named by now.
    half = z_of() * math.sqrt(spread / size / effective)
    low = max(0.0, share - half)
    return Estimate(1 - share, 1 - high, 1 - low)
