"""The difference over a suite from a part of its cases."""

from __future__ import annotations

import math
import runpy
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import fmean, pvariance

import pytest

from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.control_variates import (
    FEWEST,
    Adjusted,
    Ran,
    Unit,
    adjusted_differences,
    whole_rate,
)

_BENCH = runpy.run_path(str(Path(__file__).resolve().parents[3] / "bench/control_variates.py"))


def mean_of(adjusted: Adjusted) -> float:
    """The weighted mean of its lowest ends."""
    total = math.fsum(adjusted.weights)
    return math.fsum(v * w for v, w in zip(adjusted.least, adjusted.weights, strict=True)) / total


def flip(random: Random, chance: float) -> float:
    """1 with this chance, else 0."""
    return float(random.random() < chance)


def test_all_units_run_have_their_plain_differences():
    """With nothing left to predict, nothing is adjusted."""
    suite = [Unit(i % 3 / 2, i % 3 / 2, [1.0]) for i in range(60)]
    run = [Ran(i, 0.5, 0.5, 1.0) for i in range(60)]
    adjusted = adjusted_differences(suite, run, (0, 1))
    assert list(adjusted.least) == [0.5 - unit.least for unit in suite]
    assert (adjusted.fitted, adjusted.scale) == (False, (-1, 1))


def test_few_units_have_their_plain_differences():
    """A regression on them would follow chance."""
    suite = [Unit(i % 2, i % 2) for i in range(100)]
    run = [Ran(i, 1.0, 1.0, 0.1) for i in range(FEWEST - 1)]
    adjusted = adjusted_differences(suite, run, (0, 1))
    assert list(adjusted.least) == [1.0 - suite[i].least for i in range(FEWEST - 1)]
    assert not adjusted.fitted


def test_nothing_run_has_no_differences():
    """And no weights."""
    adjusted = adjusted_differences([Unit(0, 0)], [], (0, 1))
    assert (list(adjusted.least), list(adjusted.weights)) == ([], [])


def test_what_the_baseline_explains_wholly_leaves_no_spread():
    """The run scores 0.1 less than the baseline everywhere: each adjusted difference is that."""
    random = Random(4)
    suite = [Unit(v, v) for v in (random.uniform(0.1, 1) for _ in range(400))]
    run = [Ran(i, unit.least - 0.1, unit.least - 0.1, 0.25) for i, unit in enumerate(suite[:100])]
    adjusted = adjusted_differences(suite, run, (0, 1))
    assert all(value == pytest.approx(-0.1, abs=1e-9) for value in adjusted.least)


def test_it_is_right_on_average_over_all_draws_whatever_the_history_says():
    """All draws of 21 of 23 units: their mean is the suite's, though the history is upside down; the seed is 2."""
    random = Random(2)
    chances = [random.random() for _ in range(23)]
    now = [flip(random, c) for c in chances]
    suite = [Unit(b, b, [1 - c]) for c in chances for b in [flip(random, c)]]
    truth = fmean(now) - fmean(unit.least for unit in suite)
    means = [
        mean_of(
            adjusted_differences(suite, [Ran(i, now[i], now[i], 21 / 23) for i in drawn], (0, 1))
        )
        for drawn in combinations(range(23), 21)
    ]
    assert fmean(means) == pytest.approx(truth, abs=0.004)


def trial(
    random: Random, n: int, drawn: int, repeats: int, systems: int, *, upside_down: bool = False
) -> tuple[list[Unit], list[Ran]]:
    """A suite whose system has not changed, and a draw of it."""
    # A beta distribution with 1 on one side has a quantile that is a power.
    chances = [1 - random.random() ** (1 / 0.3) for _ in range(n)]
    suite: list[Unit] = []
    for chance in chances:
        before = sum([flip(random, chance) for _ in range(repeats)]) / repeats
        said = 1 - chance if upside_down else chance
        suite.append(Unit(before, before, [flip(random, said) for _ in range(systems)]))
    places = random.sample(range(n), drawn)
    run = [Ran(i, y, y, drawn / n) for i in places for y in [flip(random, chances[i])]]
    return suite, run


@cache
def plain_spread() -> float:
    """The mean spread of plain differences from one run, of 200 of 2,000 units; the seed is 5."""
    random = Random(5)
    draws = [trial(random, 2000, 200, 1, 0) for _ in range(30)]
    return fmean(pvariance([r.least - suite[r.place].least for r in run]) for suite, run in draws)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("repeats", "systems", "at_most"), [(1, 0, 0.76), (1, 5, 0.68), (5, 0, 0.6), (5, 5, 0.6)]
)
def test_earlier_runs_make_calls_unnecessary(repeats: int, systems: int, at_most: float):
    """200 of 2,000 units: the spread as a share of that of plain differences from one run; the seed is 6."""
    random = Random(6)
    adjusted: list[float] = []
    for _ in range(30):
        suite, run = trial(random, 2000, 200, repeats, systems)
        adjusted.append(pvariance(adjusted_differences(suite, run, (0, 1)).least))
    assert fmean(adjusted) / plain_spread() < at_most


def test_a_history_made_to_mislead_costs_next_to_nothing():
    """Five systems that say nothing: no more than a tenth more spread than without; the seed is 8."""
    random = Random(8)
    with_history: list[float] = []
    without: list[float] = []
    for _ in range(60):
        suite, run = trial(random, 400, 100, 1, 0)
        noise = [Unit(u.least, u.most, [flip(random, 0.5) for _ in range(5)]) for u in suite]
        with_history.append(pvariance(adjusted_differences(noise, run, (0, 1)).least))
        without.append(pvariance(adjusted_differences(suite, run, (0, 1)).least))
    assert fmean(with_history) < 1.1 * fmean(without)


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "drawn", "repeats", "systems"), [(60, 25, 1, 4), (200, 80, 5, 2)])
def test_intervals_hold_for_what_has_not_changed(n: int, drawn: int, repeats: int, systems: int):
    """95 % of the intervals hold 0; of 200 draws, no fewer than 92 %. The seed is 9."""
    random, hits = Random(9), 0
    for _ in range(200):
        suite, run = trial(random, n, drawn, repeats, systems)
        adjusted = adjusted_differences(suite, run, (0, 1))
        units = zip(adjusted.least, adjusted.weights, strict=True)
        estimate = mean_on_scale([(u * w, w) for u, w in units], adjusted.scale)
        assert estimate is not None
        hits += estimate[1] <= 0 <= estimate[2]
    assert hits >= 184


def test_an_error_may_have_been_either_outcome():
    """The mean moves from the one end to the other by the share of units in error, on both sides."""
    suite = [Unit(0.0, 1.0) if i < 10 else Unit(1.0, 1.0) for i in range(100)]
    run = [Ran(i, 0.0, 1.0, 0.5) if i >= 45 else Ran(i, 1.0, 1.0, 0.5) for i in range(50)]
    adjusted = adjusted_differences(suite, run, (0, 1))
    assert fmean(adjusted.most) - fmean(adjusted.least) == pytest.approx(
        5 / 50 + 10 / 100, abs=0.06
    )
    assert fmean(adjusted.least) < 0 < fmean(adjusted.most)


def test_rare_units_weigh_more():
    """A unit that was drawn one time in ten stands for nine that were not."""
    suite = [Unit(0.5, 0.5)] * 200
    run = [Ran(i, float(i < 20), float(i < 20), 0.1 if i < 20 else 0.9) for i in range(40)]
    adjusted = adjusted_differences(suite, run, (0, 1))
    assert adjusted.weights[0] == pytest.approx(9 * adjusted.weights[-1])
    assert mean_of(adjusted) == pytest.approx(0.9 - 0.5, abs=0.02)


def test_scores_are_in_their_own_unit():
    """On a scale ten times as long, differences are ten times as large."""
    random = Random(12)
    suite, run = trial(random, 100, 40, 2, 2)
    one = adjusted_differences(suite, run, (0, 1))
    longer = [Unit(10 * u.least, 10 * u.most, [10 * (v or 0) for v in u.earlier]) for u in suite]
    ten = adjusted_differences(
        longer, [Ran(r.place, 10 * r.least, 10 * r.most, r.chance) for r in run], (0, 10)
    )
    assert list(ten.least) == [pytest.approx(10 * value) for value in one.least]


def test_what_no_earlier_system_says_is_taken_as_average():
    """A case that is new in the suite breaks nothing."""
    random = Random(13)
    suite, run = trial(random, 100, 40, 1, 3)
    suite[run[0].place] = Unit(1.0, 1.0, [None, None, None])
    suite[5] = Unit(0.0, 0.0, ())
    assert all(map(math.isfinite, adjusted_differences(suite, run, (0, 1)).least))


@pytest.mark.parametrize("chance", [0.0, -0.5, 1.5, float("nan")])
def test_a_chance_that_is_none_is_refused(chance: float):
    """Its weight would be endless, or negative."""
    with pytest.raises(ValueError, match="chance"):
        adjusted_differences([Unit(0, 0)], [Ran(0, 0, 0, chance)], (0, 1))


def test_a_scale_without_length_is_refused():
    """Nothing on it differs."""
    with pytest.raises(ValueError, match="scale"):
        adjusted_differences([Unit(0, 0)], [], (1, 1))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("units", "run", "history", "cluster", "errors"),
    [
        (40, 5, "fair", 1, 0.0),
        (120, 60, "reversed", 1, 0.0),
        (200, 60, "noise", 1, 0.0),
        (80, 40, "fair", 4, 0.04),
    ],
)
def test_the_interval_of_a_sample_holds_what_all_cases_would_have_come_to(
    units: int, run: int, history: str, cluster: int, errors: float
):
    """In 19 of 20 draws, whatever the history says; `bench/control_variates.py --rates` has more settings."""
    one = _BENCH["Setting"](units, run, 1, 1, 5, history, cluster=cluster, errors=errors)
    draws = 120
    cover, missed, kept, _ = _BENCH["rate_measured"](Random(f"{one}"), one, draws)
    slack = 2 * math.sqrt(0.05 * 0.95 / draws)
    assert cover >= 0.95 - slack
    assert missed <= 0.025 + slack
    assert kept <= 0.025 + slack


def test_a_history_that_knows_halves_the_interval_of_a_sample():
    """And what was run is never taken back: nothing run is nothing known, all run is all known."""
    random = Random(4)
    truth = [flip(random, 0.6) for _ in range(300)]
    history = [(value if random.random() < 0.95 else 1 - value,) for value in truth]
    run = [Ran(i, truth[i], truth[i], 1 / 3) for i in random.sample(range(300), 100)]
    rate, alone = whole_rate(history, run), whole_rate([()] * 300, run)
    assert rate is not None
    assert alone is not None
    assert (rate.fitted, rate.low < fmean(truth) < rate.high) == (True, True)
    assert rate.high - rate.low < 0.6 * (alone.high - alone.low)
    passed = sum(one.least for one in run)
    assert passed / 300 <= rate.low <= rate.least == rate.most <= rate.high
    assert rate.high <= (passed + 200) / 300
    every = whole_rate(history, [Ran(i, v, v, 1.0) for i, v in enumerate(truth)])
    assert every is not None
    assert every.low == every.high == pytest.approx(fmean(truth))
    assert whole_rate(history, []) is None
    few = whole_rate([()] * 6, [Ran(i, 1.0, 1.0, 5 / 6) for i in range(5)])
    assert few is not None
    assert few.low == pytest.approx(5 / 6)
