"""What people say of pairs that a judge compared, and which of it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, PairKey
from evenhand.core.record import Record
from evenhand.stats.agreement import alpha
from evenhand.stats.bradley_terry import Comparison
from evenhand.stats.corrected_strengths import LabelledPair
from evenhand.store.labels.draw import Pair, PairAnswer, PairLabel, unordered
from evenhand.store.labels.stored_draws import standing_pair_labels
from evenhand.store.runfile import RunFile

_OTHER: Mapping[PairAnswer, PairAnswer] = {"first": "second", "second": "first", "tie": "tie"}
_SIDE: Mapping[PairAnswer, float] = {"first": 1.0, "tie": 0.5, "second": 0.0}


class RankingLabels(Record, frozen=True):
    """People's answers about the pairs of a ranking.

    Attributes:
        pairs: The drawn pairs that have an answer, each with the judge's.
        unused: Labels that count for nothing: outside a draw.
        split: Drawn pairs on which people are split: they are left out.
        labelled_at: When the last label was given, seconds since 1970; None without labels.
        people: Agreement beyond chance between people who labelled the same pairs, those on which they are split among
            them; None with fewer than two.
        shared: How many pairs two or more people labelled.
        undrawn: Some pairs were compared after a draw, and could not be drawn.
    """

    pairs: Sequence[LabelledPair] = ()
    unused: int = 0
    split: int = 0
    labelled_at: float | None = None
    people: float | None = None
    shared: int = 0
    undrawn: bool = False


def ranking_labels(run: RunFile, pairs: ComparedPairs) -> RankingLabels:
    """The labels of a ranking that count: of a pair that several people labelled, what most of them say."""
    draws = [draw for draw in run.pair_draws() if draw.metric == pairs.name]
    orders = {unordered(pair): pair for draw in draws for pair in draw.pairs}
    labels = {
        pair: by_author
        for (pair, metric), by_author in standing_pair_labels(run.pair_labels()).items()
        if metric == pairs.name
    }
    if not labels:
        return RankingLabels()
    keys = pair_keys(run, labels)
    judged = {pair.key: pair for pair in pairs.judged}
    answered: list[LabelledPair] = []
    at: list[float] = []
    sides: list[list[float]] = []
    unused = split = 0
    for place, by_author in sorted(labels.items()):
        key, answer = keys.get(place), _plurality(orders.get(place), [*by_author.values()])
        known = judged.get(key[1]) if key is not None else None
        if key is None or known is None or place not in orders:
            unused += len(by_author)
            continue
        sides.append([_SIDE[_answer_for(place, label)] for label in by_author.values()])
        if answer is None:
            split += 1
            continue
        variants, _ = key
        # The answer is about the pair as it was drawn, its places may be the other way round.
        first, second = variants if orders[place] == place else variants[::-1]
        answered.append(LabelledPair(Comparison(known.unit, first, second, answer), known.judge))
        at += [label.at for label in by_author.values()]
    shared = sum(len(each) > 1 for each in sides)
    return RankingLabels(
        pairs=answered,
        unused=unused,
        split=split,
        labelled_at=max(at, default=None),
        people=alpha(sides),
        shared=shared,
        undrawn=any(draw.population < len(pairs.judged) for draw in draws),
    )


def pair_keys(
    run: RunFile, places: Mapping[Pair, object]
) -> dict[Pair, tuple[tuple[int, int], PairKey]]:
    """Of pairs of places, lower first, the two variants in that order, and what the judge's answers are kept under."""
    trials = {trial.index: trial for trial in run.at(sorted({i for pair in places for i in pair}))}
    keys: dict[Pair, tuple[tuple[int, int], PairKey]] = {}
    for pair in places:
        one, two = (trials.get(place) for place in pair)
        if one is None or two is None or (one.case, one.repeat) != (two.case, two.repeat):
            continue
        variants = one.variant, two.variant
        keys[pair] = variants, (one.case, one.repeat, min(variants), max(variants))
    return keys


def _plurality(order: Pair | None, labels: Sequence[PairLabel]) -> PairAnswer | None:
    """What most people say, in the order in which the pair was drawn; None where they are split, or it wasn't drawn."""
    if order is None:
        return None
    answers = Counter[PairAnswer](_answer_for(order, label) for label in labels)
    (answer, most), *others = answers.most_common()
    return None if others and others[0][1] == most else answer


def _answer_for(pair: Pair, label: PairLabel) -> PairAnswer:
    answer = label.answer or "tie"  # never None: labels that were taken back do not stand
    return answer if label.pair == pair else _OTHER[answer]
