"""What scorers say of the ends of their scales is kept with the run."""

from __future__ import annotations

from dataclasses import replace

from tests.runs import Make, result
from tests.unit.store.earlier_files import make_earlier

from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.store.runfile import RunFile


def rated(index: int, low: float, high: float) -> TrialResult:
    """A trial whose judge says its scale."""
    outcome = Outcome("rating", "pass", high, metric="rating:café", scale=(low, high))
    return replace(result(index), outcomes=(outcome,), scale=(low, high))


async def test_scales_are_kept_by_column_and_metric_as_wide_as_they_were(make_run: Make) -> None:
    """The trials' own under an empty name; a metric that is rated on two scales has both within its own."""
    run = await make_run([rated(0, 1, 5), rated(1, 0, 3)])
    variant = result(0).variant
    with RunFile.open(run.path) as read:
        assert read.scales() == {(variant, ""): (0, 5), (variant, "rating:café"): (0, 5)}


async def test_a_run_of_an_earlier_version_knows_no_scales(make_run: Make) -> None:
    """It is read as it is."""
    run = await make_run([rated(0, 1, 5)])
    make_earlier(run.path, 2)
    with RunFile.open(run.path) as read:
        assert read.scales() == {}
