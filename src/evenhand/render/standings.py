"""Rankings in words, and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated

from evenhand.analysis.summaries.share_rows import (
    Chance,
    ChanceHigh,
    ChanceLeast,
    ChanceLow,
    ChanceMost,
    ChanceRate,
)
from evenhand.analysis.trust.ranking_corrections import Standing, Standings, standings
from evenhand.core.document import Key, as_object, filled
from evenhand.core.record import Record
from evenhand.core.variant import RunVariant, Variant
from evenhand.core.wording.words import columns, count, padded, percents, safe, share_words
from evenhand.store.runfile import RunFile

MOST_NAMED = 4


def standing_lines(
    run: RunFile, names: Sequence[str], places: Sequence[int] | None = None
) -> list[str]:
    """The rankings in words, a line for each variant; none where nothing was compared.

    Args:
        places: See `standings`.
    """
    return [line for one in standings(run, places) for line in _lines(one, names)]


def _lines(one: Standings, names: Sequence[str]) -> Iterator[str]:
    yield _head(one)
    width = max((columns(names[standing.variant]) for standing in one.ranked), default=0)
    for place, standing in enumerate(one.ranked, 1):
        name = padded(names[standing.variant], width)
        yield f"  {place:>{len(str(len(one.ranked)))}}  {name}  {_both(standing)}"
    for text in standing_notes(one, names):
        yield f"  {text}"


def standing_sentence(one: Standings, names: Sequence[str]) -> str:
    """A ranking in one line, for lists."""
    ranked = [
        f"{place}. {names[standing.variant]} {_both(standing)}"
        for place, standing in enumerate(one.ranked, 1)
    ]
    parts = [": ".join([_head(one), ", ".join(ranked)] if ranked else [_head(one)])]
    return "; ".join([*parts, *standing_notes(one, names)])


def _head(one: Standings) -> str:
    if one.why:
        return f"{safe(one.name)}: no ranking: {one.why}"
    return f"{safe(one.name)}, the chance to beat the average variant, ties aside"


def standing_notes(one: Standings, names: Sequence[str]) -> Iterator[str]:
    """What is to be said of a ranking besides its places: how sure they are, and what they rest on."""
    if one.ranked:
        yield _first(one, names)
    if one.first_wins is not None:
        chance = share_words(*one.first_wins)
        yield f"if both are equally good, the judge prefers the one shown first {chance} of the time"
    if one.apart:
        yield f"never compared with these: {_listed([names[v] for v in one.apart], 'and')}"
    judges = f" of {', '.join(map(safe, one.judges))}" if one.judges else ""
    parts = [f"{count(one.answers, 'answer')}{judges} about {count(one.cases, 'case')}"]
    if one.ties is not None:
        parts.append(f"{percents(one.ties, one.ties)} ties")
    if one.errors:
        parts.append(f"{one.errors:,} more missing")
    yield f"{', '.join(parts)}; {one.correction.words}"


def _first(one: Standings, names: Sequence[str]) -> str:
    if one.circle:
        steps = [f"{names[a]} to {names[b]}" for a, b in pairwise((*one.circle, one.circle[0]))]
        return f"no order fits: the judge prefers {_listed(steps, 'and')}"
    best, rest = names[one.ranked[0].variant], len(one.ranked) - 1
    if not one.not_behind:
        return f"{best} beats {'all others' if rest > 1 else names[one.ranked[1].variant]}"
    others = _listed([names[v] for v in one.not_behind], "or")
    return f"not decided: whether {best} beats {others}"


def _both(one: Standing) -> str:
    """The chance as people would have found it beside the judge's, where it is known."""
    if one.corrected is None:
        return share_words(*one.chance)
    return f"{share_words(*one.corrected)} corrected · raw {share_words(*one.chance)}"


def _listed(names: Sequence[str], join: str) -> str:
    listed = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        listed.append(f"{len(names) - MOST_NAMED} more")
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} {join} {listed[-1]}"


class RunPlace(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a variant's place in a ranking."""

    variant: Annotated[RunVariant, Key("the variant")]
    won: Annotated[int, Key("that prefer its output", "answers")]
    lost: Annotated[int, Key("that prefer the other one", "answers")]
    tied: Annotated[int, Key("that prefer neither", "answers")]
    rate: ChanceRate
    rate_least: ChanceLeast
    rate_most: ChanceMost
    low: ChanceLow
    high: ChanceHigh
    corrected: Annotated[
        Chance | None,
        Key(
            "the chance as people would have found it; then the order and `behind_first` go by it",
            null="no calibration holds",
        ),
    ]
    behind_first: Annotated[
        bool, Key("the first variant is shown to beat it, all pairs of variants taken together")
    ]


class RunRanking(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a ranking."""

    name: Annotated[str, Key("the expectation")]
    judges: Annotated[Sequence[str], Key("who compared, as their answers named them")]
    cases: Annotated[int, Key("with an answer", "cases")]
    answers: Annotated[int, Key("one for each pair and order", "answers")]
    errors: Annotated[
        int, Key("that are missing: the judge gave no verdict, or a trial is in error", "answers")
    ]
    tie_rate: Annotated[
        float | None,
        Key("the share of answers that prefer neither", "0 to 1", null="there are no answers"),
    ]
    ranked: Annotated[list[RunPlace], Key("best first; empty where the variants can't be ranked")]
    why: Annotated[str | None, Key("why they can't be", null="they are ranked")]
    apart: Annotated[
        list[RunVariant],
        Key(
            "variants that were never compared with those in `ranked`, directly or by way of others"
        ),
    ]
    circle: Annotated[
        list[RunVariant],
        Key(
            "three variants of which the judge prefers each to the next, and the last to the first, in more cases than "
            "chance explains: then no order fits"
        ),
    ]
    first_wins: Annotated[
        Chance | None,
        Key(
            "to prefer the text shown first, where both are equally good",
            null="they can't be ranked",
        ),
    ]
    labels: Annotated[
        int, Key("labelled pairs that count, in the run or in its calibration", "pairs")
    ]
    labelled_at: Annotated[
        float | None, Key("when the last of them was given", "s since 1970", null="no labels")
    ]
    calibration: Annotated[str, Key("`fresh`, `stale` or `missing`")]
    changed: Annotated[Sequence[str], Key("what has changed since the calibration was made")]


def standing_rows(run: RunFile, places: Sequence[int] | None = None) -> list[RunRanking]:
    """The rankings in the keys of the run's document; `places` as in `standings`."""
    variants = run.meta.variants
    return [_row(one, variants) for one in standings(run, places)]


def _row(one: Standings, variants: Sequence[Variant]) -> RunRanking:
    return filled(
        RunRanking,
        one,
        tie_rate=one.ties,
        ranked=[
            RunPlace(
                variant=variants[standing.variant].names,
                won=standing.won,
                lost=standing.lost,
                tied=standing.tied,
                **as_object(Chance.of(standing.chance)),
                corrected=standing.corrected and Chance.of(standing.corrected),
                behind_first=standing.variant not in one.not_behind and place > 0,
            )
            for place, standing in enumerate(one.ranked)
        ],
        why=one.why or None,
        apart=[variants[index].names for index in one.apart],
        circle=[variants[index].names for index in one.circle],
        first_wins=None if one.first_wins is None else Chance.of(one.first_wins),
        labels=one.correction.labels,
        labelled_at=one.correction.labelled_at,
        calibration=one.correction.status,
        changed=one.correction.changed,
    )
