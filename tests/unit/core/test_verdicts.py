"""How outcomes become a trial's verdict, and trials a run's."""

from __future__ import annotations

import pytest

from evenhand.core.expect import all_pass, named_scores, share_passed, weighted_mean
from evenhand.core.run import Totals, verdict
from evenhand.core.score import Outcome


def outcome(state, score=None, weight=1.0, **more):
    """One outcome."""
    return Outcome(f"o-{state}", state, score, f"because {state}", weight, **more)


@pytest.mark.parametrize(
    ("outcomes", "state", "score"),
    [
        ([], "pass", None),
        ([outcome("pass", 1.0), outcome("pass", 0.5)], "pass", 0.75),
        ([outcome("pass", 1.0), outcome("fail", 0.0, 3.0)], "fail", 0.25),
        ([outcome("pass", 1.0), outcome("error")], "error", None),
        ([outcome("fail", 0.0), outcome("error")], "fail", None),
        ([outcome("not_applicable")], "not_applicable", None),
        ([outcome("not_applicable"), outcome("pass", 1.0)], "pass", 1.0),
        ([outcome("not_applicable"), outcome("error")], "error", None),
        ([outcome("fail", 0.0, 0.0)], "pass", None),
        ([outcome("error", None, 0.0), outcome("pass", 1.0)], "pass", 1.0),
    ],
)
def test_every_expectation_must_pass(outcomes, state, score):
    """A failure decides, then an error; what did not apply and what has no weight take no part."""
    made = all_pass(outcomes)
    assert (made.outcome, made.score) == (state, score)


def test_a_verdict_without_a_number_counts_in_the_share_that_passed():
    """Only an error leaves the share open."""
    outcomes = [outcome("pass"), outcome("fail", 0.0), outcome("fail", weight=2.0)]
    assert (share_passed(outcomes).outcome, share_passed(outcomes).score) == ("fail", 0.25)
    assert share_passed([*outcomes, outcome("error")]).score is None


def test_the_reason_is_that_of_the_first_outcome_that_decided():
    """So the line people read explains the verdict."""
    assert all_pass([outcome("pass", 1.0), outcome("fail", 0.0)]).reason == "because fail"


def test_a_weighted_mean_leaves_out_what_has_no_score():
    """Missing is never 0, and nothing at all has no mean."""
    na = outcome("not_applicable", None, 9.0)
    assert weighted_mean([outcome("pass", 1.0, 1.0), na]) == 1.0
    assert weighted_mean([outcome("pass", 1.0, 1.0), outcome("error", None, 9.0)]) is None
    assert weighted_mean([outcome("pass", 1.0, 1.0), outcome("fail", None, 9.0)]) is None
    assert weighted_mean([outcome("error")]) is None
    assert weighted_mean([outcome("pass", 1.0, 0.0)]) is None


def test_named_scores_are_weighted_means_by_metric():
    """Metrics and scorers' own numbers meet under one name; one without a score, or with an error, is left out."""
    made = named_scores(
        [
            outcome("pass", 1.0, 1.0, metric="tone"),
            outcome("fail", 0.0, 3.0, metric="tone"),
            outcome("error", None, 1.0, metric="lost"),
            outcome("pass", 1.0, 1.0, metric="half"),
            outcome("error", None, 1.0, metric="half"),
            outcome("pass", 1.0, 1.0, named={"tone": 1.0, "length": 12.0}),
            outcome("pass", 1.0, 0.0, metric="weightless"),
        ]
    )
    assert made == {"tone": pytest.approx(2 / 5), "length": 12.0}


def test_an_outcome_counts_once_for_a_name():
    """The score decides where a grader's further number has the name of its own metric."""
    both = outcome("pass", 0.4, 1.0, metric="tone", named={"tone": 0.3, "length": 12.0})
    assert named_scores([both]) == {"tone": 0.4, "length": 12.0}
    assert named_scores([both, outcome("pass", 1.0, 1.0, metric="tone")])["tone"] == 0.7


@pytest.mark.parametrize(
    ("passed", "failed", "errors", "planned", "rate", "word"),
    [
        (10, 0, 0, 10, 1.0, "passed"),
        (9, 1, 0, 10, 1.0, "failed"),
        (9, 0, 1, 10, 1.0, "undecided"),
        (9, 0, 0, 10, 1.0, "undecided"),
        (8, 1, 1, 10, 0.8, "passed"),
        (7, 1, 2, 10, 0.8, "undecided"),
        (7, 3, 0, 10, 0.8, "failed"),
        (0, 0, 0, 0, 1.0, "undecided"),
        (0, 5, 0, 5, 0.0, "passed"),
        (29, 1, 70, 100, 1.0, "failed"),
        (1, 2, 0, 3, 1 / 3, "passed"),
    ],
)
def test_a_run_is_decided_when_what_is_unknown_could_not_change_it(
    passed, failed, errors, planned, rate, word
):
    """Errors and trials that never ran could have gone either way."""
    totals = Totals(trials=passed + failed + errors, passed=passed, failed=failed, errors=errors)
    assert verdict(totals, planned, rate) == word


def test_trials_to_which_nothing_applied_take_no_part_in_the_verdict():
    """They are neither for nor against."""
    totals = Totals(trials=10, passed=4, not_applicable=6)
    assert verdict(totals, 10) == "passed"
    assert verdict(Totals(trials=3, not_applicable=3), 3) == "undecided"
