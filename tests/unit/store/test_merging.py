"""Runs that are merged have to be of one plan, with one bound, and at rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.conftest import Make, make_run, result

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.store.journal import Journal
from evenhand.store.merging import merge
from evenhand.store.runfile import RunFile

__all__ = ["make_run"]


async def two(make: Make, **more: Any) -> list[Path]:
    """Two runs of a plan of four trials, each with half of them; the second one has more to say."""
    first = await make([result(0), result(1)], planned=4, status="interrupted")
    second = await make([result(2), result(3)], planned=4, status="interrupted", **more)
    return [first.path, second.path]


async def test_halves_of_a_plan_are_merged(make_run: Make, tmp_path: Path):
    """Nothing is lost, nothing is there twice, and the run is finished."""
    merged = merge(await two(make_run), tmp_path / "all.db")
    assert merged.missing == ()
    with RunFile.open(merged.path) as run:
        assert [trial.index for trial in run.trials()] == [0, 1, 2, 3]
        assert run.meta.status == "finished"


@pytest.mark.parametrize(
    "other",
    [
        {"pass_rate": 0.5},
        {"requirements": (Requirement(PASSED, Bound(at_least=0.5), (0,)),)},
    ],
)
async def test_runs_that_have_to_reach_something_else_are_not_merged(
    make_run: Make, tmp_path: Path, other: dict[str, Any]
):
    """The merged run would have one of the two bounds."""
    files = await two(make_run, **other)
    with pytest.raises(UsageError, match="has to reach something else"):
        merge(files, tmp_path / "all.db")
    assert not (tmp_path / "all.db").exists()


async def test_a_run_that_is_being_written_is_not_merged(make_run: Make, tmp_path: Path):
    """What it has not written yet would be missing."""
    files = await two(make_run)
    journal = Journal.reopen(files[1])
    try:
        with pytest.raises(StoreError, match="is being written"):
            merge(files, tmp_path / "all.db")
    finally:
        journal.close()
