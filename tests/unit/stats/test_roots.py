"""Where functions cross 0, and quantiles that have no formula, in few steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import pytest
from scipy import stats

from evenhand.stats.roots import crossing, quantile


@pytest.mark.parametrize(
    ("function", "root", "most"),
    [
        (lambda x: 2 - x**3, 2 ** (1 / 3), 15),
        (lambda x: x - 1e-12, 1e-12, 15),
        (lambda x: math.inf if x < 0.1 else 0.3 - x, 0.3, 15),
        (lambda x: math.tanh(500 * (x - 0.7)), 0.7, 25),
        (lambda x: 1.0 if x < 0.123 else -1.0, 0.123, 70),
    ],
)
def test_a_crossing_is_exact_to_the_last_digits(
    function: Callable[[float], float], root: float, most: int
):
    """In about ten steps where the function is smooth; steps, poles and roots near 0 end, too."""
    places: list[float] = []

    def counted(x: float) -> float:
        places.append(x)
        return function(x)

    assert crossing(counted, 0.0, 2.0) == pytest.approx(root, rel=1e-14)
    assert len(places) <= most


def test_without_a_crossing_the_end_that_is_nearer_to_zero_is_taken():
    """Also one that is 0 itself; and no place is sought more exactly than it is wanted."""
    assert crossing(lambda x: x + 1, 0, 2) == 0
    assert crossing(lambda x: x - 3, 0, 2) == 2
    assert crossing(lambda x: x, 0, 2) == 0
    places: list[float] = []
    rough = crossing(lambda x: places.append(x) or x**3 - 2, 0, 2, 0.1)
    assert rough == pytest.approx(2 ** (1 / 3), abs=0.1)
    assert len(places) < 8


@pytest.mark.parametrize("share", [1e-6, 0.025, 0.5, 0.975])
@pytest.mark.parametrize(("a", "b"), [(1.5, 40.5), (3, 3), (900, 20)])
def test_quantiles_are_scipys_in_few_steps(share: float, a: float, b: float):
    """From a guess that is wrong, too."""
    known = stats.beta(a, b)
    places: list[float] = []

    def below(x: float) -> float:
        places.append(x)
        return float(known.cdf(x))

    for start in (known.mean(), 0.5):
        point = quantile(below, share, float(start), float(known.std()))
        assert known.cdf(point) == pytest.approx(share, abs=1e-10)
    assert len(places) < 60


def test_a_quantile_within_the_last_digits_ends():
    """The ends are neighbours among floats, nearly."""
    low, high = 5.0, 5.0 + 4e-15
    point = quantile(NormalDist(7).cdf, 0.5, low, 1e-15, (low, high), 0.0)
    assert low <= point <= high
