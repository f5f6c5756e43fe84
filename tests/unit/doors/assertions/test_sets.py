"""What an assert-set comes to, and what is kept of its parts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from evenhand.core.expect import Expectation, Trial, named_scores, named_weights
from evenhand.core.score import Outcome, State
from evenhand.doors.assertions.aggregate import verdict_rule
from evenhand.doors.assertions.sets import AssertSet, parts_of
from evenhand.engine.outcome import checked_outcome


@pytest.mark.parametrize(
    ("outcome", "weight", "passes"),
    [
        ("pass", 1.0, True),
        ("fail", 1.0, False),
        ("error", 1.0, False),
        ("not_applicable", 1.0, True),
        ("fail", 0.0, True),
    ],
)
def test_a_part_passes_if_it_does_not_apply_or_counts_for_nothing(
    outcome: State, weight: float, passes: bool
):
    """A weight of 0 only measures: promptfoo shows such a part as passed, and so do its results here."""
    part = Outcome("contains", outcome, None, weight=weight)
    expectations = [Expectation("x", AssertSet(()))] * 2
    kept = parts_of([part, Outcome("other", "pass", 1.0)], expectations)
    assert [one["pass"] for one in kept["components"]] == [passes, True]
    assert kept["components"][0]["outcome"] == outcome


class _Settled:
    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes

    async def settled(self, expectations: Sequence[Expectation]) -> Sequence[Outcome]:
        del expectations
        return self.outcomes


@pytest.mark.parametrize(
    ("threshold", "other", "state", "reason"),
    [
        (0.9, Outcome("a", "fail", 0.0), "fail", "score at most 0.50 < 0.9"),
        (None, Outcome("a", "fail", 0.0, "no"), "fail", "no"),
        (0.5, Outcome("a", "pass", 1.0), "pass", "score at least 0.50 ≥ 0.5"),
    ],
)
def test_a_set_that_is_decided_whatever_the_error_comes_to_has_a_verdict(
    threshold: float | None, other: Outcome, state: State, reason: str
):
    """And no number, as the one that is missing may be any: it isn't passed over as not applicable."""
    expectation = Expectation("x", AssertSet((), threshold))
    several = AssertSet((expectation, expectation), threshold)
    trial = _Settled([Outcome("broken", "error", None), other])
    score = asyncio.run(several.score("x", trial))  # type: ignore[arg-type] (all of a trial that it asks)
    outcome = checked_outcome(Expectation("x", several), score)
    assert (outcome.outcome, outcome.score, outcome.reason) == (state, None, reason)
    around = verdict_rule(0.8)([outcome, Outcome("b", "pass", 1.0)])
    assert (around.outcome, around.score) == ("error", None)
    assert verdict_rule()([outcome, Outcome("b", "pass", 1.0)]).outcome == state


def test_what_a_single_part_keeps_is_kept_as_it_is():
    """There is nothing to be listed."""
    one = Outcome("one", "pass", 1.0, metadata={"k": 1})
    assert parts_of([one], [Expectation("x", AssertSet(()))]) == {"k": 1}


async def test_a_metric_inside_a_set_weighs_what_its_assertion_does() -> None:
    """Beside the same metric outside of it, and with the set's own weight, as in promptfoo."""
    inner = [
        Outcome("a", "pass", 0.8, weight=3.0, metric="k"),
        Outcome("b", "pass", 0.4, metric="m"),
        Outcome("c", "fail", 0.0, weight=2.0, named={"m": 1.0}),
    ]
    expectation = Expectation("x", AssertSet(()))
    assert_set = AssertSet((expectation,), 0.1)
    score = await assert_set.score("", cast("Trial", _Settled(inner)))
    whole = checked_outcome(Expectation("x", assert_set, weight=2.0), score)
    outside = Outcome("d", "fail", 0.0, weight=2.0, metric="k")
    assert named_weights([whole, outside]) == {"k": 8.0, "m": 6.0}
    named = named_scores([whole, outside])
    assert named == {"k": pytest.approx(0.8 * 6 / 8), "m": pytest.approx((0.4 + 2) / 3)}
    alone = await assert_set.score("", cast("Trial", _Settled(inner[1:2])))
    assert not alone.named_weights
