"""A half that chooses and a half that confirms: how often chance is confirmed, and how often what is better."""

from __future__ import annotations

import random

import pytest

from evenhand.stats.multiple import Half, confirmed, corrected, winner
from evenhand.stats.paired_difference import Differences


def half(differences: list[int], errors: int = 0) -> Half:
    """Cases with these differences, and errors on cases that today's judge gets right."""
    seen = [[float(d)] for d in differences]
    return Half(Differences(seen, rates=True), Differences([*seen, *[[-1.0]] * errors], rates=True))


def shown(one: Half) -> bool:
    """Whether it is confirmed by itself."""
    return confirmed(one, one.differences.p(), one.at_worst.p())


def tried(rng: random.Random, cases: int, rates: list[float]) -> bool:
    """Whether, of judges that are right this often beside one that is right 80 % of the time, one is confirmed."""
    today = [rng.random() < 0.8 for _ in range(cases)]
    halves: list[tuple[Half, Half]] = []
    for rate in rates:
        gained = [(rng.random() < rate) - was for was in today]
        halves.append((half(gained[: cases // 2]), half(gained[cases // 2 :])))
    best = winner([choosing for choosing, _ in halves])
    return best is not None and shown(halves[best][1])


@pytest.mark.thorough
def test_eight_variants_that_are_no_better_are_confirmed_at_most_one_time_in_twenty():
    """400 tryouts each with 60 and 200 labels, seed 11."""
    for labels in (60, 200):
        rng = random.Random(11)
        false = sum(tried(rng, labels, [0.8] * 8) for _ in range(400))
        assert false <= 20, (labels, false)


def test_a_variant_that_is_better_is_found_among_eight():
    """200 tryouts with 200 labels, seed 12: one is right 95 % of the time, seven are as good as today's."""
    rng = random.Random(12)
    assert sum(tried(rng, 200, [0.8] * 3 + [0.95] + [0.8] * 4) for _ in range(200)) >= 160


def test_none_is_chosen_where_none_is_ahead():
    """A variant that is as good as today's judge is no winner."""
    assert winner([]) is None
    assert winner([half([0, 0, 0]), half([1, -1, -1])]) is None
    assert winner([half([1, 0]), half([1, 1]), half([1, 1])]) == 1, "the first of equals"


def test_errors_count_against_the_one_that_made_them():
    """Where it is chosen, and where it is confirmed; without them it would be."""
    clean, faulty = [1] * 10 + [0] * 20, half([1] * 10 + [0] * 20, errors=8)
    assert shown(half(clean))
    assert not shown(faulty)
    assert faulty.differences.mean == half(clean).differences.mean
    assert winner([faulty, half([1] * 3 + [0] * 27)]) == 1


def test_p_values_are_corrected_for_the_number_of_variants():
    """After Holm: the smallest of four counts four times."""
    one = half([1] * 8 + [0] * 22)
    assert corrected([one])[0] * 4 == corrected([one] * 4)[0]
    assert corrected([]) == []
