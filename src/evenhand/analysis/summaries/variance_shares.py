"""What a mean's uncertainty comes from, in shares; and what a trial of a run takes in calls and money."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.wording.words import count, money, percent, share_words
from evenhand.stats.variance_parts import Part, VarianceParts
from evenhand.store.runfile import RunFile

PartName = Literal["clusters", "cases", "cases and repeats", "repeats", "judge", "wording"]


REPEAT_SHOWS_IT = "--repeat 2 shows it"


class PartShare(Record, frozen=True, kw_only=True):
    """A part of the variance of a mean as it is, with its interval."""

    part: Annotated[
        PartName,
        Key(
            "`clusters`, `cases`, `repeats`; `cases and repeats` if no case was repeated; `judge`, "
            "which is in the repeats' part, or `wording`, which is beside the others"
        ),
    ]
    share: Annotated[
        float, Key("of the variance of the mean, or difference, as it is", "from 0 on")
    ]
    low: Annotated[float, Key("the lower end of its 95 % interval", "from 0 on")]
    high: Annotated[float | None, Key("the upper end", "from 0 on", null="it is not known")]

    def __str__(self) -> str:
        """The part and its share: `cases 71 % [50–93]`."""
        name = "of which the judge" if self.part == "judge" else self.part
        if self.high is None:
            return f"{name} {percent(self.share)}"
        return f"{name} {share_words(self.share, self.share, self.low, self.high)}"


def variance_shares(parts: VarianceParts) -> list[PartShare]:
    """The parts of the variance of a mean as it is; empty where its units are all alike."""
    if not parts.measured:
        return []
    shares: list[PartShare] = []
    if parts.clusters is not None:
        shares.append(share_of_part("clusters", parts.clusters, parts.measured))
    name: PartName = "cases" if parts.repeats is not None else "cases and repeats"
    shares.append(share_of_part(name, parts.cases, parts.measured * parts.members))
    if parts.repeats is not None and parts.repeats.value:
        # With so many repeats on each side as there are.
        sides = zip(parts.within, parts.tries, strict=True)
        noise = math.fsum(within / tries for within, tries in sides if within is not None)
        whole = parts.measured * parts.members * parts.repeats.value / noise
        shares.append(share_of_part("repeats", parts.repeats, whole))
    elif parts.repeats is not None:
        whole = parts.measured * parts.members * min(parts.tries)
        shares.append(share_of_part("repeats", parts.repeats, whole))
    return shares


def share_of_part(name: PartName, part: Part, whole: float) -> PartShare:
    """A part of a variance as a share of the whole; what chance puts beyond all of it is cut, except of wording."""
    most = math.inf if name == "wording" else 1.0
    value, low, high = (min(most, end / whole) for end in part)
    return PartShare(part=name, share=value, low=low, high=high if math.isfinite(high) else None)


def shares_in_words(shares: Iterable[PartShare]) -> str:
    """The shares one after the other: `cases 71 % [50–93], repeats 29 % [18–41]`."""
    # What the wording does is no part of the others, and more cases do not change it.
    return ", ".join(str(one) for one in shares if one.part != "wording")


class TrialCost(Record, frozen=True):
    """What a trial takes, on average.

    Attributes:
        calls: Calls of models, judges among them; 0 where nothing is asked.
        usd: What they cost, those that the cache answered as if they had been paid for; None where a price is not
            known.
    """

    calls: float
    usd: float | None

    def of(self, trials: float) -> tuple[int, float | None]:
        """The calls of so many trials, and what they cost."""
        return math.ceil(
            self.calls * trials - 1e-9
        ), None if self.usd is None else self.usd * trials


def trial_cost(run: RunFile, asked: Mapping[int, int]) -> TrialCost:
    """What a trial of some columns took, on average; what was asked once, before the first trial, is left out.

    An eval that asks a judge and one that asks nothing take different amounts: each has columns of its own.

    Args:
        asked: By column how many of its trials asked, those taken from elsewhere left out. With none, nothing was
            asked.
    """
    trials = sum(asked.values())
    usage = [one for one in run.usage(asked) if one.role != "setup"] if trials else []
    calls = sum(one.requests for one in usage)
    costs: list[float] = []
    for one in usage:
        paid = one.calls - one.cached
        # Of what the cache alone answered, no price is known.
        if one.cost_usd is None or not paid:
            return TrialCost(calls / trials, None)
        costs.append(one.cost_usd / paid * one.requests)
    return TrialCost(calls / trials, math.fsum(costs) / trials) if trials else TrialCost(0.0, None)


def cost_words(calls: int, usd: float | None) -> str:
    """What something takes, in words: `about 160 calls, $0.31`; empty for no calls."""
    if not calls:
        return ""
    return f"about {count(calls, 'call')}" + ("" if usd is None else f", {money(usd)}")
