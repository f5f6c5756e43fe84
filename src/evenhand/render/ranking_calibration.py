"""The calibration of a ranking's judge in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.trust.agreement import AgreementStatistics, coefficient
from evenhand.analysis.trust.ranking_calibration import RankingCalibration
from evenhand.analysis.trust.trust_rules import FEWEST
from evenhand.core.variant import Variant
from evenhand.core.wording.words import (
    columns,
    count,
    interval,
    padded,
    percent,
    percents,
    safe,
    share_words,
)
from evenhand.stats.tallies import Share

MORE = 40


def ranking_lines(one: RankingCalibration, variants: Sequence[Variant]) -> Iterator[str]:
    """What labels say of the judge of a ranking, and of the ranking: a block of lines."""
    n, trust = len(one.labels.pairs), one.trust
    yield f"{safe(one.name)} · judged by {safe(one.model)}"
    yield f"  {trust.verdict}: {trust.why}"
    yield f"  labels     {n} of {count(one.pairs, 'compared pair')}"
    if one.agreement is not None:
        rate = one.agreement
        yield (
            f"  agreement  {percents(rate.value, rate.value)} [{interval(rate.low, rate.high)}] of the labelled pairs,"
            f" ties included; {agreement_words(one, one.labels.people)}"
        )
    if trust.raw is not None:
        often = _words(trust.raw.first_wins)
        yield f"  place      if both are equally good, the judge prefers the one shown first {often} of the time"
    if trust.corrected is not None:
        yield f"             people {_words(trust.corrected.first_wins)} of the time"
        names = column_names(variants)
        width = max(columns(names[v]) for v in trust.corrected.order)
        for head, variant in zip(_heads(), trust.corrected.order, strict=False):
            raw = "" if trust.raw is None else f" · raw {_words(trust.raw.chances[variant])}"
            chance = _words(trust.corrected.chances[variant])
            yield f"  {head:<9}  {padded(names[variant], width)}  {chance}{raw}"
    if one.rho2 is not None:
        yield f"  worth      replaces {percent(one.rho2)} of your labels (ρ²)"
    if trust.corrected is not None:
        now = max((share.high - share.low) / 2 for share in trust.corrected.chances.values())
        more = min(MORE, max(0, one.pairs - n))
        # An interval shrinks with the square root of the number of labels.
        later = now * math.sqrt(n / (n + more))
        line = f"  {n} labels give ±{percent(now)} or less"
        yield f"{line}; {more} more would bring about ±{percent(later)}" if more else line
    for warning in one.warnings:
        yield f"  note: {warning}"


def agreement_words(one: AgreementStatistics, people: float | None) -> str:
    """Agreement beyond chance, and that of people among each other where several labelled the same."""
    among = "" if people is None else f"; people among each other {coefficient(people)} α"
    return f"{one.beyond_chance}{among}"


def labels_line(name: str, labels: int) -> str:
    """How many labels of a ranking count, and how many more it takes for a verdict."""
    more = f"; {FEWEST - labels} more are needed" if labels < FEWEST else ""
    return f"{safe(name)}: {count(labels, 'label')} in all{more}"


def _heads() -> Iterator[str]:
    yield "corrected"
    while True:
        yield ""


def _words(share: Share) -> str:
    return share_words(share.least, share.most, share.low, share.high)
