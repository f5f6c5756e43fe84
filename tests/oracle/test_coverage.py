"""That 95 % means 95 %: how often intervals hold the truth, and comparisons raise a false alarm.

The simulations and their full tables are in bench/coverage.py and bench/errors.py; here are those that take seconds,
with their seeds.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from evenhand.stats.interval import clopper_pearson, wilson
from evenhand.stats.paired_difference import Differences, verdict

BENCH = Path(__file__).parents[2] / "bench"


def _bench(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_bench", BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench, errors = _bench("coverage"), _bench("errors")
FEW = [n for n in bench.MEANS if n <= 50]
"""Of so many scores the shape matters most; more of them come ever closer to a normal distribution."""
cells = pytest.mark.parametrize(("n", "p"), [(n, p) for n in bench.SIZES for p in bench.RATES])


@cells
def test_intervals_of_a_rate_hold_it(n: int, p: float) -> None:
    """Wilson's at least 92 times in a hundred, Clopper and Pearson's at least 95. Exact.

    In one of the cells Wilson's own formula comes to 91.4: 10 cases that pass 95 times in a hundred.
    """
    assert bench.of_a_rate(wilson, n, p) >= (0.913 if (n, p) == (10, 0.95) else 0.92)
    assert bench.of_a_rate(clopper_pearson, n, p) >= 0.95


@pytest.mark.parametrize("gain", [0, -0.05])
@cells
def test_tangos_interval_holds_the_difference(n: int, p: float, gain: float) -> None:
    """At least 93 times in a hundred, with no difference and with a drop of 5 points. Exact."""
    assert bench.tango(n, p, gain) >= 0.93


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("n", [10, 20, 50, 200])
def test_t_over_clusters_holds_the_mean(n: int, size: int) -> None:
    """At least 93 times in a hundred, whether scores stand alone or four go together; 800 draws."""
    random = Random(bench.SEED + n + size)
    assert sum(bench.of_scores(random, n, size) for _ in range(800)) / 800 >= 0.93


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("shape", bench.SHAPES)
def test_the_interval_of_a_mean_holds_it_whatever_the_shape_of_the_scores(shape: str) -> None:
    """At least 92 times in a hundred for 5 to 50 scores, less what 200 draws may be off; 94 on average."""
    held = [
        sum(bench.of_shape(random, shape, n) for _ in range(200)) / 200
        for n in FEW
        for random in [Random(bench.SEED + n)]
    ]
    assert min(held) >= 0.90
    assert sum(held) / len(held) >= 0.94


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("shape", bench.SHAPES)
def test_scores_of_unlike_shapes_with_equal_means_raise_few_alarms(shape: str, still: bool) -> None:
    """At most 5 in a hundred for 5 to 50 scores, and what 100 draws may be off."""
    for n in FEW:
        random = Random(bench.SEED + n)
        alarms = sum(bench.alarm_of_unlike(random, shape, n, still=still) for _ in range(100))
        assert alarms / 100 <= 0.10, n


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("n", "spread"), [(20, 0.5), (50, 0.5)])
def test_what_scores_could_show_they_show_four_times_in_five(n: int, spread: float) -> None:
    """The mean of what twenty samples say of themselves is shown at least 75 times in a hundred draws."""
    random = Random(bench.SEED + n)
    sizes = [bench.shown(random, n, spread) for _ in range(20)]
    size = sum(each for each, _ in sizes) / 20
    assert sum(sizes[0][1](size) for _ in range(100)) >= 75


@pytest.mark.parametrize(("n", "differing"), [(8, 0), (20, 4), (50, 10), (100, 10)])
def test_what_pass_rates_could_show_they_show_four_times_in_five(n: int, differing: int) -> None:
    """A true difference of that size: shown 80 times in a hundred, give or take what 400 draws may be off."""
    half = differing // 2
    seen = [1] * half + [-1] * (differing - half) + [0] * (n - differing)
    size = Differences([(d,) for d in seen], rates=True).smallest()
    assert size is not None
    random, share = Random(bench.SEED + n), max(size, differing / n)
    shown = 0
    for _ in range(400):
        draws = [random.random() for _ in range(n)]
        cases = [(1,) if u < (share + size) / 2 else (-1,) if u < share else (0,) for u in draws]
        data = Differences(cases, rates=True)
        shown += verdict(data, data.p()) == "better"
    assert 0.75 <= shown / 400 <= 0.86


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("n", "p"), [(10, 0.9), (20, 0.5), (20, 0.9), (50, 0.95)])
def test_intervals_over_repeats_hold_the_truth(n: int, p: float) -> None:
    """A rate, pass^3 and a difference, at least 92 times in a hundred less what 120 draws may be off."""
    random = Random(bench.SEED)
    drawn = [bench.of_repeats(random, n, p) for _ in range(120)]
    assert all(sum(held) / 120 >= 0.875 for held in zip(*drawn, strict=True))


@cells
def test_a_comparison_of_equal_pass_rates_raises_few_alarms(n: int, p: float) -> None:
    """At most 5 in a hundred. Exact."""
    assert bench.false_alarms_of_rates(n, p) <= 0.05


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", ["ratings", "scores", "clusters", "repeats"])
def test_comparisons_of_several_metrics_raise_few_alarms(kind: str) -> None:
    """At most 5 in a hundred among three metrics, and what 150 draws may be off: fewer than 8."""
    random = Random(bench.SEED)
    assert sum(bench.false_alarm(random, 15, kind) for _ in range(150)) / 150 < 0.08


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("lost", [0.5, 1.0])
@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_errors_make_nothing_better(rate: float, lost: float) -> None:
    """Equally good, but some of what would have failed is in error: few alarms, and the interval holds the rate.

    At most 5 in a hundred, and at least 92, each with what 80 draws may be off.
    """
    *_, compared, told, held = map(float, errors.row(80, 20, rate, lost, "5 each", varied=True)[3:])
    assert max(compared, told) <= 10
    assert held >= 86


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_unequal_repeats_do_not_pass_for_more_cases(rate: float) -> None:
    """A fifth of twenty cases has ten trials: at least 92 in a hundred, less what 100 draws may be off."""
    *_, held = map(float, errors.row(100, 20, rate, 0.0, "10 or 1", varied=False)[3:])
    assert held >= 87
