"""What may be spent, and when a call is tried again."""

from __future__ import annotations

import asyncio
import random

import pytest

from evenhand.core.errors import BadRequest, BudgetStop, Overloaded, RateLimited
from evenhand.engine.budget import Budget
from evenhand.engine.retry_pauses import RetryPolicy

DRAW = random.Random(7)


def test_without_a_limit_everything_is_allowed_and_booked():
    """A price that nobody knows is no obstacle where there is no limit."""
    budget = Budget()
    budget.settle(budget.reserve(None, "m"), 0.5)
    assert budget.spent_usd == 0.5


def test_the_worst_price_is_set_aside_and_the_real_one_booked():
    """What was set aside and not spent can be spent by others."""
    budget = Budget(1.0)
    first = budget.reserve(0.6, "m")
    with pytest.raises(BudgetStop, match=r"\$1 is used up"):
        budget.reserve(0.6, "m")
    budget.settle(first, 0.1)
    assert (budget.spent_usd, budget.reserved_usd) == (0.1, 0.0)
    budget.reserve(0.6, "m")


def test_a_small_budget_is_written_out_and_says_what_makes_calls_cheaper():
    """`$1e-05` and `$0.0000` say nothing to most people."""
    with pytest.raises(
        BudgetStop, match=r"budget of \$0\.00001 is used up.*may cost \$0\.2560"
    ) as caught:
        Budget(0.00001).reserve(0.256, "m")
    assert "max_tokens" in caught.value.hint


async def test_a_call_waits_for_what_those_under_way_leave_over():
    """Worst prices are far from real ones: a run that stopped at them would stop with its money unspent."""
    budget = Budget(1.0)
    first, second = await budget.when_free(0.6, "m"), await budget.when_free(0.4, "m")
    third = asyncio.create_task(budget.when_free(0.5, "m"))
    gone = asyncio.create_task(budget.when_free(0.5, "m"))
    await asyncio.sleep(0)
    assert not third.done()
    gone.cancel()
    budget.settle(second, 0.1)
    await asyncio.sleep(0)
    assert not third.done()
    budget.settle(first, 0.2)
    assert (await third).bound_usd == 0.5
    with pytest.raises(BudgetStop):  # however little the third may cost
        await budget.when_free(0.8, "m")
    with pytest.raises(BudgetStop, match="not known"):
        await budget.when_free(None, "strange")


async def test_a_call_waits_for_what_calls_of_other_models_leave_over():
    """The budget is one for all of them: what two others may cost is too much together."""
    budget = Budget(1.0)
    first, second = await budget.when_free(0.4, "a"), await budget.when_free(0.4, "b")
    third = asyncio.create_task(budget.when_free(0.5, "c"))
    await asyncio.sleep(0)
    assert not third.done()
    budget.settle(first, 0.1)
    await asyncio.sleep(0)
    assert third.done()
    assert (await third).provider == "c"
    budget.settle(second, 0.1)


async def test_nobody_waits_for_money_when_no_call_is_under_way():
    """Whatever ten times a tenth comes to."""
    budget = Budget(1.0)
    for reservation in [budget.reserve(0.1, "m") for _ in range(9)]:
        budget.settle(reservation, 0.0)
    assert budget.reserved_usd == 0.0
    assert (await budget.when_free(1.0, "m")).bound_usd == 1.0


def test_a_cost_that_is_not_known_counts_as_the_worst():
    """The budget never takes less than what could have been charged."""
    budget = Budget(1.0)
    budget.settle(budget.reserve(0.6, "m"), None)
    assert budget.spent_usd == 0.6


def test_a_call_without_a_known_price_is_not_sent_under_a_budget():
    """Nobody could say whether it fits."""
    with pytest.raises(BudgetStop, match="price of strange is not known"):
        Budget(1.0).reserve(None, "strange")


def test_earlier_sessions_count():
    """A resumed run does not begin at nothing."""
    with pytest.raises(BudgetStop):
        Budget(1.0, spent_usd=0.9).reserve(0.2, "m")


def test_what_the_vendor_will_not_take_is_not_repeated():
    """A 400 stays a 400."""
    assert RetryPolicy().pause(BadRequest("no"), 1, 0, DRAW) is None


def test_faults_are_repeated_a_few_times_after_growing_pauses():
    """Each pause is drawn below a bound that doubles."""
    policy = RetryPolicy(attempts=4, base_s=1)
    pauses = [policy.pause(Overloaded("500"), n, 0, DRAW) for n in (1, 2, 3)]
    assert all(
        pause is not None and 0 <= pause <= bound
        for pause, bound in zip(pauses, (1, 2, 4), strict=True)
    )
    assert policy.pause(Overloaded("500"), 4, 0, DRAW) is None


def test_a_call_waits_as_long_as_the_vendor_says():
    """Whatever it was refused for, and however often; without a word from the vendor the pause is drawn."""
    policy = RetryPolicy()
    assert policy.pause(RateLimited("429", retry_after_s=5), 50, 0, DRAW) == 5
    assert policy.pause(Overloaded("503", retry_after_s=5), 1, 0, DRAW) == 5
    short = policy.pause(RateLimited("429", retry_after_s=0.4), 1, 0, DRAW)
    assert short is not None
    assert short >= 0.4
    pause = policy.pause(RateLimited("429"), 3, 0, DRAW)
    assert pause is not None
    assert 0 <= pause <= 2


@pytest.mark.parametrize("asked", [0, 0.001])
def test_a_vendor_that_says_at_once_is_not_asked_without_a_pause(asked: float):
    """Nor does the pause grow past what numbers hold, however often it was tried."""
    policy, error = RetryPolicy(), RateLimited("429", retry_after_s=asked)
    pauses = [policy.pause(error, 5000, 0, DRAW) for _ in range(9)]
    assert all(pause is not None and 0 <= pause <= 30 for pause in pauses)
    assert max(pause or 0 for pause in pauses) > 1


def test_patience_ends():
    """A vendor that asks for an hour is not waited for, nor is a call that has been tried for a quarter of one."""
    policy = RetryPolicy()
    assert policy.pause(RateLimited("429", retry_after_s=3600), 1, 0, DRAW) is None
    assert policy.pause(Overloaded("500"), 1, 901, DRAW) is None
