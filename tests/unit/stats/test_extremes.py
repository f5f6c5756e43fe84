"""Comparisons of what trials in error leave open."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.stats.extremes import Extremes, certain
from evenhand.stats.paired_difference import Differences, verdict

cases = st.lists(
    st.tuples(st.sampled_from((-1.0, 0.0, 1.0)), st.sampled_from((0.0, 1.0))),
    min_size=1,
    max_size=25,
)


def rates(differences: Sequence[float]) -> Differences:
    """Differences of pass rates, of cases that stand alone."""
    return Differences([(d,) for d in differences], rates=True)


def extremes(least: Sequence[float], most: Sequence[float]) -> Extremes:
    """The same at both ends."""
    return Extremes(rates(least), rates(most))


def same(p: float) -> float:
    """No correction: one test."""
    return p


def test_a_word_is_said_only_if_it_holds_at_both_ends() -> None:
    """Better at both; better at one and nothing at the other; better at one and worse at the other."""
    up, none, down = [1] * 8 + [0] * 2, [0] * 10, [-1] * 8 + [0] * 2
    assert extremes([*up[:-2], 0, 0], up).verdict(same) == ("better", False)
    assert extremes(none, up).verdict(same) == ("undecided", True)
    assert extremes(down, up).verdict(same) == ("undecided", True)
    assert extremes(none, none).verdict(same) == ("no detectable difference", False)


def test_what_is_better_or_non_inferior_is_non_inferior() -> None:
    """Both say that it is no worse; neither that nothing is known."""
    found = extremes([1] * 5 + [-1] + [0] * 94, [1] * 6 + [0] * 94)
    assert verdict(found.most, found.most.p(), margin=0.05) == "better"
    assert found.verdict(same, margin=0.05) == ("non-inferior", False)


def test_where_less_is_better_both_ends_are_turned() -> None:
    """A fall at both ends is better."""
    found = extremes([-1] * 9 + [0], [-1] * 8 + [0] * 2)
    assert found.verdict(same, lower=True) == ("better", False)
    assert found.verdict(same) == ("worse", False)


def test_p_is_the_larger_and_one_where_the_ends_differ_in_sign() -> None:
    """An end that is 0 counts as such."""
    found = extremes([1] * 7 + [0] * 3, [1] * 9 + [0])
    assert found.p == found.least.p() > found.most.p()
    assert extremes([0] * 10, [1] * 9 + [0]).p == 1
    assert extremes([-1] * 9 + [0], [1] * 9 + [0]).p == 1


def test_too_few_cases_are_the_reason_and_not_the_errors() -> None:
    """Four cases say nothing with errors or without."""
    assert extremes([-1] * 4, [1] * 4).verdict(same) == ("undecided", False)
    assert extremes([], []).verdict(same) == ("undecided", False)
    assert extremes([], []).mean is None


@given(cases)
def test_what_is_said_is_said_at_both_ends(drawn: list[tuple[float, float]]) -> None:
    """And the interval reaches from the lower end of the one to the upper end of the other."""
    least = [low for low, _ in drawn]
    most = [min(1.0, low + more) for low, more in drawn]
    found = extremes(least, most)
    word, open_ = found.verdict(same)
    words = {verdict(data, data.p()) for data in (found.least, found.most)}
    assert words == {word} or (word, open_) == ("undecided", True)
    assert found.interval() == (found.least.interval()[0], found.most.interval()[1])
    assert found.mean == (found.least.mean, found.most.mean)
    if word in ("better", "worse"):
        assert found.p <= 0.05


@given(cases)
def test_without_errors_it_is_what_it_was(drawn: list[tuple[float, float]]) -> None:
    """One set of differences, and its own word, p-value and interval."""
    data = rates([low for low, _ in drawn])
    found = certain(data)
    assert found.verdict(same) == (verdict(data, data.p()), False)
    assert (found.p, found.interval(), found.smallest()) == (
        data.p(),
        data.interval(),
        data.smallest(),
    )
    assert found.mean is not None
    assert found.mean.value == pytest.approx(data.mean)


def test_an_interval_that_shows_worse_by_more_than_a_margin_is_told_as_it_is():
    """Five of six cases fell: the exact test shows nothing, and the interval lies below −0.05 all the same."""
    data = certain(rates([-1.0] * 5 + [0.0]))
    assert data.p > 0.05
    assert data.agreeing(data.p, word="worse") == (*data.interval(0.95), data.p)
    assert data.agreeing(data.p)[1] == 0
