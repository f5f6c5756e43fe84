"""Runs that end as soon as it is decided whether their pass rates reach their bounds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from evenhand.analysis.gates.early_pass_rates import ShareDecider
from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, State
from evenhand.core.variant import Variant
from evenhand.testing import example

TWO = (Variant(0, "a", "m"), Variant(1, "b", "m"))


async def body(trial: Trial) -> object:
    """Nothing is asked."""
    return trial.case.id


def wanted(bound: float, *variants: int) -> Requirement:
    """A pass rate of these variants; of the first by default."""
    return Requirement(PASSED, Bound(bound), variants or (0,))


def fed(decider: ShareDecider, plan: Any, outcomes: Sequence[State], variant: int = 0) -> int:
    """Feeds the outcomes of a variant in the decider's order; how many cases it took to decide."""
    for n, planned in enumerate(decider.arranged(plan.trials()), 1):
        outcome = outcomes[n - 1] if planned.variant.index == variant else "pass"
        decider.add(
            TrialResult(
                index=planned.index,
                case=planned.case.id,
                variant=planned.variant.index,
                repeat=0,
                outcome=outcome,
                score=None,
            )
        )
        if decider.decided:
            return n
    return plan.size


def test_a_rate_far_from_its_bound_is_decided_early_either_way():
    """And the words say after how many; the seed is 4."""
    rng = random.Random(4)
    for bound, share, verdict in ((0.7, 0.95, "passed"), (0.9, 0.6, "failed")):
        plan = example(400, body)
        decider = ShareDecider(plan, [wanted(bound)], seed=1)
        outcomes: list[State] = ["pass" if rng.random() < share else "fail" for _ in range(400)]
        assert fed(decider, plan, outcomes) < 200
        record = decider.record()
        assert record["verdict"] == verdict
        assert (record["of"], record["seed"]) == (400, 1)
        assert f"stopped after {record['cases']} of 400 cases" in decider.decided


def test_it_fails_as_soon_as_one_variant_misses_and_passes_once_all_keep():
    """Two columns, of which the second fails always."""
    plan = example(100, body, variants=TWO)
    decider = ShareDecider(plan, [wanted(0.5, 0, 1)], seed=0)
    outcomes: list[State] = ["fail"] * 200
    fed(decider, plan, outcomes, variant=1)
    assert decider.record()["verdict"] == "failed"
    states = {one["variant"]: one["state"] for one in decider.record()["columns"]}
    assert states[1] == "missed"


def test_errors_decide_nothing_by_themselves():
    """They may have come to anything."""
    plan = example(100, body)
    decider = ShareDecider(plan, [wanted(0.5)], seed=0)
    assert fed(decider, plan, ["error"] * 100) == 100
    assert not decider.decided
    assert decider.record()["verdict"] is None


def test_cases_that_do_not_apply_are_neither_above_nor_below_the_bound():
    """All that apply pass: nothing is missed."""
    plan = example(100, body)
    decider = ShareDecider(plan, [wanted(0.9)], seed=0)
    outcomes: list[State] = ["not_applicable", "pass"] * 50
    fed(decider, plan, outcomes)
    assert decider.record()["verdict"] == "passed"


@pytest.mark.parametrize(
    ("expected", "bound", "verdict"),
    [(True, 0.5, None), (True, 0.0, "passed"), (False, 0.5, "passed")],
)
def test_a_variant_to_which_nothing_applies_keeps_no_bound(
    expected: bool, bound: float, verdict: str | None
):
    """Unless nothing could miss it, or nothing is expected of the variant at all."""
    plan = example(100, body, variants=TWO)
    decider = ShareDecider(plan, [wanted(bound, 0, 1)], seed=0)
    na = Outcome("recall", "not_applicable", None)
    for planned in decider.arranged(plan.trials()):
        applies = planned.variant.index == 0
        decider.add(
            TrialResult(
                index=planned.index,
                case=planned.case.id,
                variant=planned.variant.index,
                repeat=0,
                outcome="pass" if applies else "not_applicable",
                score=None,
                outcomes=(na,) if expected else (),
            )
        )
    assert decider.record()["verdict"] == verdict


@pytest.mark.parametrize(
    ("requirements", "problem"),
    [
        ([], "nothing to decide"),
        ([Requirement("accuracy", Bound(0.5), (0,))], "accuracy"),
        ([Requirement(PASSED, Bound(at_most=0.5), (0,))], "passed"),
    ],
)
def test_only_bounds_on_pass_rates_can_be_decided(
    requirements: Sequence[Requirement], problem: str
):
    """Before anything is paid for."""
    with pytest.raises(UsageError, match=problem):
        ShareDecider(example(3, body), requirements, seed=0)
