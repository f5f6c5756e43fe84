"""What labelled items leave open on which people are split: the rest says nothing of these, which are the hard ones.

How this works: a rate that is estimated from items on which people agree holds for such items. All items are those and
the others, of which people's verdict may be either. So the rate over all lies between what it is if all of the others
fail and if all of them pass; how many they are is estimated from the labels, and the interval goes by its upper end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.stats.correction import Estimate
from evenhand.stats.design_effect import share_effect
from evenhand.stats.interval import clopper_pearson


class SplitItem(NamedTuple):
    """A labelled item.

    Attributes:
        unit: What is independent of others: its case, or the cluster that this belongs to.
        split: Whether people are split on it.
        weight: For how many items it stands; only compared with those of others.
    """

    unit: str
    split: bool
    weight: float = 1.0


class SplitShare(NamedTuple):
    """Items on which people are split.

    Attributes:
        items: How many of the labelled ones.
        share: Of all items, from 0 to 1.
        most: The upper end of its 95 % interval.
    """

    items: int
    share: float
    most: float

    def ends(self, agreed: float) -> tuple[float, float]:
        """The rate over all items if people fail all of these, and if they pass them.

        Args:
            agreed: The rate over the others, from 0 to 1.
        """
        least = agreed * (1 - self.share)
        return least, least + self.share

    def around(self, agreed: Estimate) -> Estimate:
        """The rate of items on which people agree, with an interval for all items, whatever people's verdict on these.

        >>> SplitShare(10, 0.1, 0.2).around(Estimate(0.8, 0.7, 0.9))
        Estimate(value=0.8, low=0.56, high=0.92)
        """
        low, high = agreed.low * (1 - self.most), agreed.high * (1 - self.most) + self.most
        return Estimate(agreed.value, round(low, 12), round(high, 12))


def split_share(labelled: Sequence[SplitItem]) -> SplitShare | None:
    """The share of all items on which people are split; None for none among the labelled ones.

    Args:
        labelled: All labelled items, those on which people agree among them.

    Source: Clopper and Pearson's interval of as many items as say as much: Kish's effective number for weights, and
        the design effect of items that go together.

    >>> split_share([SplitItem(str(i), i < 10) for i in range(100)])[:2]
    (10, 0.1)
    """
    items = sum(one.split for one in labelled)
    if not items:
        return None
    total = math.fsum(one.weight for one in labelled)
    share = math.fsum(one.weight for one in labelled if one.split) / total
    n = total**2 / math.fsum(one.weight**2 for one in labelled)
    n /= share_effect([(one.unit, one.split) for one in labelled])
    return SplitShare(items, share, clopper_pearson(share * n, n)[1])


def difference_around(
    agreed: Estimate,
    first: tuple[Estimate, SplitShare | None],
    second: tuple[Estimate, SplitShare | None],
) -> Estimate:
    """A difference of two rates, with an interval for all items: on those where people are split, each way.

    Args:
        agreed: The difference, second minus first, on items on which people agree.
        first: The rate of the first on these, and the items on which people are split; None for none.
    """
    (one, of_one), (two, of_two) = first, second
    low = agreed.low - _most(of_two) * two.high - _most(of_one) * (1 - one.low)
    high = agreed.high + _most(of_two) * (1 - two.low) + _most(of_one) * one.high
    return Estimate(agreed.value, max(-1.0, low), min(1.0, high))


def _most(split: SplitShare | None) -> float:
    return 0.0 if split is None else split.most
