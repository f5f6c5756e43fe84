"""The level of each of a few looks."""

from __future__ import annotations

import math
from random import Random
from statistics import NormalDist

import pytest

from evenhand.stats.looks import look_levels


def test_one_look_has_all_of_the_level():
    """As a test that is made once."""
    assert look_levels([1.0], 0.05) == [pytest.approx(0.05)]
    assert look_levels([], 0.05) == []


def test_boundaries_are_those_that_are_published():
    """Two looks that spend in proportion, 2.5 % one-sided: z = 2.24 and 2.13 (Lan and DeMets, 1983, α₁* linear)."""
    z = [NormalDist().inv_cdf(1 - each) for each in look_levels([0.5, 1.0], 0.025, 1)]
    assert z == [pytest.approx(2.241, abs=0.001), pytest.approx(2.125, abs=0.002)]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("power", "level"), [(1.0, 0.05), (1.0, 0.025), (3.0, 0.05)])
def test_all_looks_together_are_wrong_as_often_as_promised(power: float, level: float):
    """A random walk crosses any of ten boundaries in 5 % of 40,000 walks, and not more; the seed is 11."""
    random, walks = Random(11), 40_000
    fractions = [k / 10 for k in range(1, 11)]
    bounds = [NormalDist().inv_cdf(1 - each) for each in look_levels(fractions, level, power)]
    crossed = 0
    for _ in range(walks):
        place = before = 0.0
        for fraction, bound in zip(fractions, bounds, strict=True):
            place += random.gauss(0, math.sqrt(fraction - before))
            before = fraction
            if place / math.sqrt(fraction) > bound:
                crossed += 1
                break
    assert crossed / walks == pytest.approx(level, abs=4 * math.sqrt(level / walks))


def test_the_later_spent_the_more_is_left_for_the_end():
    """The last look of a spender in proportion has less than that of one who waits."""
    fractions = [0.2, 0.4, 0.6, 0.8, 1.0]
    early, late = look_levels(fractions, 0.05, 1)[-1], look_levels(fractions, 0.05, 3)[-1]
    assert 0.01 < early < late < 0.05


@pytest.mark.parametrize("fractions", [[0.0, 1.0], [0.5, 0.5], [0.9, 0.4], [1.1], [-1]])
def test_fractions_that_do_not_rise_to_one_are_refused(fractions: list[float]):
    """They are no shares of the information."""
    with pytest.raises(ValueError, match="do not rise"):
        look_levels(fractions, 0.05)


@pytest.mark.parametrize(("level", "power"), [(0, 1), (0.6, 1), (0.05, 0), (0.05, float("nan"))])
def test_a_level_or_power_out_of_range_is_refused(level: float, power: float):
    """Nothing could be spent."""
    with pytest.raises(ValueError, match="level"):
        look_levels([1.0], level, power)
