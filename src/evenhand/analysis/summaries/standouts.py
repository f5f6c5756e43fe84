"""What the extremes of a list are worth, in a sentence: of many equal groups of cases, some are far above the rest."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from statistics import fmean

from evenhand.analysis.summaries.clusters import Groups, together
from evenhand.core.record import Record
from evenhand.core.wording.words import share_words
from evenhand.stats.standouts import group_p
from evenhand.stats.tallies import Share

NAMED = 3
METHOD = "corrected for their number: Benjamini–Hochberg"
LEVEL = 0.05
"""Of those that stand out, no larger a share is chance."""


class Entry(Record, frozen=True):
    """A group of cases in a list that is read for its extremes.

    Attributes:
        name: What it is called, in words that are safe to print.
        rate: Its rate in words.
        q: The p-value that it is like the cases that are not in it, corrected for how many groups there are.
        pooled: Its rate drawn towards those of all groups; None where none is.
    """

    name: str
    rate: str
    q: float
    pooled: Share | None = None

    @property
    def words(self) -> str:
        """The rate drawn towards the others with its interval and the raw one, or that alone."""
        if self.pooled is None:
            return self.rate
        return f"{share_words(*self.pooled)} (raw {self.rate})"


def p_of_extreme(own: Container[str], shares: Mapping[str, float], groups: Groups) -> float:
    """How likely chance alone is to set cases apart from the others.

    Args:
        own: The cases of the group.
        shares: For each case, in the group or not, how often it passed, from 0 to 1.
        groups: What cases belong to, of those that do not stand alone.
    """
    inside = [each for each in shares.items() if each[0] in own]
    outside = [each for each in shares.items() if each[0] not in own]
    group, others = ([fmean(each) for each in together(part, groups)] for part in (inside, outside))
    return group_p(group, others)


def worth_of_extremes(number: str, entries: Sequence[Entry], of: str = "cases") -> str:
    """Which of the groups say more than the extremes of so many do by chance; empty for a single one.

    Args:
        number: How many of what there are, in words.
        entries: The groups that have a rate.
        of: What the groups are of, in words.
    """
    if len(entries) < 2:
        return ""
    out = sorted((one for one in entries if one.q <= LEVEL), key=lambda one: (one.q, one.name))
    if not out:
        return f"{number}: none differs by more than chance"
    listed = "; ".join(
        f"{one.name} at {one.words}, q {'< 0.001' if one.q < 0.001 else f'= {one.q:.3f}'}"
        for one in out[:NAMED]
    )
    more = f" and {len(out) - NAMED:,} more" if len(out) > NAMED else ""
    stand = "stands" if len(out) == 1 else "stand"
    return f"{number}: {len(out):,} {stand} out from the other {of} ({METHOD}): {listed}{more}"
