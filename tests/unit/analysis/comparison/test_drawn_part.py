"""Differences over a whole suite of which a part was drawn and run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.runs import Make, result

from evenhand.analysis.comparison.compared_runs import compared_runs
from evenhand.analysis.comparison.comparison_results import Compared
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.store.runfile import RunFile

CASES, DRAWN = 40, 20


def trials(passes: Sequence[bool | None], cases: Sequence[int]) -> list[TrialResult]:
    """Trials of these cases; None where no expectation applied."""
    rows: list[TrialResult] = []
    for index, case in enumerate(cases):
        ok = passes[case]
        one = result(index, ok=bool(ok), case=f"c{case:02}")
        rows.append(
            one
            if ok is not None
            else replace(one, outcome="not_applicable", score=None, outcomes=())
        )
    return rows


async def passed(make: Make, now: Sequence[bool | None]) -> Compared:
    """What a run of the first half came to, beside a whole one that another system ran before."""
    model, other = Variant(0, "p", "m"), Variant(0, "p", "other")
    hard = [case % 4 > 0 for case in range(CASES)]
    earlier: list[RunFile] = [
        await make(trials(hard, range(CASES)), (other,), settings={"n": 0}),
        await make(trials(hard, range(CASES)), (model,), settings={"n": 1}),
    ]
    sample = await make(
        trials(now, range(DRAWN)),
        (model,),
        status="decided",
        decided={"of": CASES},
        settings={"gate": {"sample": DRAWN}},
    )
    compared, _ = compared_runs(
        earlier[1], sample, metrics=(), margin=None, cluster="", lower=(), earlier=earlier[:1]
    )
    return next(one for one in compared.results if one.metric == "passed")


async def test_cases_that_were_not_drawn_are_predicted(make_run: Make):
    """From what they were before."""
    one = await passed(make_run, [case % 4 > 1 for case in range(CASES)])
    assert one.predicted == CASES - DRAWN


async def test_nothing_is_predicted_where_a_drawn_case_has_no_value(make_run: Make):
    """Such cases may be among the others, too: which, nobody knows."""
    now: list[bool | None] = [case % 4 > 1 for case in range(CASES)]
    now[3] = None
    one = await passed(make_run, now)
    assert one.predicted == 0
