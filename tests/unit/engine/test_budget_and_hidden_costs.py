"""Bills above what a request allows: learned from, told, and kept small while nobody can know."""

from __future__ import annotations

import asyncio
import random

import pytest

from evenhand.core.errors import BudgetStop
from evenhand.engine.budget import MARGIN, Budget
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted, example


class Bills(Scripted):
    """A model whose bills are drawn."""

    def __init__(self, draw, **more):
        super().__init__(cost_usd=0.0, **more)
        self.draw = draw
        self.billed = []

    async def send(self, request, host):
        answer = await super().send(request, host)
        self.cost_usd = self.draw()
        self.billed.append(self.cost_usd)
        return answer


def asking(*models):
    """A body that asks each of these once, one after the other."""

    async def body(trial):
        texts = [
            (await trial.model(model, "subject").generate(f"{trial.case.id} {i}")).text
            for i, model in enumerate(models)
        ]
        return " ".join(texts)

    return body


def test_a_bill_above_its_bound_makes_later_bounds_larger():
    """By the largest excess seen, and half as much again."""
    said = []
    budget = Budget(10.0, note=said.append)
    budget.settle(budget.reserve(0.1, "m"), 0.5)
    budget.settle(budget.reserve(0.1, "m"), 0.3)
    budget.reserve(0.1, "m")
    assert budget.reserved_usd == pytest.approx(0.1 + MARGIN * 0.4)
    budget.reserve(0.1, "other")
    assert budget.reserved_usd == pytest.approx(0.2 + MARGIN * 0.4)
    (note,) = said
    assert note.startswith(
        "m charged $0.5000 for a call that its request bounds at $0.1000: it bills more than the "
        "limit on its reply allows"
    )


def test_what_is_under_way_is_set_aside_by_what_its_neighbours_cost():
    """A bill that comes in says something of those that are still out."""
    budget = Budget(2.0)
    first, _ = budget.reserve(0.1, "m"), budget.reserve(0.1, "m")
    budget.settle(first, 0.5)
    assert budget.reserved_usd == pytest.approx(0.1 + MARGIN * 0.4)
    with pytest.raises(BudgetStop, match=r"\$0.5000 spent, \$0.7000 reserved .* may cost \$0.9"):
        budget.reserve(0.3, "m")


def test_an_honest_bill_is_no_excess_however_it_is_rounded():
    """A tenth of a cent in the last digit is nobody's hidden reasoning."""
    said = []
    budget = Budget(10.0, note=said.append)
    for _ in range(3):
        budget.settle(budget.reserve(0.1 + 0.2, "m"), 0.30000000000000010)
    assert said == []
    assert budget.reserve(0.1, "m")
    assert budget.reserved_usd == 0.1


async def test_without_a_bill_calls_go_out_one_by_one_where_money_is_tight():
    """With each bill that is as it should be, more of them go out side by side."""
    budget = Budget(1.0)
    first = await budget.when_free(0.1, "m", 2.0)
    second = asyncio.create_task(budget.when_free(0.1, "m", 2.0))
    other = asyncio.create_task(budget.when_free(0.1, "other", 2.0))
    await asyncio.sleep(0)
    assert not second.done()
    assert other.done()  # nothing of it is under way
    budget.settle(first, 0.001)
    assert (await second).bound_usd == 0.1
    for _ in range(5):
        budget.settle(budget.reserve(0.0, "m"), 1e-9)
    third = asyncio.create_task(budget.when_free(0.1, "m", 2.0))
    await asyncio.sleep(0)
    assert third.done()


async def test_what_a_call_might_have_hidden_is_free_again_once_it_is_booked():
    """Another one that is under way hides nothing."""
    budget = Budget(1.0)
    hiding, _ = budget.reserve(0.0, "m", 4.0), budget.reserve(0.0, "m")
    third = asyncio.create_task(budget.when_free(0.0, "m", 0.5))
    await asyncio.sleep(0)
    assert not third.done()
    budget.settle(hiding, None)
    await asyncio.sleep(0)
    assert third.done()


async def test_where_money_is_plenty_nobody_waits_for_a_bill():
    """A budget that can bear a multiple of what they can cost slows nothing down."""
    budget = Budget(10.0)
    waiting = [asyncio.create_task(budget.when_free(0.01, "m", 0.9)) for _ in range(10)]
    await asyncio.sleep(0)
    assert all(task.done() for task in waiting)


@pytest.mark.parametrize("hidden", [1, 5, 20, 100])
def test_hidden_reasoning_on_every_call_passes_the_budget_by_no_more_than_its_first_bill(
    hidden, runs
):
    """However many are asked at once: nobody can know before that one, and everybody after it."""
    model = Bills(lambda: 0.01 * hidden, bound_usd=0.01, hidden_usd=1.0, latency_s=0.001)
    done = runs.run(example(300, asking(model)), cache=False, max_cost_usd=1.0, concurrency=8)
    with RunFile.open(done.path) as run:
        spent = run.spend().cost_usd
    assert done.ending.status == ("finished" if 300 * hidden <= 100 else "out_of_budget")
    assert spent is not None
    assert spent <= max(1.0, 0.01 * hidden) + 1e-9


@pytest.mark.thorough
def test_overshoot_is_none_with_honest_bounds_and_small_without(runs):
    """Random worst prices, bills, budgets, models and numbers in flight; the seed is printed."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 (to run it again)
    rng = random.Random(seed)
    for number in range(12):
        limit, honest = rng.choice((0.05, 0.5, 5.0)), number % 2 == 0
        models = []
        for name in ("a", "b")[: rng.choice((1, 2))]:
            bound = rng.choice((0.001, 0.01, 0.1))
            most = bound if honest else bound * rng.choice((2, 10))

            def draw(most=most):
                return rng.uniform(0, most)

            models.append(
                Bills(draw, id=name, label=name, bound_usd=bound, hidden_usd=1.0, latency_s=0.001)
            )
        wanted = rng.choice((1, 4, 16))
        done = runs.run(
            example(60, asking(*models)), cache=False, max_cost_usd=limit, concurrency=wanted
        )
        billed = sum(sum(model.billed) for model in models)
        largest = max(max(model.billed, default=0.0) for model in models)
        assert done.ending.status in ("finished", "out_of_budget")
        # Of each model the first excess cannot be known, nor that its largest one is still to come.
        allowed = 0.0 if honest else len(models) * wanted * largest
        assert billed <= limit + allowed + 1e-9, (number, limit, honest, wanted)


def test_a_resumed_run_remembers_what_was_billed(runs):
    """What one session learned, the next one need not pay to learn again."""
    model = Bills(lambda: 0.4, bound_usd=0.1)
    plan = example(5, asking(model), providers=(model,))
    done = runs.run(plan, cache=False, max_cost_usd=0.9, concurrency=1)
    assert (done.ending.status, len(model.billed)) == ("out_of_budget", 1)
    again = runs.run(plan, resume=done.path, cache=False, max_cost_usd=0.9, concurrency=8)
    assert (again.ending.status, len(model.billed)) == ("out_of_budget", 1)
    assert "may cost $0.55" in again.ending.message
