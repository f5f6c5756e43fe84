"""A share in documents: between which ends errors leave it, and its interval."""

from __future__ import annotations

from typing import Annotated

from evenhand.analysis.summaries.rates import share_row
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.wording.words import share_words
from evenhand.stats.correction import Estimate
from evenhand.stats.tallies import Share

_OPEN, _NOTHING = "errors leave it open, or nothing counts", "nothing counts"

PassRate = Annotated[float | None, Key("the pass rate", "0 to 1", null=_OPEN)]
PassRateLeast = Annotated[
    float | None, Key("with all trials in error failed", "0 to 1", null=_NOTHING)
]
PassRateMost = Annotated[float | None, Key("with all of them passed", "0 to 1", null=_NOTHING)]
Rate = Annotated[float | None, Key("", "0 to 1", null=_OPEN)]
RateLeast = Annotated[
    float | None, Key("the lowest that errors leave possible", "0 to 1", null=_NOTHING)
]
RateMost = Annotated[float | None, Key("the highest", "0 to 1", null=_NOTHING)]
Low = Annotated[float | None, Key("the lower end of the 95 % interval", "0 to 1", null=_NOTHING)]
High = Annotated[float | None, Key("the upper end", "0 to 1", null=_NOTHING)]

ChanceRate = Annotated[
    float | None, Key("the chance", "0 to 1, ties aside", null="errors leave it open")
]
ChanceLeast = Annotated[float, Key("the lowest that errors leave possible", "0 to 1")]
ChanceMost = Annotated[float, Key("the highest", "0 to 1")]
ChanceLow = Annotated[float, Key("the lower end of the 95 % interval", "0 to 1")]
ChanceHigh = Annotated[float, Key("the upper end", "0 to 1")]


class ShareRow(Record, frozen=True, kw_only=True):
    """A share; all of it is null where there is nothing to count."""

    rate: Rate
    rate_least: RateLeast
    rate_most: RateMost
    low: Low
    high: High


class Chance(Record, frozen=True, kw_only=True):
    """The chance that one output is preferred to another."""

    rate: ChanceRate
    rate_least: ChanceLeast
    rate_most: ChanceMost
    low: ChanceLow
    high: ChanceHigh

    @classmethod
    def of(cls, share: Share) -> Chance:
        """The chance that a share is."""
        return cls(
            rate=share.value,
            rate_least=share.least,
            rate_most=share.most,
            low=share.low,
            high=share.high,
        )


class EstimatedShare(Record, frozen=True, kw_only=True):
    """A share that is estimated from a draw."""

    value: Annotated[float, Key("from 0 to 1", "share")]
    low: Annotated[float, Key("the lower end of its 95 % interval", "share")]
    high: Annotated[float, Key("the upper end", "share")]


def percent_within(share: Estimate | EstimatedShare) -> str:
    """A share with its interval: `9 % [4–16]`."""
    return share_words(share.value, share.value, share.low, share.high)


def share_of(share: Share | None) -> ShareRow:
    """A share as a record of documents."""
    return ShareRow(**share_row(share))
