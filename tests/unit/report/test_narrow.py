"""A run of which a filter leaves some trials: what reads it sees no others."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.unit.report.conftest import Make, result

from evenhand.core.errors import UsageError
from evenhand.report.console import show
from evenhand.report.export import FORMATS, export
from evenhand.report.grid import Grid
from evenhand.report.ink import Ink
from evenhand.report.where import cell_rows, narrow
from evenhand.store.runfile import RunFile


async def test_every_count_is_of_the_chosen_trials(summaries_run: RunFile) -> None:
    """Totals, rates, columns, trials and the run's own numbers leave the others out."""
    places = narrow(summaries_run, "status:fail  variant:basic")
    assert places == [0, 3, 6, 9, 12, 15, 18, 21]
    assert [trial.index for trial in summaries_run.trials()] == places
    assert list(summaries_run.outcomes()) == [
        row for row in summaries_run.outcomes() if row.index in places
    ]
    totals = summaries_run.totals()
    assert (totals.trials, totals.failed, totals.calls) == (8, 8, 16)
    assert [each.trials for each in summaries_run.by_variant()] == [8, 0, 0]
    assert (summaries_run.meta.planned, summaries_run.meta.case_count) == (8, 8)
    assert summaries_run.meta.title == "Science · where status:fail variant:basic"
    assert summaries_run.trial(1) is None


async def test_metrics_are_known_by_what_trials_have(make_run: Make) -> None:
    """A metric is a name that some trial has a score under, and any other is a mistake."""
    trials = [result(0, named_scores={"tone": 0.2}), result(1, named_scores={"tone": 0.9})]
    run = await make_run(trials)
    assert narrow(run, "tone<0.5") == [0]
    with pytest.raises(
        UsageError, match="there is no field or metric 'tome'\n  Did you mean 'tone'"
    ):
        narrow(await make_run(trials), "tome<0.5")


async def test_all_mistakes_are_told_at_once(summaries_run: RunFile) -> None:
    """Each with its place, in the order in which they stand."""
    with pytest.raises(UsageError) as told:
        narrow(summaries_run, "status:bad score<x")
    assert [line[:11] for line in str(told.value).splitlines()[::2]] == [
        "--where:8: ",
        "--where:18:",
    ]


async def test_a_baseline_says_what_changed(make_run: Make) -> None:
    """Trials are held against those of the same case, column and repeat in the earlier run."""
    before = await make_run([result(0, ok=True), result(1, ok=False), result(2, ok=True)])
    trials = [result(0, ok=False), result(1, ok=True), result(2, ok=None), result(3, ok=True)]
    for query, places in (
        ("changed:regressed", [0]),
        ("changed:improved", [1]),
        ("changed:undecided", [2]),
        ("changed:new", [3]),
        ("change<0", [0]),
    ):
        assert narrow(await make_run(trials), query, before) == places


async def test_cases_keep_their_numbers_and_columns_are_not_compared(
    summaries_run: RunFile,
) -> None:
    """What is listed can be asked for by the name that it had; a choice says nothing of columns."""
    narrow(summaries_run, "case:case6 score>0")
    rows = list(cell_rows(summaries_run, Grid(summaries_run), 100, Ink(False)))
    assert [row.split()[0] for row in rows] == ["18", "19", "20"]
    assert "basic · 7 bees" in rows[0]
    out = io.StringIO()
    show(summaries_run, out)
    assert "1 of" not in out.getvalue()
    assert "detectable" not in out.getvalue()
    assert "2 of 3 passed" in out.getvalue()


async def test_nothing_chosen_is_said(summaries_run: RunFile) -> None:
    """An empty choice is no mistake, and is not shown as silence."""
    assert narrow(summaries_run, "status:error") == []
    rows = cell_rows(summaries_run, Grid(summaries_run), 100, Ink(False))
    assert list(rows) == ["  no trial is chosen"]


async def test_long_lists_end_with_how_many_are_left(summaries_run: RunFile) -> None:
    """The last line says how many there are more."""
    narrow(summaries_run, "score>0")
    rows = list(cell_rows(summaries_run, Grid(summaries_run), 100, Ink(False), most=3))
    assert rows[3:] == ["  … and 21 more trials; -v prints all of them whole"]


@pytest.mark.parametrize("format_", sorted(set(FORMATS) - {"html"}))
async def test_every_export_is_of_the_chosen_trials(
    summaries_run: RunFile, tmp_path: Path, format_: str
) -> None:
    """Whatever the format, what was not chosen is not written."""
    narrow(summaries_run, "case:case6 score>0")
    target = tmp_path / "out"
    assert export(summaries_run, target, format_) == 3
    text = target.read_text("utf-8")
    assert "bees" in text
    assert "vaccines" not in text


async def test_the_file_stays_as_it_is(summaries_run: RunFile) -> None:
    """Another reader sees the whole run, and this one cannot be told from its bytes."""
    before = summaries_run.path.read_bytes()
    narrow(summaries_run, "status:fail")
    with RunFile.open(summaries_run.path) as other:
        assert other.totals().trials == 24
    assert summaries_run.path.read_bytes() == before
