"""Kinds of failure from run to run: what is said of them, paired by case and corrected for their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest
from tests.runs import Make, result
from tests.unit.wings.failures.test_counting import accepted

from evenhand.analysis.reviews.drawing import draw_outputs
from evenhand.analysis.reviews.reviewed import keep_review
from evenhand.languages.documents.failures_yml import Codebook, Kind, NoteId
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.changes import (
    Codes,
    KindChange,
    change_lines,
    kind_changes,
    kind_moves,
)
from evenhand.wings.failures.counting import count_lines, counted
from evenhand.wings.failures.shares import outputs_of

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


def changes_of(runs: Sequence[RunFile], book: Codebook, codes: Codes) -> list[KindChange]:
    """What changed between the runs."""
    return kind_changes([outputs_of(run) for run in runs], book, codes)


async def test_new_gone_growing_shrinking_and_unchanged_kinds_are_told_apart(make_run: Make):
    """What matters most comes first; the same lines end the count."""
    ten, thirty = range(10), range(30)
    before = {"a": ten, "b": thirty, "c": [], "d": ten, "e": thirty}
    after = {"a": range(1, 11), "b": ten, "c": ten, "d": thirty, "e": []}
    runs, book, codes = await coded(make_run, before, after)
    changes = changes_of(runs, book, codes)
    assert [(one.name, one.change) for one in changes] == [
        ("c", "new"), ("d", "growing"), ("e", "gone"), ("b", "shrinking"),
        ("a", "no detectable change"),
    ]  # fmt: skip
    assert (changes[1].before, changes[1].after, changes[1].cases) == (10 / 60, 0.5, 60)
    lines = list(change_lines([run.meta.id for run in runs], changes))
    assert "corrected for 5 kinds" in lines[0]
    assert lines[1].startswith("  new: c, 0 % → 17 % of 60 cases, p = 0.0")
    # Whatever the order in which runs are named, time decides.
    printed = [*count_lines(counted(runs[::-1], book, codes))]
    assert printed[printed.index(lines[0]) :][:6] == lines


async def test_a_kind_that_comes_back_is_said_first(make_run: Make):
    """It was in an earlier run, and in no case of the run before."""
    ten = range(10)
    runs, book, codes = await coded(
        make_run, {"a": ten, "b": []}, {"a": [], "b": []}, {"a": ten, "b": ten}
    )
    assert [(one.name, one.change) for one in changes_of(runs, book, codes)] == [
        ("a", "returned"), ("b", "new"),
    ]  # fmt: skip


async def test_one_run_has_no_changes_and_other_cases_none_that_could_be_paired(make_run: Make):
    """An output without a verdict is of neither run."""
    runs, book, codes = await coded(make_run, {"a": range(5)}, {"a": range(20)})
    assert changes_of(runs[:1], book, codes) == []
    for i in range(20):
        codes[NoteId(runs[1].meta.id, i)] = {}
    (one,) = changes_of(runs, book, codes)
    assert (one.cases, one.change) == (40, "no detectable change")
    assert changes_of(runs, book, {}) == []


@pytest.mark.thorough
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
        alarms += any(one.p <= 0.05 for one in changes_of(runs, book, codes))
    assert alarms <= 5


async def test_a_kind_that_turns_into_another_is_said_with_its_cases(make_run: Make):
    """Of ten cases that lost one kind, eight have another one now; what changes by itself is no move."""
    before = {"a": range(10), "b": [], "c": range(50, 55)}
    after = {"a": [], "b": [*range(8), 20], "c": range(30, 35)}
    runs, book, codes = await coded(make_run, before, after)
    outputs = [outputs_of(run) for run in runs]
    (move,) = kind_moves(outputs, book, codes)
    assert (move.source, move.target, move.cases, move.out_of) == ("a", "b", 8, 10)
    assert (
        "  moved: 8 of 10 cases that lost a now have b, p < 0.001 corrected for all pairs of kinds"
        in list(count_lines(counted(runs, book, codes)))
    )
    assert kind_moves(outputs[:1], book, codes) == []


async def test_codes_of_both_runs_correct_a_judge_that_errs_in_one_of_them(make_run: Make):
    """The judge sees a kind in twenty outputs of the last run that don't have it; without people, it grows."""
    runs, book, codes = await coded(
        make_run, {"late": range(8)}, {"late": [*range(8), *range(40, 60)]}
    )
    assert changes_of(runs, book, codes)[0].change == "growing"
    notes: list[NoteId] = []
    for run in runs:
        draw_outputs([run], 50, seed=1)
        for place in RunFile.open(run.path).draws()[-1].places:
            keep_review(run.path, place, "ann", "fail" if place < 8 else "pass")
            notes += [NoteId(run.meta.id, place)] if place < 8 else []
    book = accepted(Kind(name="late", rule="r", notes=tuple(notes)))
    runs = [RunFile.open(run.path) for run in runs]
    (one,) = changes_of(runs, book, codes)
    assert (one.corrected, one.change) == (True, "no detectable change")


async def test_a_corrected_kind_that_was_in_any_earlier_run_comes_back(make_run: Make):
    """People reviewed all runs: it was in the second of four, and in no case of the third."""
    ten = range(10)
    runs, book, codes = await coded(
        make_run, {"late": []}, {"late": ten}, {"late": []}, {"late": ten}, cases=40
    )
    notes: list[NoteId] = []
    for run, has in zip(runs, ([], ten, [], ten), strict=True):
        draw_outputs([run], 40, seed=1)
        for place in range(40):
            keep_review(run.path, place, "ann", "fail" if place in has else "pass")
            notes += [NoteId(run.meta.id, place)] if place in has else []
    book = accepted(Kind(name="late", rule="r", notes=tuple(notes)))
    runs = [RunFile.open(run.path) for run in runs]
    (one,) = changes_of(runs, book, codes)
    assert (one.corrected, one.change) == (True, "returned")
    (one,) = changes_of([runs[0], *runs[2:]], book, codes)
    assert (one.corrected, one.change) == (True, "new")


async def test_too_few_reviews_for_a_correction_leave_the_judges_shares_as_they_are(make_run: Make):
    """What three people's reviews say of a few outputs isn't mixed with what the judge says of the others."""
    runs, book, codes = await coded(make_run, {"late": range(10)}, {"late": range(30)})
    for run in runs:
        draw_outputs([run], 60, seed=1)
        for place in range(3):
            keep_review(run.path, place, "ann", "pass")
    runs = [RunFile.open(run.path) for run in runs]
    (one,) = changes_of(runs, book, codes)
    assert (one.corrected, one.before, one.after) == (False, 10 / 60, 0.5)


@pytest.mark.parametrize(("reviews", "corrected"), [(29, False), (30, True)])
async def test_people_s_codes_count_from_thirty_reviews_of_each_run(
    make_run: Make, reviews: int, corrected: bool
):
    """With fewer of either run, the judge's are compared."""
    runs, book, codes = await coded(make_run, {"late": range(10)}, {"late": range(30)})
    notes: list[NoteId] = []
    for run, count in zip(runs, (reviews, 40), strict=True):
        draw_outputs([run], 60, seed=1)
        for place in range(count):
            keep_review(run.path, place, "ann", "fail" if place < 10 else "pass")
        notes += [NoteId(run.meta.id, place) for place in range(10)]
    book = accepted(Kind(name="late", rule="r", notes=tuple(notes)))
    (one,) = changes_of([RunFile.open(run.path) for run in runs], book, codes)
    assert one.corrected is corrected
