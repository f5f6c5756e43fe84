"""What people said of pairs in an earlier run's ranking that counts for a later run, too: of pairs of the same outputs.

As with verdicts on single outputs, the draws are carried over if they would be random draws of the later run: if its
judge compared the same pairs, and every answer was carried over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.labels.pair_drawing import compared_places
from evenhand.core.record import Record
from evenhand.store.labels.draw import Pair, PairAnswer, PairDraw, PairLabel, unordered
from evenhand.store.labels.stored_draws import (
    add_pair_draw,
    add_pair_labels,
    standing_pair_labels,
)
from evenhand.store.runfile import RunFile


class CarriedPreferences(Record, frozen=True):
    """What of a run's labelled pairs counts for another run.

    Attributes:
        labels: Those that do, each with its places in the other run.
        different: How many do not, as an output, its question or the criteria are others there.
        draws: The draws that they are of, as the other run has them; empty where they would be no random ones there.
    """

    labels: Sequence[PairLabel] = ()
    different: int = 0
    draws: Sequence[PairDraw] = ()


def countable_preferences(
    old: RunFile,
    new: RunFile,
    places: Mapping[int, int],
    same_output: Callable[[int, int], bool],
    metrics: Collection[str] = (),
) -> CarriedPreferences:
    """The labelled pairs of a run that count for another one; nothing is written.

    Args:
        places: The place of each trial's counterpart in the other run, by its own.
        same_output: Whether a trial and its counterpart have the same output to the same question.
        metrics: Only labels of these rankings; of all where there are none.
    """
    labels: list[PairLabel] = []
    draws: list[PairDraw] = []
    different = 0
    theirs = {one.name: one for one in compared_pairs(new)}
    mine = {one.name: one for one in compared_pairs(old)}
    standing = standing_pair_labels(old.pair_labels())
    for name in dict.fromkeys(metric for _, metric in standing):
        if metrics and name not in metrics:
            continue
        every = [
            one for (_, m), authors in standing.items() if m == name for one in authors.values()
        ]
        pairs = _same_pairs(old, new, mine.get(name), theirs.get(name), places)
        carried = [
            replace(one, pair=_of(one.pair, places))
            for one in every
            if unordered(one.pair) in pairs and all(same_output(i, places[i]) for i in one.pair)
        ]
        labels += carried
        different += len(every) - len(carried)
        if len(carried) == len(every):
            draws += _draws(old, new, name, places, pairs, theirs[name])
    return CarriedPreferences(labels, different, draws)


def carry_preferences(new: RunFile, which: CarriedPreferences) -> None:
    """Writes them, with their authors and times. What their authors have said of a pair there stays.

    Raises:
        StoreError: The file cannot be written.
    """
    there = standing_pair_labels(new.pair_labels())
    fresh = [one for one in which.labels if one.author not in there.get(one.key, {})]
    for author, at in dict.fromkeys((one.author, one.at) for one in fresh):
        rows: list[tuple[Pair, str, PairAnswer | None]] = [
            (o.pair, o.metric, o.answer) for o in fresh if (o.author, o.at) == (author, at)
        ]
        add_pair_labels(new.path, author, rows, at=at)
    for one in which.draws:
        add_pair_draw(new.path, one.seed, one.metric, one.population, one.pairs)


def _same_pairs(
    old: RunFile,
    new: RunFile,
    mine: ComparedPairs | None,
    theirs: ComparedPairs | None,
    places: Mapping[int, int],
) -> set[Pair]:
    """The pairs, by their places in the old run, that judges compared by the same criteria in both."""
    if mine is None or theirs is None:
        return set()
    if (mine.criteria, mine.instruments) != (theirs.criteria, theirs.instruments):
        return set()
    compared = set(compared_places(new, theirs))
    return {
        pair
        for pair in compared_places(old, mine)
        if all(i in places for i in pair) and unordered(_of(pair, places)) in compared
    }


def _of(pair: Pair, places: Mapping[int, int]) -> Pair:
    return places[pair[0]], places[pair[1]]


def _draws(
    old: RunFile,
    new: RunFile,
    name: str,
    places: Mapping[int, int],
    pairs: Collection[Pair],
    theirs: ComparedPairs,
) -> list[PairDraw]:
    """The draws as the other run has them; none where it has draws, or other compared pairs to draw from."""
    if any(draw.metric == name for draw in new.pair_draws()):
        return []
    before = [draw for draw in old.pair_draws() if draw.metric == name]
    drawn = {unordered(pair) for draw in before for pair in draw.pairs}
    if len(pairs) != len(compared_places(new, theirs)) or not drawn.issubset(pairs):
        return []
    if any(draw.population != len(pairs) for draw in before):
        return []
    return [replace(draw, pairs=tuple(_of(pair, places) for pair in draw.pairs)) for draw in before]
