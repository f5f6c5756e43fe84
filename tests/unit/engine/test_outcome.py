"""How scores become outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from evenhand.core.errors import CodeError, ScoreError, UsageError
from evenhand.core.expect import Expectation, all_pass
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.engine.outcome import checked_outcome, error_outcome


class Asked:
    def __str__(self) -> str:
        return "asked"

    def score(self, output, trial):
        raise NotImplementedError


class OnItsScale(Asked):
    traits = Traits(scale=(1.0, 5.0))


@pytest.mark.parametrize(
    "score", [Score(7.0, True), Score(0.5, True, scale=(1.0, 5.0)), Score(-1.0, True)]
)
def test_a_number_off_the_scorers_own_scale_is_an_error(score: Score):
    """By the scale that its traits or its Score say; it names scorer, value and scale."""
    scorer = Asked() if score.scale else OnItsScale()
    message = rf"asked gave {score.value:g}, which is off its scale from 1 to 5"
    with pytest.raises(CodeError, match=message):
        checked_outcome(Expectation("x", scorer), score)


@pytest.mark.parametrize("value", [1.0, 5.0, 5.0000000001, None])
def test_a_number_on_the_scale_or_none_is_no_error(value: float | None):
    """Nor is one that rounding put beside its end."""
    outcome = checked_outcome(Expectation("x", OnItsScale()), Score(value, True))
    assert (outcome.outcome, outcome.score) == ("pass", value)


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
        (Score(sum([0.1] * 8)), {"at_least": 0.8}, "pass", ""),
        (Score(0.1 + 0.2), {"at_most": 0.3}, "pass", ""),
        (Score(2.0), {"at_most": 2}, "pass", ""),
        (Score(3.0), {"at_most": 2}, "fail", "3, wanted at most 2"),
        (Score(0.9, False), {"at_least": 0.5}, "fail", ""),
        (Score(None, reason="no link"), {"at_least": 0.5}, "not_applicable", "no link"),
        (Score(None, False, "missed, whatever it is"), {}, "fail", "missed, whatever it is"),
        (Score(None, False), {"at_least": 0.5}, "fail", ""),
        (Score(None, True), {}, "pass", ""),
    ],
)
def test_a_score_becomes_an_outcome_by_its_verdict_and_its_bounds(score, bounds, state, reason):
    """A bound can fail what the scorer passed, never pass what it failed; what did not apply stays so."""
    made = checked_outcome(Expectation("x", Asked(), **bounds), score)
    assert (made.outcome, made.score, made.reason) == (state, score.value, reason)
    assert made.name == "asked"


def test_a_pass_without_a_number_is_an_error_where_a_bound_needs_one():
    """It may have missed it: `not applicable` would leave it out of the verdict."""
    with pytest.raises(ScoreError, match="passes it without a number, which the bound needs"):
        checked_outcome(Expectation("x", Asked(), at_least=0.5), Score(None, True))


@pytest.mark.parametrize(
    ("verdict", "state"), [(np.float64(0.4) > 0.5, "fail"), (np.float64(0.6) > 0.5, "pass")]
)
@pytest.mark.parametrize("value", [0.9, None])
def test_a_verdict_of_numpy_is_one(verdict, state, value):
    """A comparison of two of its numbers is no bool of Python's."""
    assert checked_outcome(Expectation("x", Asked()), Score(value, verdict)).outcome == state
    opposite = replace(Score(value, verdict), reason="again")
    assert checked_outcome(Expectation("x", Asked()), opposite).outcome == state


@pytest.mark.parametrize("verdict", [0, 1, 0.0, "", "no", "false", []], ids=repr)
def test_what_is_no_verdict_is_refused(verdict):
    """Neither is a 0 a pass nor `"false"`."""
    with pytest.raises(UsageError, match="has to be True, False or None"):
        Score(0.9, verdict)


def test_what_users_keep_beside_a_score_weighs_nothing():
    """Whatever it is called: only the score's own weights count, and those are numbers."""
    one, other = (
        checked_outcome(
            Expectation("x", Asked(), metadata=metadata),
            Score(1.0, True, "", metadata, {"a": value}, named_weights=weights),
        )
        for value, metadata, weights in (
            (1.0, {"named_weights": {"a": "high"}}, {}),
            (0.0, {"named_weights": {"a": 3.0}}, {"a": 7}),
        )
    )
    assert all_pass([one]).named_scores == {"a": 1.0}
    assert all_pass([one, other]).named_scores == {"a": 1 / 8}
    wrong: Any = {"a": "high"}
    for named in ({"a": 1.0}, {}):
        score = Score(1.0, named=named, named_weights=wrong)
        with pytest.raises(CodeError, match="'high' for a score"):
            checked_outcome(Expectation("x", Asked()), score)


def test_an_error_keeps_the_bounds_of_its_expectation():
    """It is the same test as where the scorer gave a number: a comparison must not leave the case out."""
    made = error_outcome(Expectation("x", Asked(), at_least=0.5, at_most=2), ValueError("no"))
    assert (made.outcome, made.score, made.at_least, made.at_most) == ("error", None, 0.5, 2)


@pytest.mark.parametrize(
    "scale", [(float("nan"), 1), (0, float("inf")), (5, 1), (1,), "15", ("1", "5"), 5]
)
def test_a_scale_that_has_no_two_ends_is_an_error_of_its_trial(scale):
    """It could not be written, and the whole run would be lost."""
    with pytest.raises(CodeError, match="for a scale"):
        checked_outcome(Expectation("x", Asked()), Score(1.0, True, scale=scale))


def test_a_number_that_nothing_decides_about_is_an_error():
    """Neither the scorer nor a bound says whether it is good, whoever wrote the scorer."""
    with pytest.raises(UsageError, match=r"asked gave 0\.3 without a verdict") as wrong:
        checked_outcome(Expectation("x", Asked()), Score(0.3))
    assert "at_least" in wrong.value.hint


def test_an_outcome_carries_label_metric_weight_and_both_metadata():
    """The expectation's metadata and the scorer's are put together; of a key of both, neither is lost."""
    expectation = Expectation(
        "x", Asked(), weight=2, metric="tone", label="is kind", metadata={"a": 1, "b": 1}
    )
    made = checked_outcome(expectation, Score(1.0, True, metadata={"b": 2}, named={"n": 0.5}))
    assert (made.name, made.weight, made.metric) == ("is kind", 2, "tone")
    assert made.metadata == {"a": 1, "b": 2, "given": {"b": 1}}
    own = Expectation("x", Asked(), metadata={"b": 1, "given": 3})
    kept = checked_outcome(own, Score(1.0, True, metadata={"b": 2}))
    assert kept.metadata == {"b": 2, "given": {"b": 1, "given": 3}}
    assert made.named == {"n": 0.5}
