"""Missing answers of a ranking, and how likely a draw of pairs is to look like the labels."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from evenhand.analysis.trust.judgements.compared_pairs import (
    ComparedPairs,
    MissingAnswer,
    RankedPair,
)
from evenhand.analysis.trust.ranking_calibration import peoples_chances, trust_in
from evenhand.stats.bradley_terry import Answer, Comparison
from evenhand.stats.corrected_strengths import JudgedPair, LabelledPair

SEED = 20_261_128


def answered(cases: int, orders: int) -> ComparedPairs:
    """Two variants, each pair shown in one order or in both; four answers in ten of them are missing."""
    pairs = ComparedPairs(name="r")
    for case in range(cases):
        answer: Answer = "first" if case % 3 else "second"
        turned: Answer = "second" if case % 3 else "first"
        wins = float(case % 3 > 0)
        pairs.judged.append(RankedPair(f"c{case}", f"c{case}", 0, 0, 1, wins=wins, losses=1 - wins))
        shown = [Comparison(f"c{case}", 0, 1, answer), Comparison(f"c{case}", 1, 0, turned)]
        pairs.answers += shown if orders == 2 else [shown[case % 2]]
    for gone in range(cases // 10 * 4):
        both = [MissingAnswer(f"gone {gone}", 0, 1, 1.0), MissingAnswer(f"gone {gone}", 1, 0, 1.0)]
        pairs.missing += both if orders == 2 else [both[gone % 2]]
    return pairs


def labels_of(pairs: ComparedPairs, every: int) -> list[LabelledPair]:
    """People's answers about some of the pairs: as the judge's, but for one in five."""
    labels: list[LabelledPair] = []
    for number, one in enumerate(pairs.judged[::every]):
        first = (one.wins > one.losses) is (number % 5 > 0)
        shown = (one.one, one.two) if number % 2 else (one.two, one.one)
        answer: Answer = "first" if first is (number % 2 > 0) else "second"
        labels.append(
            LabelledPair(
                Comparison(one.case, *shown, answer),
                JudgedPair(one.case, one.one, one.two, one.wins, one.losses),
            )
        )
    return labels


def test_a_missing_pair_may_turn_as_much_whether_pairs_are_shown_in_one_order_or_in_both():
    """People give one answer about a pair, of which the judge would have given one or two."""
    once, twice = answered(40, 1), answered(40, 2)
    one = peoples_chances(once, labels_of(once, 2), (0, 1)).chances[0]
    other = peoples_chances(twice, labels_of(twice, 2), (0, 1)).chances[0]
    assert one.least < one.most - 0.1
    assert tuple(one) == pytest.approx(tuple(other), abs=0.001)


def test_draws_of_pairs_seldom_look_as_if_they_were_none():
    """Below one in ten at most one time in ten, though many counts are looked at. The seed is 20261128."""
    random = Random(SEED)
    pairs = ComparedPairs(name="r")
    for case in range(20):
        for one, two in combinations(range(6), 2):
            wins = random.choice((0.0, 0.5, 1.0))
            pairs.judged.append(
                RankedPair(f"c{case}", f"c{case}", 0, one, two, wins=wins, losses=1 - wins)
            )
    unlikely = 0
    for _ in range(200):
        labels = [
            LabelledPair(
                Comparison(one.case, one.one, one.two, "first"),
                JudgedPair(one.case, one.one, one.two, one.wins, one.losses),
            )
            for one in random.sample(pairs.judged, 60)
        ]
        p = trust_in(pairs, labels).random_p
        assert p is not None
        unlikely += p < 0.1
    assert unlikely <= 20
