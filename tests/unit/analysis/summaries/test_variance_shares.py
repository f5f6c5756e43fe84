"""What a trial of a run took, as estimates of other runs go by it."""

from __future__ import annotations

import pytest
from tests.runs import Make, result

from evenhand.analysis.summaries.variance_shares import TrialCost, cost_words, trial_cost
from evenhand.core.run import CallEnd, CallStart
from evenhand.core.variant import Variant

ONE = (Variant(0, "p", "m"),)


def call(trial: int, origin: str, cost: float | None, role: str = "subject"):
    """A call of a trial."""
    start = CallStart(trial, f"k{trial}", 0, role, f"m-{role}", b"{}", 0.01)  # pyright: ignore[reportArgumentType]
    return start, CallEnd(b"{}", origin, 0.1, 1, 1, cost, f"m-{role}")  # pyright: ignore[reportArgumentType]


async def test_what_the_cache_answered_counts_as_if_it_had_been_paid_for(make_run: Make):
    """Two calls of four were paid: the other two would have cost as much."""
    calls = [call(i, "provider" if i < 2 else "cache", 0.25 if i < 2 else 0.0) for i in range(4)]
    calls.append(call(0, "provider", 0.5, "judge"))
    run = await make_run([result(i) for i in range(4)], ONE, calls=calls)
    cost = trial_cost(run, {0: 4})
    assert cost.calls == 1.25
    assert cost.usd == pytest.approx((4 * 0.25 + 0.5) / 4)


async def test_of_what_the_cache_alone_answered_or_without_a_price_no_cost_is_known(make_run: Make):
    """The calls are counted all the same; with no trial that asked, nothing was asked."""
    run = await make_run([result(0)], ONE, calls=[call(0, "cache", 0.0)])
    assert trial_cost(run, {0: 1}) == TrialCost(1.0, None)
    unpriced = await make_run([result(0)], ONE, calls=[call(0, "provider", None)])
    assert trial_cost(unpriced, {0: 1}) == TrialCost(1.0, None)
    assert trial_cost(unpriced, {0: 0}) == TrialCost(0.0, None)


async def test_what_was_asked_before_the_first_trial_is_no_part_of_one(make_run: Make):
    """It is asked once, however many trials there are."""
    calls = [call(0, "provider", 9.0, "setup"), call(0, "provider", 0.5)]
    run = await make_run([result(0)], ONE, calls=calls)
    assert trial_cost(run, {0: 1}) == TrialCost(1.0, 0.5)


async def test_each_eval_has_trials_of_its_own(make_run: Make):
    """One asks a judge for each of its trials, the other nothing: neither takes the mean of both."""
    two = (Variant(0, "", "", eval="names"), Variant(1, "", "", eval="guest"))
    trials = [result(i, variant=i % 2, case=f"c{i // 2}") for i in range(4)]
    calls = [call(i, "provider", 0.5, "judge") for i in (1, 3)]
    run = await make_run(trials, two, calls=calls)
    assert trial_cost(run, {0: 2}) == TrialCost(0.0, 0.0)
    assert trial_cost(run, {1: 2}) == TrialCost(1.0, 0.5)
    assert trial_cost(run, {0: 2, 1: 2}) == TrialCost(0.5, 0.25)


def test_a_part_of_a_call_is_a_call():
    """Of so many trials: the calls are rounded up, and not by what arithmetic leaves."""
    assert TrialCost(1.1, 0.5).of(3) == (4, 1.5)
    assert TrialCost(0.1, None).of(30) == (3, None)
    assert cost_words(1, 0.0) == "about 1 call, $0"
    assert (cost_words(2, None), cost_words(0, 0.5)) == ("about 2 calls", "")
