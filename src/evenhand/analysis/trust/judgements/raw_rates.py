"""A judge's own numbers over outputs, as tables have them: each case counts once, however often it was repeated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from evenhand.analysis.summaries.rates import share_of_cases
from evenhand.analysis.trust.judgements.judged import Item
from evenhand.core.run import RunMeta
from evenhand.core.score import Scale
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.correction import Estimate
from evenhand.stats.tallies import tally_of


def raw_rate(meta: RunMeta, items: Sequence[Item]) -> Estimate:
    """The judge's own pass rate, from 0 to 1, with its 95 % interval.

    Of a run that stopped as soon as it was decided, the interval holds however often one looked.

    Args:
        meta: The run's.
        items: The judge's verdicts. For none, it is 0 and may be anything.
    """
    cases: dict[str, list[bool]] = defaultdict(list)
    for item in items:
        cases[item.case].append(item.passed)
    share = share_of_cases(
        meta, [tally_of(sum(passed), len(passed) - sum(passed), 0) for passed in cases.values()]
    )
    return (
        Estimate(0.0, 0.0, 1.0) if share is None else Estimate(share.least, share.low, share.high)
    )


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
    units = [(sum(scores) / len(scores), 1.0) for scores in cases.values()]
    return Estimate(*(mean_on_scale(units, scale) or (scale[0], *scale)))
