"""Rates of cases some of whose trials are in error."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.stats.interval import wilson
from evenhand.stats.tallies import (
    Tally,
    counted,
    rate_of,
    rate_of_decisions,
    rate_of_trials,
    tally_of,
    worth_of,
)

counts = st.integers(0, 6)
tallies = st.builds(Tally, counts, counts, counts)


def test_every_case_counts_once() -> None:
    """However often it was asked: one case that always passes and one that fails in nine repeats are a half."""
    rate = rate_of([Tally(1, 0), Tally(0, 9)])
    assert rate is not None
    assert rate.value == 0.5
    assert (rate.low, rate.high) == wilson(1, 2)


def test_an_error_may_have_been_a_pass_or_a_failure() -> None:
    """From all of them failed to all of them passed, each with its own end of an interval."""
    rate = rate_of([Tally(1, 0)] * 5 + [Tally(0, 1)] * 3 + [Tally(0, 0, 1)] * 2)
    assert rate is not None
    assert rate.value is None
    assert rate == pytest.approx((0.5, 0.7, wilson(5, 10)[0], wilson(7, 10)[1]))


def test_without_trials_there_is_no_rate() -> None:
    """None, and not 0."""
    assert rate_of([]) is None
    assert rate_of([Tally()]) is None
    assert rate_of_trials(Tally()) is None


@given(st.lists(tallies, max_size=30))
def test_all_outcomes_that_errors_can_have_had_lie_in_the_range(drawn: list[Tally]) -> None:
    """Those between the two ends too, and the interval reaches as far as those of the two ends."""
    rate = rate_of(drawn)
    assert (rate is None) == (not any(tally.n for tally in drawn))
    if rate is None:
        return
    least = rate_of([Tally(t.passed, t.failed + t.errors) for t in drawn])
    most = rate_of([Tally(t.passed + t.errors, t.failed) for t in drawn])
    half = rate_of(
        [Tally(t.passed + t.errors // 2, t.failed + t.errors - t.errors // 2) for t in drawn]
    )
    assert least is not None
    assert most is not None
    assert half is not None
    assert (rate.least, rate.low) == (least.value, least.low)
    assert (rate.most, rate.high) == (most.value, most.high)
    assert rate.least <= (half.value or 0) <= rate.most
    assert 0 <= rate.low <= rate.least + 1e-12
    assert rate.most - 1e-12 <= rate.high <= 1


def test_repeats_that_agree_are_worth_one_case() -> None:
    """Ten repeats of eight cases, all alike within a case, say as much as eight trials."""
    rate = rate_of([Tally(10, 0)] * 6 + [Tally(0, 10)] * 2)
    assert rate is not None
    assert (rate.low, rate.high) == wilson(6, 8)


def test_repeats_that_differ_narrow_the_interval_and_never_to_less_than_their_trials() -> None:
    """Each of 40 cases passes in one of two repeats: more is known than of 40 trials, and less than of 80."""
    rate = rate_of([Tally(1, 1)] * 40)
    assert rate is not None
    forty, eighty = wilson(20, 40), wilson(40, 80)
    assert rate.high - rate.low < forty[1] - forty[0]
    mixed = rate_of([Tally(2, 0)] * 10 + [Tally(1, 1)] * 20 + [Tally(0, 2)] * 10)
    assert mixed is not None
    assert eighty[1] - eighty[0] < mixed.high - mixed.low < forty[1] - forty[0]


@given(counts, counts, counts)
def test_trials_that_are_cases_have_wilsons_interval(passed: int, failed: int, errors: int) -> None:
    """Counted together or one by one."""
    together = rate_of_trials(Tally(passed, failed, errors))
    single = [Tally(1)] * passed + [Tally(0, 1)] * failed + [Tally(0, 0, 1)] * errors
    alone = rate_of(single)
    assert (together is None) == (alone is None)
    if together is not None and alone is not None:
        assert together == pytest.approx(alone, abs=1e-9)


def test_outcomes_are_counted_and_what_did_not_apply_is_not() -> None:
    """The same counts are the same object: a large run has few different tallies."""
    tally = Tally()
    for outcome in ("pass", "fail", "error", "not_applicable", "pass"):
        tally = counted(tally, outcome)
    assert tally == (2, 1, 1)
    assert math.isclose(tally.most, 3 / 4)
    assert tally.flaky
    assert not Tally(2, 0, 1).flaky
    assert tally_of(2, 1, 1) is tally_of(2, 1, 1)


def test_a_few_cases_with_many_trials_are_not_worth_more_cases() -> None:
    """Four cases with ten trials and sixteen with one, nearly all passed: about as sure as of twenty cases."""
    rate = rate_of([Tally(10)] * 3 + [Tally(9, 1)] + [Tally(1)] * 16)
    assert rate is not None
    assert worth_of([10] * 4 + [1] * 16) == pytest.approx(20 / 16.4)
    assert wilson(20, 20)[0] < rate.low < 0.9
    assert worth_of([5] * 7) == pytest.approx(5)
    assert worth_of([]) == worth_of([1, 1]) == 1


def test_a_share_of_decisions_counts_each_decision_and_is_as_sure_as_there_are_cases() -> None:
    """Six right answers of two cases and one wrong of a third: six of seven, and no surer than three cases."""
    rate = rate_of_decisions([Tally(3, 0), Tally(3, 0), Tally(0, 1), Tally()])
    assert rate is not None
    assert rate.value == pytest.approx(6 / 7)
    assert rate.high - rate.low > 0.6
    assert rate_of_decisions([Tally(), Tally()]) is None


def test_a_share_of_decisions_is_that_of_cases_where_each_case_has_one_or_as_many() -> None:
    """Then there is no chance in how many there are."""
    for times in (1, 4):
        rates = (rate_of([Tally(1)] * 7 + [Tally(0, 1)] * 2),)
        rates += (rate_of_decisions([Tally(times)] * 7 + [Tally(0, times)] * 2),)
        assert rates[1] == pytest.approx(rates[0])


def test_a_share_of_decisions_is_a_range_where_trials_are_in_error() -> None:
    """They may all have been wrong, or all right."""
    rate = rate_of_decisions([Tally(2, 0, 1), Tally(0, 1)])
    assert rate is not None
    assert (rate.least, rate.most) == (pytest.approx(2 / 4), pytest.approx(3 / 4))
    assert rate.value is None


def test_a_precision_over_repeats_is_covered_where_wrong_answers_are_spread_over_many_cases() -> (
    None
):
    """Three repeats of 60 cases with the label and 60 without, each right four times in five: a precision of 80 %.

    Counting each case once would give 69 %, and miss it in 73 of 100 runs.
    """
    random, missed = Random(20_261_125), 0
    for _ in range(100):
        cases = []
        for i in range(120):
            share = random.betavariate(4, 1)
            right = sum(random.random() < share for _ in range(3))
            cases.append(Tally(right, 0) if i < 60 else Tally(0, 3 - right))
        rate = rate_of_decisions(cases)
        assert rate is not None
        missed += not rate.low <= 0.8 <= rate.high
    assert missed <= 5
