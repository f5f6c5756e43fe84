"""Means and their intervals, as tables show them."""

from __future__ import annotations

import math

from evenhand.report.rates import mean_cell, mean_of
from evenhand.report.words import seconds


def test_a_mean_of_few_cases_has_an_interval_that_nobody_knows():
    """Of two cases t makes 0.75 ±3.18, on a scale that ends at 1: a question mark says as much."""
    assert mean_of([(0.5, 1), (1.0, 1)]) == (0.75, -math.inf, math.inf)
    assert mean_cell(mean_of([(0.5, 1), (1.0, 1)])) == "0.75 ±?"
    assert mean_cell(mean_of([(0.5, 1)] * 4)) == "0.50 ±?"
    assert mean_cell(mean_of([(0.5, 1)] * 5)) == "0.50 ±0.00"


def test_a_mean_of_no_cases_is_a_dash():
    """Nothing was measured."""
    assert mean_cell(mean_of([])) == "–"


def test_repeats_of_a_case_do_not_narrow_the_interval():
    """Five repeats of five cases reach as far as the five cases do."""
    once = [(0.0, 1), (1.0, 1), (0.0, 1), (1.0, 1), (1.0, 1)]
    assert mean_cell(mean_of([(5 * total, 5) for total, _ in once])) == mean_cell(mean_of(once))


def test_latencies_have_their_unit_on_both_sides():
    """A mean of seconds is read as one."""
    cases = [(0.1, 1), (0.2, 1), (0.3, 1), (0.2, 1), (0.2, 1)]
    assert mean_cell(mean_of(cases), seconds) == "200 ms ±88 ms"
