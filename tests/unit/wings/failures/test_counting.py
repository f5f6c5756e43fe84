"""Counts of kinds: people's alone, corrected ones, and what a judge is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random

import pytest
from msgspec import convert
from msgspec.structs import replace
from tests.runs import Make, result

from evenhand.analysis.reviews.drawing import draw_outputs, drawn_notes
from evenhand.analysis.reviews.reviewed import keep_review
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.languages.documents.failures_yml import Codebook, Kind, NoteId, ratify
from evenhand.scorers.avoids import question_of
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.changes import (
    KEY,
    CodingRecord,
    codes_of,
    metric_of_kind,
    ratified_kinds,
)
from evenhand.wings.failures.counting import count_lines, counted, named_variant, stray_notes
from evenhand.wings.failures.page import write_page

SEED = 20_261_129
KIND = Kind(name="late", rule="Allows a late return.", examples_for=("Any time.",))


def again(run: RunFile) -> RunFile:
    """The run as it is by now."""
    return RunFile.open(run.path)


def accepted(*kinds: Kind) -> Codebook:
    """A codebook that Ada ratified."""
    return ratify(Codebook(kinds), [], "Ada", date(2026, 11, 29))


async def reviewed(make_run: Make, has: Sequence[bool], size: int) -> tuple[RunFile, Codebook]:
    """A run of which the evals see two in five failures, reviewed by somebody who sees all, with its codebook."""
    rng = Random(SEED)
    trials = [
        result(i, ok=not (bad and rng.random() < 0.4), output=f"answer {i}")
        for i, bad in enumerate(has)
    ]
    run = await make_run(trials)
    draw_outputs([run], size, seed=1)
    run = again(run)
    notes: list[NoteId] = []
    for note in drawn_notes([run]):
        bad = has[note.index]
        keep_review(run.path, note.index, "ann", "fail" if bad else "pass", "late" if bad else "")
        notes += [note] if bad else []
    return again(run), accepted(replace(KIND, notes=tuple(notes)))


async def test_people_alone_give_a_weighted_share_and_a_judge_makes_it_narrower(make_run: Make):
    """A fifth of 300 outputs has the kind; 80 are reviewed, failures three times as likely. The seed is 20261129."""
    rng = Random(SEED)
    has = [i % 5 == 0 for i in range(300)]
    run, book = await reviewed(make_run, has, 80)
    alone = counted([run], book)
    (kind,) = alone.kinds
    assert alone.outputs == 300
    assert alone.reviewed == 80
    assert kind.judge is None
    assert kind.share is not None
    assert kind.share.low < 0.2 < kind.share.high
    assert kind.people / 80 > kind.share.value + 0.05  # the plain share of the draw is far too high
    codes = {
        NoteId(run.meta.id, i): {"late": rng.random() < (0.9 if bad else 0.04)}
        for i, bad in enumerate(has)
    }
    corrected = counted([run], book, codes).kinds[0]
    assert corrected.share is not None
    assert corrected.judged == 300
    assert corrected.share.low < 0.2 < corrected.share.high
    assert corrected.share.high - corrected.share.low < (kind.share.high - kind.share.low) * 0.9


async def test_a_run_that_nobody_reviewed_changes_no_share_of_people(make_run: Make):
    """Its outputs are neither good nor bad. With a judge's codes they count, and the failed ones still don't."""
    run, book = await reviewed(make_run, [i % 5 == 0 for i in range(120)], 60)
    other = await make_run([result(i, ok=i % 5 > 0, output=f"another {i}") for i in range(120)])
    alone, both = counted([run], book), counted([run, other], book)
    assert both.failed == alone.failed
    assert both.kinds[0].share == alone.kinds[0].share
    assert (alone.unread, both.unread) == ([], [other.meta.id])
    line = f"  without {other.meta.id[:10]}, of which nothing is reviewed; so are the shares below"
    assert line in list(count_lines(both))
    codes = {
        NoteId(one.meta.id, i): {"late": i % 5 == 0 and one is run}
        for one in (run, other)
        for i in range(120)
    }
    judged = counted([run, other], book, codes)
    assert judged.failed == alone.failed
    assert judged.kinds[0].share is not None
    assert alone.kinds[0].share is not None
    assert judged.kinds[0].share.value < alone.kinds[0].share.value * 0.7


async def test_variants_of_several_runs_are_told_apart(make_run: Make, tmp_path: Path):
    """By the run, in lines and on the page: two runs of one prompt have variants of the same name."""
    run, book = await reviewed(make_run, [i % 5 == 0 for i in range(60)], 30)
    other, others = await reviewed(make_run, [i % 4 == 0 for i in range(60)], 30)
    uncoded = "\n".join(count_lines(counted([run, other], book)))
    assert (
        "Say {{x}}: share unknown: none of its failures is coded, or nothing is reviewed" in uncoded
    )
    notes = (*book.kinds[0].notes, *others.kinds[0].notes)
    book = accepted(replace(KIND, notes=notes))
    document = counted([run, other], book)
    (kind,) = document.kinds
    names = [named_variant(one, kind.variants) for one in kind.variants]
    assert [name.split(" · ")[0] for name in names] == [run.meta.id[:10], other.meta.id[:10]]
    lines = "\n".join(count_lines(document))
    write_page(document, [run, other], book, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(f"    {name}: " in lines and name in page for name in names)


async def test_a_judge_that_is_wrong_is_corrected(make_run: Make):
    """It gives the kind to half of what doesn't have it; people's codes say otherwise."""
    has = [i % 5 == 0 for i in range(300)]
    run, book = await reviewed(make_run, has, 100)
    codes = {NoteId(run.meta.id, i): {"late": bad or i % 2 == 0} for i, bad in enumerate(has)}
    (kind,) = counted([run], book, codes).kinds
    assert kind.judge is not None
    assert kind.judge > 150
    assert kind.share is not None
    assert kind.share.low < 0.2 < kind.share.high < 0.4


async def test_a_missing_verdict_is_no_code(make_run: Make):
    """Neither of the kind, nor of its absence; nor does such an output fit no kind."""
    run, book = await reviewed(make_run, [i % 4 == 0 for i in range(40)], 20)
    codes = {NoteId(run.meta.id, i): {"late": False} if i < 30 else {} for i in range(40)}
    document = counted([run], book, codes)
    assert document.kinds[0].judged == 30
    assert all(NoteId.of(one).index < 30 for one in document.without_kind)


async def test_what_fits_no_kind_comes_first(make_run: Make):
    """People's failures, then those of the evals; the lines say so before the shares."""
    has = [i % 2 == 0 for i in range(80)]
    run, book = await reviewed(make_run, has, 20)
    (kind,) = book.kinds
    book = Codebook((replace(kind, notes=kind.notes[1:]),), kind.notes[:1])
    codes = {NoteId(run.meta.id, i): {"late": False} for i in range(80)}
    document = counted([run], book, codes)
    assert document.without_kind[0] == str(kind.notes[0])
    assert len(document.without_kind) > 1
    lines = list(count_lines(document))
    assert "too few" in lines[0]
    assert "without a kind" in lines[2]
    assert lines[3].startswith("named kinds cover an estimated ")
    assert stray_notes([run], book) == []
    stray = NoteId(run.meta.id, 999)
    of_another_run = NoteId("x", 1)
    assert stray_notes([run], Codebook((replace(kind, notes=(stray, of_another_run)),))) == [stray]


async def test_each_variant_has_its_share(make_run: Make):
    """Of a run with two."""
    trials = [
        result(i, ok=i % 2 == 0, variant=i % 2, case=f"c{i // 2}", output="x") for i in range(80)
    ]
    run = await make_run(trials, [Variant(0, "plain", "m"), Variant(1, "warm", "m")])
    draw_outputs([run], 30, seed=1)
    run = again(run)
    for note in drawn_notes([run]):
        keep_review(run.path, note.index, "ann", "fail" if note.index % 2 else "pass", "late")
    run = again(run)
    notes = tuple(note for note in drawn_notes([run]) if note.index % 2)
    (kind,) = counted([run], accepted(replace(KIND, notes=notes))).kinds
    plain, warm = (one.share for one in kind.variants)
    assert plain is not None
    assert warm is not None
    assert plain.value < 0.05
    assert warm.value > 0.95


async def test_nothing_reviewed_is_no_share_of_zero(make_run: Make):
    """It is None."""
    run = await make_run([result(i, output="x") for i in range(5)])
    document = counted([run], accepted(KIND))
    assert (document.reviewed, document.failed, document.covered) == (0, None, None)
    assert document.kinds[0].share is None
    assert "nothing has been reviewed" in "\n".join(count_lines(document))


def test_a_judge_goes_only_by_what_a_person_accepted():
    """And not by a rule that was changed since."""
    with pytest.raises(UsageError, match="no kind of failure is ratified"):
        ratified_kinds(Codebook((KIND,)))
    book = accepted(KIND)
    assert [kind.name for kind in ratified_kinds(book)] == ["late"]
    changed = Codebook((replace(book.kinds[0], rule="Says it is late."),))
    with pytest.raises(UsageError, match="'late' has changed since Ada ratified it"):
        ratified_kinds(changed)


def test_the_judge_sees_neither_verdict_nor_note():
    """Only the rule, examples, the output and what it answers."""
    question = question_of(
        replace(KIND, against=("30 days.",), notes=(NoteId("r", 1),)), "How long?"
    )
    assert "late. An output has it when: Allows a late return." in question.criteria
    assert question.context == "The output answers this:\nHow long?"
    assert [dict(one) for one in question.examples] == [
        {"output": "Any time.", "passes": False},
        {"output": "30 days.", "passes": True},
    ]


async def test_codes_come_back_from_the_run_and_the_record_from_its_settings(make_run: Make):
    """An error is no code; the run is refused where evals are expected."""
    metric = metric_of_kind("late")
    outcomes = [
        (
            Outcome("x", "fail", 0.0, metric=metric),
            Outcome("y", "error", None, metric=metric_of_kind("b")),
        ),
        (Outcome("x", "pass", 1.0, metric=metric),),
    ]
    trials = [result(i, case=f"run:{i}", outcomes=each) for i, each in enumerate(outcomes)]
    record = CodingRecord(runs=("a",), book=accepted(KIND), judge="m", folder="f")
    run = await make_run(trials, settings={KEY: record.row()})
    assert codes_of(run) == {NoteId("run", 0): {"late": True}, NoteId("run", 1): {"late": False}}
    assert convert(run.meta.settings[KEY], CodingRecord) == record
    with pytest.raises(UsageError, match="names or counts kinds of failure"):
        refuse_judge_check(run.meta)
    assert run.meta.is_judge_check


async def test_a_failure_that_nobody_has_coded_yet_may_have_any_kind(make_run: Make):
    """A second batch of notes widens intervals rather than lower shares; a kind without notes has hardly one."""
    has = [i % 5 == 0 for i in range(300)]
    run, book = await reviewed(make_run, has, 100)
    (kind,) = book.kinds
    half = Codebook((replace(kind, notes=kind.notes[::2]),))
    codes = {NoteId(run.meta.id, i): {"late": bad} for i, bad in enumerate(has)}
    for marks in (None, codes):
        document = counted([run], half, marks)
        (one,) = document.kinds
        assert one.uncoded == len(document.uncoded) == len(kind.notes) // 2
        assert one.share is not None
        assert one.share.low < 0.2 < one.share.high
        assert document.covered is not None
    assert "not coded yet" in "\n".join(count_lines(document))
    empty = Codebook((replace(kind, notes=()),))
    (alone,), (judged,) = counted([run], empty).kinds, counted([run], empty, codes).kinds
    assert alone.share is None
    assert judged.share is not None
    assert (judged.share.low, judged.people) == (0, 0)
    assert judged.share.high > 0.2


async def test_a_judge_that_is_silent_on_what_has_the_kind_hides_none_of_it(make_run: Make):
    """People's codes alone speak for what it gave no verdict on; nothing is left out of the share."""
    has = [i % 5 == 0 for i in range(300)]
    run, book = await reviewed(make_run, has, 100)
    codes = {NoteId(run.meta.id, i): {"late": False} for i, bad in enumerate(has) if not bad}
    document = counted([run], book, codes)
    (kind,) = document.kinds
    assert (kind.judge, kind.judged) == (0, 240)
    line = "no verdict of the judge on 60 outputs: there, people's codes alone count"
    assert line in list(count_lines(document))
    assert kind.share is not None
    assert kind.share.low < 0.2 < kind.share.high
    (none,) = counted([run], book, {}).kinds
    (alone,) = counted([run], book).kinds
    assert none.share == alone.share


async def test_each_tag_has_its_share(make_run: Make):
    """A case of two tags counts under both."""
    trials = [
        result(
            i, case=f"c{i}", ok=i % 2 == 0, output="x",
            metadata={"tags": ["odd", "all"] if i % 2 else ["all"]},
        )
        for i in range(80)
    ]  # fmt: skip
    run = await make_run(trials)
    draw_outputs([run], 40, seed=1)
    run = again(run)
    notes = tuple(note for note in drawn_notes([run]) if note.index % 2)
    for note in drawn_notes([run]):
        keep_review(run.path, note.index, "ann", "fail" if note.index % 2 else "pass", "late")
    document = counted([again(run)], accepted(replace(KIND, notes=notes)))
    every, odd = document.kinds[0].tags
    assert (every.tag, odd.tag) == ("all", "odd")
    assert every.share is not None
    assert odd.share is not None
    assert every.share.low < 0.5 < every.share.high
    assert odd.share.low > 0.8
    assert any(line.strip().startswith("odd: 9") for line in count_lines(document))


@pytest.mark.parametrize(("count", "more"), [(10, ""), (11, " and 1 more")])
async def test_ten_failures_without_a_kind_are_named(make_run: Make, count: int, more: str):
    """And how many more there are."""
    run = await make_run([result(i, ok=False, output="x") for i in range(count)])
    draw_outputs([run], count, seed=1)
    run = again(run)
    for place in range(count):
        keep_review(run.path, place, "ann", "fail", "odd")
    notes = tuple(NoteId(run.meta.id, place) for place in range(count))
    book = ratify(Codebook((KIND,), without_kind=frozenset(notes)), [], "Ada", date(2026, 11, 29))
    text = "\n".join(count_lines(counted([again(run)], book)))
    assert f":9{more}\n" in f"{text}\n"
    assert (" more" in text) is bool(more)
