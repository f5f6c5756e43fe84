from __future__ import annotations

from evenhand.doors.eval_sets.thresholds import Thresholds
from evenhand.scorers import CLARITY, Contains, EditDistance, Faithfulness, Passes, Rating
from evenhand.scorers.metric import metric

SAID = Thresholds({"rating:clarity": 4, "edit_distance": 3, "faithfulness": 0.8, "mine": 0.5})


def test_a_threshold_is_found_by_the_name_that_reports_have():
    """Of more it is the least, of what is better low the most."""
    assert SAID.bounds(Rating(CLARITY)) == (4, None)
    assert SAID.bounds(Faithfulness("x")) == (0.8, None)
    assert SAID.bounds(EditDistance("a")) == (None, 3)


def test_the_name_under_which_a_number_is_counted_goes_first():
    """And what is low stays low, whatever it is called."""
    assert SAID.bounds(Rating(CLARITY), "mine") == (0.5, None)
    assert SAID.bounds(EditDistance("a"), "mine") == (None, 0.5)


def test_what_is_true_or_false_and_what_nobody_named_has_no_threshold():
    """A class is not a scorer yet; without thresholds nothing is bounded."""
    assert SAID.bounds(Contains("x")) == (None, None)
    assert Thresholds({"passes": 1}).bounds(Passes("x")) == (None, None)
    assert SAID.bounds(Faithfulness) == (None, None)
    assert Thresholds().bounds(Faithfulness("x")) == (None, None)


def test_of_metrics_those_that_are_measured_are_bounded():
    """By the side that is good."""
    chosen = [metric("faithfulness"), metric("edit_distance"), metric("token_f1")]
    assert SAID.of(chosen) == ({"faithfulness": 0.8}, {"edit_distance": 3})
