"""The ranges of numbers, for options, configs and arguments alike."""

from __future__ import annotations

import math

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.ranges import BUDGET_USD, NOT_NEGATIVE, NUMBER, REPEATS

NONE_OF_THEM = (math.nan, math.inf, -math.inf, True, "1", [], 10**5000)


def test_nan_and_infinities_are_in_no_range():
    """Nor is what is no number, or has thousands of digits."""
    for within in (BUDGET_USD, REPEATS):
        assert not [value for value in NONE_OF_THEM if value in within]
    assert not [value for value in NONE_OF_THEM[:-1] if value in NUMBER or value in NOT_NEGATIVE]


def test_a_range_says_what_it_takes():
    """In the words of every message that refuses a number."""
    assert REPEATS.problem("repeat", 0) == "repeat is 0, not a whole number from 1 to 1,000,000"
    assert "not a number of US dollars from 0 to 1,000,000,000" in BUDGET_USD.problem("x", -1)
    assert NUMBER.problem("weight", "heavy") == "weight is 'heavy', not a number"
    assert NOT_NEGATIVE.problem("weight", -1) == "weight is -1, not a number from 0 on"
    assert "thousands of digits" in REPEATS.problem("repeat", 10**5000)
    assert len(REPEATS.problem("repeat", "x" * 5000)) < 150


def test_a_number_of_the_range_passes_and_so_does_none_at_all():
    """Both ends are in it; 2.0 is as whole as 2."""
    for value in (1, 2.0, 1_000_000, None):
        REPEATS.check("repeat", value)
    for value in (0, 2.5, 1_000_001):
        with pytest.raises(UsageError, match="repeat is"):
            REPEATS.check("repeat", value)
