"""Bounds are held against corrected numbers, in the variants and of the trials that they are about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.runs import Make
from tests.unit.render.test_judge_trust import a_run, label

from evenhand.analysis.trust.corrected_bounds import corrected_misses
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant

TWO = (Variant(0, "p", "m"), Variant(1, "p", "n"))


async def misses(
    make: Make,
    metric: str,
    variants: tuple[int, ...],
    change: Callable[[TrialResult], TrialResult] = lambda trial: trial,
) -> list[int]:
    """The variants that miss a bound of 60 %: the judge passes all, and people nine and three of ten outputs."""

    def in_two(trial: TrialResult) -> TrialResult:
        return change(replace(trial, variant=trial.index % 2, case=f"case {trial.index // 2}"))

    def people(index: int) -> bool:
        return index // 2 % 10 < (9, 3)[index % 2]

    def said(index: int) -> bool:
        return people(index) or index // 2 % 10 == 9 or index % 10 == 1

    required = Requirement(metric, Bound(at_least=0.6), variants)
    run = await a_run(make, 400, said, in_two, variants=TWO, requirements=(required,))
    found = corrected_misses(label(run, people, size=200))
    return [miss.rate.variant for miss in found]


async def test_a_bound_is_about_the_variants_that_it_names(make_run: Make):
    """The second one misses it, where it is asked to keep it."""
    assert await misses(make_run, "prose", (0, 1)) == [1]
    assert await misses(make_run, "prose", (0,)) == []


async def test_the_share_that_passes_is_bounded_only_where_each_trial_that_passes_is_judged_so(
    make_run: Make,
):
    """People may pass a trial that the judge failed, if it passes all the same."""

    def passes(trial: TrialResult) -> TrialResult:
        return replace(trial, outcome="pass") if trial.index == 7 else trial

    assert await misses(make_run, PASSED, (0, 1)) == [1]
    assert await misses(make_run, PASSED, (0, 1), passes) == []
