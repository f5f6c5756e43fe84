"""How a test's assertions become its verdict."""

from __future__ import annotations

import pytest

from evenhand.core.score import Outcome
from evenhand.doors.assertions.aggregate import verdict_rule


def settled(*specs: tuple, **more) -> list[Outcome]:
    """Outcomes from (state, score, weight)."""
    return [
        Outcome(f"a{i}", state, score, f"r{i}", weight, **more)
        for i, (state, score, weight) in enumerate(specs)
    ]


@pytest.mark.parametrize(
    ("outcomes", "threshold", "state", "score"),
    [
        ([], None, "pass", 1.0),
        ([], 0.5, "pass", 1.0),
        ([("pass", 1.0, 1)], None, "pass", 1.0),
        ([("fail", 0.0, 1)], None, "fail", 0.0),
        ([("pass", 1.0, 1), ("fail", 0.0, 1)], None, "fail", 0.5),
        ([("pass", 1.0, 3), ("fail", 0.0, 1)], None, "fail", 0.75),
        ([("pass", 0.2, 1), ("pass", 0.6, 1)], None, "pass", 0.4),
        ([("pass", 1.0, 1), ("fail", 0.0, 0)], None, "pass", 1.0),
        ([("fail", 0.0, 0)], None, "pass", 0.0),
        ([("error", None, 0)], None, "pass", 0.0),
        ([("error", None, 1)], None, "error", None),
        ([("pass", 1.0, 1), ("error", None, 1)], None, "error", None),
        ([("fail", 0.0, 1), ("error", None, 1)], None, "fail", None),
        ([("not_applicable", None, 1)], None, "not_applicable", None),
        ([("not_applicable", None, 1), ("not_applicable", None, 2)], 0.5, "not_applicable", None),
        ([("not_applicable", None, 1), ("pass", 1.0, 1)], None, "pass", 1.0),
        ([("not_applicable", None, 1), ("pass", 1.0, 1)], 0.9, "pass", 1.0),
        ([("pass", 1.0, 1), ("fail", 0.0, 1)], 0.5, "pass", 0.5),
        ([("pass", 1.0, 1), ("fail", 0.0, 1)], 0.51, "fail", 0.5),
        ([("pass", 0.2, 1), ("pass", 0.6, 1)], 0.4, "pass", 0.4),
        ([("pass", 1.0, 1), ("pass", 1.0, 1)], 1.5, "fail", 1.0),
        ([("fail", 0.0, 0)], 0.1, "fail", 0.0),
        ([("pass", 1.0, 1), ("error", None, 1)], 0.5, "pass", None),
        ([("pass", 1.0, 1), ("error", None, 1)], 0.6, "error", None),
        ([("fail", 0.0, 3), ("error", None, 1)], 0.5, "fail", None),
        ([("pass", 5.0, 1), ("pass", 4.0, 1)], 4.5, "pass", 4.5),
    ],
)
def test_weights_thresholds_and_errors(outcomes, threshold, state, score):
    """All must pass, or the mean must reach the threshold; an error decides nothing that it could still change."""
    verdict = verdict_rule(threshold)(settled(*outcomes))
    assert verdict.outcome == state
    assert verdict.score == (None if score is None else pytest.approx(score))


def test_the_reason_is_that_of_the_first_which_decided():
    """The first failure, the first error, or the mean beside its threshold."""
    fails = settled(("pass", 1.0, 1), ("fail", 0.0, 1), ("fail", 0.0, 1))
    assert verdict_rule(None)(fails).reason == "r1"
    assert verdict_rule(0.5)(fails).reason == "score 0.33 < 0.5"
    assert verdict_rule(0.3)(fails).reason == "score 0.33 ≥ 0.3"
    assert verdict_rule(0.9)(settled(("pass", 1.0, 1), ("error", None, 1))).reason == "r1"


def test_named_scores_are_weighted_means():
    """Metrics, and what functions named, are counted under their names."""
    verdict = verdict_rule(None)(
        settled(("pass", 1.0, 3), ("fail", 0.0, 1), metric="tone", named={"x": 0.5})
    )
    assert verdict.named_scores == {"tone": 0.75, "x": 0.5}
    assert verdict_rule(None)(settled(("pass", 1.0, 1), metric="tone")).named_scores == {
        "tone": 1.0
    }


@pytest.mark.parametrize("threshold", [None, 0.9])
@pytest.mark.parametrize(("blocked", "state"), [("fail", "pass"), ("pass", "fail")])
def test_guardrails_that_were_meant_to_block_excuse_the_rest(threshold, blocked, state):
    """The score stays what it is."""
    outcomes = [
        Outcome("contains", "fail", 0.0, "not there"),
        Outcome("guardrails", blocked, 0.0 if blocked == "fail" else 1.0, "flagged"),
    ]
    verdict = verdict_rule(threshold, excusing=frozenset({1}))(outcomes)
    assert verdict.outcome == state
    assert verdict.score == (0.0 if blocked == "fail" else 0.5)
    assert ("blocked" in verdict.reason) is (blocked == "fail")


@pytest.mark.parametrize(
    ("guard", "state"),
    [("fail", "pass"), ("pass", "fail"), ("error", "fail"), ("not_applicable", "fail")],
)
def test_only_a_guardrail_that_blocks_excuses_what_failed(guard: str, state: str):
    """One in error, or that does not apply, has blocked nothing."""
    outcomes = settled((guard, 0.0 if guard == "fail" else None, 0), ("fail", 0.0, 1))
    assert verdict_rule(excusing=frozenset({0}))(outcomes).outcome == state


@pytest.mark.parametrize(
    ("score", "threshold", "reason"),
    [
        (0.8996, 0.9, "score 0.8996 < 0.9"),
        (0.5, 0.9, "score 0.50 < 0.9"),
        (0.9004, 0.9, "score 0.9004 ≥ 0.9"),
        (0.9, 0.9, "score 0.90 ≥ 0.9"),
    ],
)
def test_a_mean_reads_as_what_it_is_beside_its_threshold(
    score: float, threshold: float, reason: str
):
    """Rounded to two digits, a miss by less than half a hundredth would read as the threshold itself."""
    assert verdict_rule(threshold)(settled(("pass", score, 1))).reason == reason
