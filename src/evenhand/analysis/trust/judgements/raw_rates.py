"""A judge's own numbers over outputs, as tables have them: each case counts once, however often it was repeated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from evenhand.analysis.summaries.rates import allowing_for_looks, share_of_cases
from evenhand.analysis.trust.judgements.judged import Item
from evenhand.core.run import RunMeta
from evenhand.core.score import SHARES, Scale
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.correction import Estimate
from evenhand.stats.tallies import tally_of


def raw_rate(meta: RunMeta, items: Sequence[Item]) -> Estimate:
    """The judge's own pass rate, from 0 to 1, with its 95 % interval.

    Of a run that stopped as soon as it was decided, the interval holds however often one looked.

    Args:
        items: The judge's verdicts. For none, it is 0 and may be anything.
    """
    cases: dict[str, list[bool]] = defaultdict(list)
    for item in items:
        cases[item.case].append(item.passed)
    share = share_of_cases(
        meta, [tally_of(sum(passed), len(passed) - sum(passed), 0) for passed in cases.values()]
    )
    if share is None:
        return Estimate(0.0, 0.0, 1.0)
    means = {case: sum(passed) / len(passed) for case, passed in cases.items()}
    units = _units(items, means)
    if len(units) == len(cases):
        return Estimate(share.least, share.low, share.high)
    # Each case still counts once; the interval allows for those of one cluster that go together.
    _, low, high = mean_on_scale(units, SHARES) or (0.0, *SHARES)
    if meta.ended_early:
        looked = allowing_for_looks(share, len(units))
        low, high = min(low, looked.low), max(high, looked.high)
    return Estimate(share.least, low, high)


def _units(items: Sequence[Item], means: Mapping[str, float]) -> list[tuple[float, float]]:
    """The sum of the means of each cluster's cases, and how many these are; a case that stands alone is one."""
    units: dict[str, dict[str, float]] = defaultdict(dict)
    for item in items:
        if item.case in means:
            units[item.unit][item.case] = means[item.case]
    return [(math.fsum(cases.values()), float(len(cases))) for cases in units.values()]


def raw_mean(items: Sequence[Item], scale: Scale) -> Estimate:
    """The judge's own mean score with its 95 % interval, in the scores' own unit.

    Args:
        items: What the judge said. Of no scores, the mean is the lowest and may be anything.
        scale: The lowest and the highest score there can be.
    """
    cases: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if item.score is not None:
            cases[item.case].append(item.score)
    units = _units(items, {case: sum(scores) / len(scores) for case, scores in cases.items()})
    return Estimate(*(mean_on_scale(units, scale) or (scale[0], *scale)))
