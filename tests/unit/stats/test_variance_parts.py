"""The parts of a mean's variance: by hand where all is balanced, and without bias where it isn't."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from statistics import fmean, variance

import pytest

from evenhand.stats.variance_parts import (
    CaseSides,
    NextSample,
    VarianceParts,
    judge_part,
    least_costly,
    variance_parts,
    wording_part,
)

Draw = Callable[[Random], list[CaseSides]]


def parts_of(cases: list[CaseSides], reach: float | None = None) -> VarianceParts:
    """The parts, of enough cases."""
    parts = variance_parts(cases, reach)
    assert parts is not None
    return parts


def test_balanced_repeats_give_the_usual_analysis_of_variance() -> None:
    """Five cases with three repeats: (MSA − MSW)/3 and MSW, the mean squares between and within cases."""
    values = [[1, 2, 3], [4, 4, 7], [2, 2, 2], [9, 8, 4], [5, 6, 10]]
    between = 3 * variance(map(fmean, values))
    within = fmean(map(variance, values))
    parts = parts_of([CaseSides((one,)) for one in values])
    assert parts.repeats is not None
    assert parts.repeats.value == pytest.approx(within)
    assert parts.cases.value == pytest.approx((between - within) / 3)
    assert (parts.clusters, parts.units, parts.tries, parts.members) == (None, 5, (3,), 1)
    assert parts.of_mean(5, [3]) == pytest.approx(variance(map(fmean, values)) / 5)
    assert parts.of_mean(20, [6]) == pytest.approx((parts.cases.value + within / 6) / 20)
    assert parts.cases.low <= parts.cases.value <= parts.cases.high
    assert parts.repeats.low < within < parts.repeats.high


def test_balanced_clusters_give_the_usual_nested_analysis_of_variance() -> None:
    """Six clusters of two cases with two repeats each."""
    random = Random(5)
    values = [
        [[random.gauss(c, 1) for _ in range(2)] for _ in range(2)] for c in (0, 1, 5, 2, 8, 3)
    ]
    within = fmean(variance(case) for cluster in values for case in cluster)
    of_cases = fmean(2 * variance(map(fmean, cluster)) for cluster in values)
    of_clusters = 4 * variance(fmean(map(fmean, cluster)) for cluster in values)
    parts = parts_of(
        [CaseSides((case,), c) for c, cluster in enumerate(values) for case in cluster]
    )
    assert parts.clusters is not None
    assert parts.repeats is not None
    assert parts.repeats.value == pytest.approx(within)
    assert parts.cases.value == pytest.approx(max(0, (of_cases - within) / 2))
    # By hand from the mean squares, cases of clusters not cut at 0.
    assert parts.clusters.value == pytest.approx((of_clusters - of_cases) / 4)
    assert (parts.units, parts.members, parts.tries) == (6, 2, (2,))


def unequal_repeats(random: Random) -> list[CaseSides]:
    """Cases that waver the more the more repeats they have, as hard ones that were tried again do."""
    cases: list[CaseSides] = []
    for _ in range(25):
        own, tries = random.choice(((0.5, 5), (0.9, 2), (0.1, 1), (1.0, 3)))
        cases.append(CaseSides(([float(random.random() < own) for _ in range(tries)],)))
    return cases


def two_sides(random: Random) -> list[CaseSides]:
    """Differences of two variants, with three trials and with two."""
    cases: list[CaseSides] = []
    for _ in range(25):
        own = random.random()
        other = min(1.0, own + random.choice((0, 0.3)))
        cases.append(
            CaseSides(
                (
                    [float(random.random() < own) for _ in range(3)],
                    [float(random.random() < other) for _ in range(2)],
                )
            )
        )
    return cases


def unequal_clusters(random: Random) -> list[CaseSides]:
    """Clusters of one to six cases, with one to three repeats."""
    cases: list[CaseSides] = []
    for cluster in range(25):
        of_cluster = random.gauss(0, 1)
        for _ in range(random.choice((1, 3, 6))):
            own = random.gauss(of_cluster, 0.7)
            tries = random.choice((1, 2, 3))
            cases.append(CaseSides(([random.gauss(own, 0.5) for _ in range(tries)],), cluster))
    return cases


@pytest.mark.thorough
def test_unequal_repeats_give_parts_without_bias() -> None:
    """The mean of 1,500 draws is the true part, within four standard errors; seed 9."""
    random = Random(9)
    # A case of each kind has the variance p(1 − p); that of 0.1 has one trial, and is not known.
    truth = {"within": fmean((0.25, 0.09, 0.0)), "measured": 0.0}
    # Without a scale: that only moves the limits, which take most of the time, and nothing here is of them.
    drawn = [parts_of(unequal_repeats(random)) for _ in range(1500)]
    _close([one.repeats.value for one in drawn if one.repeats], truth["within"])
    random = Random(10)
    drawn = [parts_of(two_sides(random)) for _ in range(1500)]
    of_pair = _of_pair()
    _close([one.repeats.value for one in drawn if one.repeats], of_pair[1])
    _close(
        [one.measured - sum((w or 0) / t for w, t in zip(one.within, one.tries, strict=True))
         for one in drawn], of_pair[0],
    )  # fmt: skip
    random = Random(11)
    drawn = [parts_of(unequal_clusters(random)) for _ in range(1500)]
    _close([one.clusters.value for one in drawn if one.clusters], 1, cut=True)
    _close([one.cases.value for one in drawn], 0.49, cut=True)
    _close([one.repeats.value for one in drawn if one.repeats], 0.25)


def _of_pair() -> tuple[float, float]:
    """The true parts of `two_sides`, from a fine sum."""
    pairs = [
        (own, min(1.0, own + step))
        for own in [(i + 0.5) / 5000 for i in range(5000)]
        for step in (0, 0.3)
    ]
    moves = [b - a for a, b in pairs]
    within = fmean(a * (1 - a) + b * (1 - b) for a, b in pairs)
    return fmean(m * m for m in moves) - fmean(moves) ** 2, within


def _close(values: list[float], truth: float, *, cut: bool = False) -> None:
    error = math.sqrt(variance(values) / len(values))
    assert fmean(values) == pytest.approx(truth, abs=(4 + 2 * cut) * error)


@pytest.mark.thorough
def test_the_variance_of_other_numbers_of_cases_and_repeats_is_foretold() -> None:
    """From 400 cases twice each: what 50 cases five times each come to, within a tenth. Seed 12."""
    random = Random(12)

    def draw(cases: int, tries: int) -> list[list[float]]:
        rates = [random.betavariate(2, 1) for _ in range(cases)]
        return [[float(random.random() < rate) for _ in range(tries)] for rate in rates]

    foretold = fmean(
        parts_of([CaseSides((one,)) for one in draw(400, 2)], 1).of_mean(50, [5]) for _ in range(20)
    )
    means = [fmean(map(fmean, draw(50, 5))) for _ in range(4000)]
    assert foretold == pytest.approx(variance(means), rel=0.1)


def test_without_repeats_cases_and_repeats_are_one() -> None:
    """And no number of repeats is said to change anything."""
    parts = parts_of([CaseSides(([float(i % 3 > 0)],)) for i in range(30)], 1)
    assert (parts.repeats, parts.within) == (None, (None,))
    assert parts.cases.value == pytest.approx(parts.measured)
    assert parts.of_mean(30, [4]) == parts.of_mean(30, [1])
    assert least_costly(parts, 2, cases=30) == NextSample(30, (0,), 30)


def test_what_cannot_be_split_is_none_or_refused() -> None:
    """Fewer than five cases, or clusters of them; a case without values; impossible plans."""
    one = CaseSides(([1.0, 0.0],))
    assert variance_parts([one] * 4) is None
    assert variance_parts([]) is None
    assert variance_parts([CaseSides(([1.0],), i % 3) for i in range(30)]) is None
    with pytest.raises(ValueError, match="without values"):
        variance_parts([*[one] * 5, CaseSides(([],))])
    parts = parts_of([one] * 6, 1)
    for wrong in (lambda: parts.of_mean(0, [1]), lambda: parts.of_unit([0]),
                  lambda: parts.of_unit([1, 1]), lambda: least_costly(parts, 0.5, cases=6)):  # fmt: skip
        with pytest.raises(ValueError, match=r"cases|repeats|smaller"):
            wrong()


def test_cases_that_are_all_alike_leave_the_rest_open() -> None:
    """All passed: no part is seen, and on the scale of rates repeats may still differ."""
    parts = parts_of([CaseSides(([1.0, 1.0],))] * 10, 1)
    assert parts.repeats is not None
    assert (parts.measured, parts.cases.value, parts.repeats.value) == (0, 0, 0)
    assert 0 < parts.repeats.high < 0.5
    assert least_costly(parts, 3, cases=10).units == 20


def test_repeats_are_advised_where_the_other_side_needs_none() -> None:
    """The first has 20 repeats of each case, the second 2: its repeats alone are cheaper than new cases."""
    random = Random(4)
    cases = [
        CaseSides(
            (
                [float(random.random() < 0.5) for _ in range(20)],
                [float(random.random() < 0.5) for _ in range(2)],
            )
        )
        for _ in range(40)
    ]
    way = least_costly(parts_of(cases, 1), 1.5, cases=40)
    assert way.tries[0] == way.units == 0
    assert (way.tries[1] > 0, way.trials) == (True, 40 * way.tries[1])
    stuck = least_costly(parts_of(cases, 1), 1.5, cases=40, fixed=(0, 1))
    assert (stuck.units, stuck.tries, stuck.trials) == (20, (0, 0), 20 * 22)


def test_the_wordings_part_is_that_of_two_crossed_effects() -> None:
    """By hand: the mean squares of wordings and of what is left, over n cases."""
    wordings = [[1, 2, 3, 4, 6], [2, 2, 5, 6, 8], [1, 1, 2, 3, 3]]
    n, rows = 5, [fmean(one) for one in wordings]
    columns = [fmean(one) for one in zip(*wordings, strict=True)]
    whole = fmean(rows)
    left = sum(
        (wordings[w][i] - rows[w] - columns[i] + whole) ** 2 for w in range(3) for i in range(n)
    ) / (2 * (n - 1))
    moved, rest = wording_part(wordings)
    assert rest.value == pytest.approx(left)
    assert moved.value == pytest.approx(variance(rows) - left / n)
    assert moved.high > 10 * moved.value  # three wordings say little of others
    for wrong in ([], [[1.0] * 5], [[1.0] * 4] * 2, [[1.0] * 5, [1.0] * 6]):
        with pytest.raises(ValueError, match="wordings of"):
            wording_part(wrong)


def test_verdicts_that_agree_in_nine_of_ten_pairs_have_half_of_the_rest_as_variance() -> None:
    """2p(1 − p) is the chance that two differ."""
    assert judge_part((1.0, 0.9, 1.0)) == (0.0, 0.0, 0.05)
    assert judge_part((0.5, 0.4, 0.6)).value == 0.25


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("draw", [two_sides, unequal_clusters])
def test_intervals_of_parts_hold(draw: Draw) -> None:
    """At least 90 % of 300 draws; `bench/variance_parts.py` has more. Seed 13."""
    random = Random(13)
    held: dict[str, int] = {}
    truth = dict(zip(("cases", "repeats"), _of_pair(), strict=True))
    if draw is unequal_clusters:
        truth = {"clusters": 1, "cases": 0.49, "repeats": 0.25}
    for _ in range(300):
        parts = parts_of(draw(random), 1 if draw is two_sides else None)
        for name, part in (("clusters", parts.clusters), ("cases", parts.cases),
                           ("repeats", parts.repeats)):  # fmt: skip
            if part is not None:
                held[name] = held.get(name, 0) + (part.low <= truth[name] <= part.high)
    assert {name: n / 300 >= 0.9 for name, n in held.items()} == dict.fromkeys(truth, True)
