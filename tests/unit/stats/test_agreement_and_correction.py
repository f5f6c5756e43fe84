"""Agreement and corrected rates: the published vectors, the ends, and what the intervals promise."""

from __future__ import annotations

from collections import Counter
from itertools import product
from operator import ne

import pytest

from evenhand.stats.agreement import ac1, alpha, kappa
from evenhand.stats.corrected_differences import (
    LabelledCase,
    corrected_paired_difference,
    off_together,
)
from evenhand.stats.correction import (
    Estimate,
    Verdicts,
    corrected_rate,
    replaced_share,
)
from evenhand.stats.interval import wilson
from evenhand.stats.paired_rates import paired_rates

KRIPPENDORFF = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
"""Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C."""
RATINGS = list(
    zip((1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 3, 3), (1, 2, 3, 4, 4, 2, 2, 3, 5, 5, 2, 3), strict=True)
)


def pairs(both: int, first: int, second: int, neither: int) -> list[tuple[float, float]]:
    """A table of two verdicts, item by item."""
    return [(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * neither


def test_kappa_and_ac1_have_their_published_values():
    """κ is small where nearly all items are of one kind, and AC1 is not."""
    table = pairs(90, 5, 4, 1)
    assert kappa(table) == pytest.approx(0.1346153846, abs=1e-9)
    assert ac1(table) == pytest.approx(0.8995591764, abs=1e-9)
    assert kappa(pairs(45, 15, 25, 15)) == pytest.approx(0.1304347826, abs=1e-9)


def test_ratings_agree_as_the_reference_libraries_say():
    """scikit-learn's weighted κ on a 1–5 scale."""
    assert kappa(RATINGS) == pytest.approx(0.5789473684, abs=1e-9)
    assert kappa(RATINGS, "linear") == pytest.approx(0.7647058824, abs=1e-9)
    assert kappa(RATINGS, "quadratic") == pytest.approx(0.8947368421, abs=1e-9)


def test_alpha_has_its_published_values_with_gaps():
    """Nominal .743, ordinal .815, interval .849."""
    items = [[row[i] for row in KRIPPENDORFF if row[i] is not None] for i in range(12)]
    assert alpha(items) == pytest.approx(0.7434210526, abs=1e-9)
    assert alpha(items, "ordinal") == pytest.approx(0.8153875038, abs=1e-9)
    assert alpha(items, "interval") == pytest.approx(0.8491071429, abs=1e-9)


def test_agreement_is_not_defined_where_there_is_nothing_to_agree_on():
    """No pairs, one value only, one person only; AC1 of one value is complete agreement."""
    assert kappa([]) is ac1([]) is alpha([]) is alpha([[1], [2]]) is None
    assert kappa([(1, 1)] * 5) is alpha([[1, 1]] * 5) is None
    assert ac1([(1, 1)] * 5) == 1.0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((40, 10, 5, 45, 525, 1000), (0.551776, 0.477742, 0.621907)),
        ((11, 9, 7, 33, 78, 332), (0.309244, 0.210277, 0.425636)),
        ((55, 5, 10, 30, 465, 1000), (0.471147, 0.399916, 0.554700)),
        ((48, 0, 2, 0, 1000, 1000), (0.956548, 0.877629, 0.991364)),
    ],
)
def test_corrected_rates_are_the_quantiles_of_the_mixture(counts, expected):
    """By 20 million draws of the three beta distributions they are the same to 5e-5; twice the grid, to 1e-8."""
    assert corrected_rate(Verdicts(*counts)) == pytest.approx(expected, abs=2e-6)


def test_without_labels_there_is_no_corrected_rate_and_all_labelled_is_what_people_say():
    """And a judge that says the same of everything changes nothing."""
    assert corrected_rate(Verdicts(0, 0, 0, 0, 5, 10)) is None
    whole = corrected_rate(Verdicts(6, 2, 1, 11, 7, 20))
    assert whole is not None
    assert whole == (8 / 20, *wilson(8, 20))
    assert replaced_share([(1, 1), (0, 1)]) is None


@pytest.mark.parametrize("passes", [0, 4, 48, 63, 64])
def test_where_all_is_labelled_and_both_agree_the_corrected_rate_is_the_raw_one(passes: int):
    """Value and interval; with a single item without a label it is a mixture again, next to it."""
    raw = (passes / 64, *wilson(passes, 64))
    assert corrected_rate(Verdicts(passes, 0, 0, 64 - passes, passes, 64)) == raw
    one_more = corrected_rate(Verdicts(passes, 0, 0, 64 - passes, passes + 1, 65))
    assert one_more is not None
    assert one_more.value == pytest.approx(raw[0], abs=0.03)


@pytest.mark.thorough
def test_no_interval_of_a_difference_is_a_point_and_none_is_wider_than_that_of_the_labels():
    """Whether no labelled case differs, one does, or all do; whatever the judge says of them, and of the others."""
    columns = ([True] * 60, [False] + [True] * 59, [False] * 60, [True, False] * 30)
    for first, second, said in product(columns, repeat=3):
        cases = [LabelledCase((a, c), (b, c)) for a, b, c in zip(first, second, said, strict=True)]
        rates: list[Estimate] = []
        for people in (first, second):
            counts = Counter(zip(people, said, strict=True))
            cells = [counts[a, b] for a in (True, False) for b in (True, False)]
            rate = corrected_rate(Verdicts(*cells, said.count(True) + 70, 200))
            assert rate is not None
            rates.append(rate)
        found = corrected_paired_difference(rates[0], rates[1], cases)
        ahead = sum(b and not a for a, b in zip(first, second, strict=True))
        alone = paired_rates(60, ahead, sum(map(ne, first, second)) - ahead)
        assert 0.02 < found.high - found.low <= alone.high - alone.low + 1e-9
        assert -1 <= found.low <= found.value <= found.high <= 1


def test_errors_that_go_together_are_a_correlation_and_those_of_no_cases_are_none():
    """The same labels twice, and turned around; where one judge is never off there is nothing to go together."""
    labels = [True, True, False, False] * 15
    same = [LabelledCase((one, True), (one, True)) for one in labels]
    turned = [LabelledCase((one, True), (not one, True)) for one in labels]
    assert off_together(same, (60, 60)) == pytest.approx(1 - 0.5 / 15)
    assert off_together(turned, (60, 60)) == pytest.approx(-1)
    assert off_together([LabelledCase((one, one), (one, True)) for one in labels], (60, 60)) == 0
    assert off_together([], (1, 1)) == 0


def test_chance_agreement_of_several_kinds_is_shared_among_them():
    """By hand: with three kinds, Gwet divides by two."""
    pairs = [(1, 1)] * 4 + [(2, 2)] * 3 + [(3, 3)] * 2 + [(1, 2)]
    chance = (0.45 * 0.55 + 0.35 * 0.65 + 0.2 * 0.8) / 2
    assert ac1(pairs) == pytest.approx((0.9 - chance) / (1 - chance))


def test_rates_of_which_few_labels_are_of_the_same_cases_go_together_less():
    """What is off in both is sixty cases of sixty, or of three hundred in each column."""
    off = LabelledCase((False, True), (False, True))
    cases = [off if i % 3 == 0 else LabelledCase((True, True), (True, True)) for i in range(60)]
    first, second = Estimate(0.5, 0.48, 0.52), Estimate(0.52, 0.5, 0.54)
    all_of_them = corrected_paired_difference(first, second, cases)
    few_of_them = corrected_paired_difference(first, second, cases, (300, 300))
    assert few_of_them.high - few_of_them.low > 1.5 * (all_of_them.high - all_of_them.low)
