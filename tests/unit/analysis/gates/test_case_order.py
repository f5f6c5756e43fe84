"""An order of cases that is drawn before anything is known of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evenhand.analysis.gates.case_order import CaseOrder
from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.plan import PlannedTrial
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.testing import example
from evenhand.testing.plan import example_of

VARIANTS = (Variant(0, "a", "m"), Variant(1, "b", "m"))


async def body(trial: Trial) -> object:
    """Nothing is asked."""
    return trial.case.id


def results(plan: Any) -> list[TrialResult]:
    """All of them pass."""
    return [
        TrialResult(
            index=planned.index,
            case=planned.case.id,
            variant=planned.variant.index,
            repeat=planned.repeat,
            outcome="pass",
            score=1.0,
        )
        for planned in plan.trials()
    ]


def test_the_order_depends_on_the_seed_and_the_cases_only():
    """The same in the next session, and where other cases are added; another with another seed."""
    plan = example(20, body)
    order = CaseOrder(plan, 1).cases
    assert order == CaseOrder(example(20, body), 1).cases
    assert order != CaseOrder(plan, 2).cases
    assert order != tuple(dict.fromkeys(planned.case.id for planned in plan.trials()))
    longer = CaseOrder(example(30, body), 1).cases
    assert [case for case in longer if case in order] == list(order)


def test_trials_of_a_case_are_together_and_in_the_plans_order():
    """All of its variants and repeats."""
    plan = example(6, body, variants=VARIANTS, repeats=3)
    order = CaseOrder(plan, 5)
    planned_trials = list(order.arranged(plan.trials()))
    assert sorted(planned.index for planned in planned_trials) == list(range(36))
    cases = [planned.case.id for planned in planned_trials]
    assert tuple(dict.fromkeys(cases)) == order.cases
    for case in order.cases:
        mine = [planned.index for planned in planned_trials if planned.case.id == case]
        assert mine == sorted(mine)
        assert cases.count(case) == len(mine) == 6


def test_cases_are_handed_on_whole_and_in_order_whatever_finishes_first():
    """Trials come in any order; the seed is 3."""
    plan = example(12, body, variants=VARIANTS, repeats=2)
    order = CaseOrder(plan, 0)
    mixed = results(plan)
    random.Random(3).shuffle(mixed)
    handed: list[str] = []
    for result in mixed:
        for trials in order.add(result):
            assert len(trials) == 4
            assert {trial.case for trial in trials} == {trials[0].case}
            handed.append(trials[0].case)
        assert order.taken_in == len(handed)
    assert tuple(handed) == order.cases


def test_a_case_that_is_slow_holds_back_those_after_it():
    """What finishes fast must not count more."""
    plan = example(5, body)
    order = CaseOrder(plan, 0)
    by_case = {result.case: result for result in results(plan)}
    for case in order.cases[1:]:
        assert list(order.add(by_case[case])) == []
    assert len(list(order.add(by_case[order.cases[0]]))) == 5


def test_cases_that_go_on_where_others_ended_have_no_other_order():
    """And the message names one."""
    plan = example(3, body)
    first, second, third = plan.trials()
    chained = walked([first, second, replace(third, after=(0, 1))])
    with pytest.raises(UsageError, match="goes on where another one ended"):
        CaseOrder(chained, 0)


def walked(planned_trials: Sequence[PlannedTrial]) -> Any:
    """A plan of these trials."""

    class Walked:
        def trials(self) -> Iterator[PlannedTrial]:
            return iter(planned_trials)

    return Walked()


def test_cases_of_two_sets_that_share_ids_belong_to_what_either_says():
    """The first set knows no clusters; the second says which document each case is of."""
    cases = [Case(f"c{i}", input=f"q{i}", metadata={"document": i // 5}) for i in range(20)]
    variants = (Variant(0, "a", "m"), Variant(1, "b", "m", cluster="document"))
    plan = example_of(body, cases, variants=variants)
    order = CaseOrder(plan, 0, together=True)
    assert sorted(map(len, order.units)) == [5, 5, 5, 5]
    assert {case: order.unit_of(case) for case in ("c0", "c4")} == dict.fromkeys(
        ("c0", "c4"), order.unit_of("c0")
    )


@pytest.mark.thorough
def test_strata_are_drawn_in_proportion_and_every_case_about_as_often():
    """Of 30 and 90 cases the first 40 are 10 and 30; over 400 seeds each case comes in about a third of them."""
    cases = [Case(f"c{i:03}", input=f"q{i}") for i in range(120)]
    plan = example_of(body, cases, variants=VARIANTS[:1])
    strata = {case.id: place < 30 for place, case in enumerate(cases)}
    counts: Counter[str] = Counter()
    for seed in range(400):
        order = CaseOrder(plan, seed, together=True, strata=strata)
        part = order.cases[:40]
        assert sum(strata[case] for case in part) in (9, 10, 11)
        counts.update(part)
    assert all(0.22 < counts[case.id] / 400 < 0.45 for case in cases)


def test_sizes_make_cases_as_much_likelier_as_their_chances_say():
    """Twenty cases of double size among sixty, 24 drawn: over 600 seeds, as often as `chances` says."""
    cases = [Case(f"c{i:03}", input=f"q{i}") for i in range(60)]
    plan = example_of(body, cases, variants=VARIANTS[:1])
    sizes = {case.id: 2.0 for case in cases[:20]}
    counts: Counter[str] = Counter()
    promised: Counter[str] = Counter()
    for seed in range(600):
        order = CaseOrder(plan, seed, together=True, sizes=sizes)
        for case, chance in zip(order.cases, order.chances(24), strict=False):
            counts[case] += 1
            promised[case] = chance
    large = sum(counts[case.id] for case in cases[:20]) / 20 / 600
    small = sum(counts[case.id] for case in cases[20:]) / 40 / 600
    assert large == pytest.approx(promised["c000"], abs=0.02)
    assert small == pytest.approx(promised["c059"], abs=0.02)
    assert promised["c000"] == pytest.approx(2 * promised["c059"])
