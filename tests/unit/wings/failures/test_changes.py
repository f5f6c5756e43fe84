"""Kinds of failure from run to run: what is said of them, paired by case and corrected for their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tests.unit.conftest import Make, result
from tests.unit.wings.failures.test_counting import accepted

from evenhand.languages.documents.codebook import Codebook, Kind, NoteId
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.changes import change_lines, kind_changes
from evenhand.wings.failures.counting import count_lines, counted

SEED = 20_261_129


async def coded(
    make_run: Make, *runs: Mapping[str, Sequence[int]], cases: int = 60
) -> tuple[list[RunFile], Codebook, dict[NoteId, dict[str, bool]]]:
    """Runs of the same cases, of which a judge gives some each kind."""
    book = accepted(*(Kind(name=name, rule="r") for name in runs[0]))
    files: list[RunFile] = []
    codes: dict[NoteId, dict[str, bool]] = {}
    for has in runs:
        run = await make_run([result(i, output="x") for i in range(cases)])
        files.append(run)
        for i in range(cases):
            codes[NoteId(run.meta.id, i)] = {name: i in of for name, of in has.items()}
    return files, book, codes


async def test_new_gone_growing_shrinking_and_unchanged_kinds_are_told_apart(make_run: Make):
    """What matters most comes first; the same lines end the count."""
    ten, thirty = range(10), range(30)
    before = {"a": ten, "b": thirty, "c": [], "d": ten, "e": thirty}
    after = {"a": range(1, 11), "b": ten, "c": ten, "d": thirty, "e": []}
    runs, book, codes = await coded(make_run, before, after)
    changes = kind_changes(runs, book, codes)
    assert [(one.name, one.change) for one in changes] == [
        ("c", "new"), ("d", "growing"), ("e", "gone"), ("b", "shrinking"),
        ("a", "no detectable change"),
    ]  # fmt: skip
    assert (changes[1].before, changes[1].after, changes[1].cases) == (10 / 60, 0.5, 60)
    lines = list(change_lines([run.meta.id for run in runs], changes))
    assert "corrected for 5 kinds" in lines[0]
    assert lines[1].startswith("  new: c, 0 % → 17 % of 60 cases, p = 0.0")
    # Whatever the order in which runs are named, time decides.
    assert [*count_lines(counted(runs[::-1], book, codes))][-6:] == lines


async def test_a_kind_that_comes_back_is_said_first(make_run: Make):
    """It was in an earlier run, and in no case of the run before."""
    ten = range(10)
    runs, book, codes = await coded(
        make_run, {"a": ten, "b": []}, {"a": [], "b": []}, {"a": ten, "b": ten}
    )
    assert [(one.name, one.change) for one in kind_changes(runs, book, codes)] == [
        ("a", "returned"), ("b", "new"),
    ]  # fmt: skip


async def test_one_run_has_no_changes_and_other_cases_none_that_could_be_paired(make_run: Make):
    """An output without a verdict is of neither run."""
    runs, book, codes = await coded(make_run, {"a": range(5)}, {"a": range(20)})
    assert kind_changes(runs[:1], book, codes) == []
    for i in range(20):
        codes[NoteId(runs[1].meta.id, i)] = {}
    (one,) = kind_changes(runs, book, codes)
    assert (one.cases, one.change) == (40, "no detectable change")
    assert kind_changes(runs, book, {}) == []


async def test_equal_runs_rarely_change_whatever_the_number_of_kinds(make_run: Make):
    """In at most 5 of 60 pairs of runs any of ten kinds is said to change; the seed is 20261129."""
    rng, alarms = Random(SEED), 0
    names = [f"k{n}" for n in range(10)]
    shares = {name: rng.uniform(0.02, 0.4) for name in names}
    runs, book, _ = await coded(
        make_run, {name: [] for name in names}, {name: [] for name in names}
    )
    for _ in range(60):
        codes = {
            NoteId(run.meta.id, i): {name: rng.random() < shares[name] for name in names}
            for run in runs
            for i in range(60)
        }
        alarms += any(one.p <= 0.05 for one in kind_changes(runs, book, codes))
    assert alarms <= 5
