"""How scores become outcomes, outcomes a trial's verdict, and trials a run's."""

from __future__ import annotations

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.expect import (
    Expectation,
    all_pass,
    named_scores,
    outcome_of,
    weighted_mean,
)
from evenhand.core.run import Totals, verdict
from evenhand.core.score import Outcome, Score


class Asked:
    def __str__(self) -> str:
        return "asked"

    def score(self, output, trial):
        raise NotImplementedError


def outcome(state, score=None, weight=1.0, **more):
    """One outcome."""
    return Outcome(f"o-{state}", state, score, f"because {state}", weight, **more)


@pytest.mark.parametrize(
    ("score", "bounds", "state", "reason"),
    [
        (Score(0.3), {"only_measured": True}, "pass", ""),
        (Score(0.3, True, "good"), {}, "pass", "good"),
        (Score(0.9, False, "bad"), {}, "fail", "bad"),
        (Score(0.5), {"at_least": 0.5}, "pass", ""),
        (Score(0.49), {"at_least": 0.5}, "fail", "0.49, wanted at least 0.5"),
        (
            Score(0.49, True, "so so"),
            {"at_least": 0.5},
            "fail",
            "0.49, wanted at least 0.5: so so",
        ),
        (Score(2.0), {"at_most": 2}, "pass", ""),
        (Score(3.0), {"at_most": 2}, "fail", "3, wanted at most 2"),
        (Score(0.9, False), {"at_least": 0.5}, "fail", ""),
        (Score(None, reason="no link"), {"at_least": 0.5}, "not_applicable", "no link"),
    ],
)
def test_a_score_becomes_an_outcome_by_its_verdict_and_its_bounds(score, bounds, state, reason):
    """A bound can fail what the scorer passed, never pass what it failed; what did not apply stays so."""
    made = outcome_of(Expectation("x", Asked(), **bounds), score)
    assert (made.outcome, made.score, made.reason) == (state, score.value, reason)
    assert made.name == "asked"


def test_a_number_that_nothing_decides_about_is_an_error():
    """Neither the scorer nor a bound says whether it is good, whoever wrote the scorer."""
    with pytest.raises(UsageError, match=r"asked gave 0\.3 without a verdict") as wrong:
        outcome_of(Expectation("x", Asked()), Score(0.3))
    assert "at_least" in wrong.value.hint


def test_an_outcome_carries_label_metric_weight_and_both_metadata():
    """The expectation's metadata and the scorer's are put together; of a key of both, neither is lost."""
    expectation = Expectation(
        "x", Asked(), weight=2, metric="tone", label="is kind", metadata={"a": 1, "b": 1}
    )
    made = outcome_of(expectation, Score(1.0, True, metadata={"b": 2}, named={"n": 0.5}))
    assert (made.name, made.weight, made.metric) == ("is kind", 2, "tone")
    assert made.metadata == {"a": 1, "b": 2, "given": {"b": 1}}
    own = Expectation("x", Asked(), metadata={"b": 1, "given": 3})
    kept = outcome_of(own, Score(1.0, True, metadata={"b": 2}))
    assert kept.metadata == {"b": 2, "given": {"b": 1, "given": 3}}
    assert made.named == {"n": 0.5}


@pytest.mark.parametrize(
    ("outcomes", "state", "score"),
    [
        ([], "pass", None),
        ([outcome("pass", 1.0), outcome("pass", 0.5)], "pass", 0.75),
        ([outcome("pass", 1.0), outcome("fail", 0.0, 3.0)], "fail", 0.25),
        ([outcome("pass", 1.0), outcome("error")], "error", None),
        ([outcome("fail", 0.0), outcome("error")], "fail", 0.0),
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


def test_the_reason_is_that_of_the_first_outcome_that_decided():
    """So the line people read explains the verdict."""
    assert all_pass([outcome("pass", 1.0), outcome("fail", 0.0)]).reason == "because fail"


def test_a_weighted_mean_leaves_out_what_has_no_score():
    """Missing is never 0, and nothing at all has no mean."""
    assert weighted_mean([outcome("pass", 1.0, 1.0), outcome("error", None, 9.0)]) == 1.0
    assert weighted_mean([outcome("error")]) is None
    assert weighted_mean([outcome("pass", 1.0, 0.0)]) is None


def test_named_scores_are_weighted_means_by_metric():
    """Metrics and scorers' own numbers meet under one name; a name without a score is left out."""
    made = named_scores(
        [
            outcome("pass", 1.0, 1.0, metric="tone"),
            outcome("fail", 0.0, 3.0, metric="tone"),
            outcome("error", None, 1.0, metric="lost"),
            outcome("pass", 1.0, 1.0, named={"tone": 1.0, "length": 12.0}),
            outcome("pass", 1.0, 0.0, metric="weightless"),
        ]
    )
    assert made == {"tone": pytest.approx(2 / 5), "length": 12.0}


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
