"""What the trials of several columns and repeats come to."""

from __future__ import annotations

from tests.unit.report.conftest import Make, make_run, result

from evenhand.core.variant import Variant
from evenhand.stats.tallies import tally_of

__all__ = ["make_run"]

TWO = (Variant(0, "p", "m"), Variant(1, "p", "n"))


async def test_a_case_is_one_in_all_columns_together(make_run: Make):
    """Trials to which nothing applied are in no count."""
    trials = [
        result(0, case="a", variant=0, ok=True),
        result(1, case="a", variant=1, ok=False),
        result(2, case="b", variant=0, ok=None),
        result(3, case="b", variant=1, ok=True),
    ]
    run = await make_run(trials, TWO)
    assert sorted(run.over_columns()) == sorted([tally_of(1, 1, 0), tally_of(1, 0, 1)])


async def test_a_cost_that_is_not_known_of_one_trial_is_not_known_of_its_column(make_run: Make):
    """What the others cost is not the sum."""
    trials = [
        result(0, case="a", variant=0, cost_usd=0.5),
        result(1, case="a", variant=1, cost_usd=0.5),
        result(2, case="b", variant=0, cost_usd=None),
        result(3, case="b", variant=1, cost_usd=0.25),
    ]
    run = await make_run(trials, TWO)
    assert [totals.cost_usd for totals in run.by_variant()] == [None, 0.75]
    assert run.totals().cost_usd is None
