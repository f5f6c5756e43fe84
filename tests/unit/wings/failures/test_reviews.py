"""Reviews: drawn with known probabilities, kept at once, moved through files, and what people disagree about."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.analysis.reviews.drawing import draw_outputs, drawn_notes, weights_of
from evenhand.analysis.reviews.reviewed import (
    keep_review,
    review_document,
    review_lines,
    reviews_of,
    to_review,
)
from evenhand.analysis.trust.labels.drawing import draws_to_label
from evenhand.core.errors import ConfigError, UsageError
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.languages.documents.failures_yml import Codebook, Kind, NoteId
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.commands.review import read_sheet, write_sheet

VARIANTS = (Variant(0, "plain", "m"), Variant(1, "warm", "m"))


def trials(cases: int, failing: int, variants: int = 1) -> Sequence[TrialResult]:
    """Cases of which the first ones fail."""
    return [
        result(
            case * variants + variant,
            ok=case >= failing,
            case=f"c{case}",
            variant=variant,
            output=f"answer {case}.{variant}",
            input=f"question {case}",
            metadata={"topic": "ab"[case % 2]},
        )
        for case in range(cases)
        for variant in range(variants)
    ]


def again(run: RunFile) -> RunFile:
    """The run as it is by now."""
    return RunFile.open(run.path)


async def test_failures_are_likelier_and_never_alone_and_each_case_is_drawn_once(make_run: Make):
    """Of 20 that failed and 60 that passed, half of a draw of 40 is of each; seed 1."""
    run = await make_run(trials(80, 20, variants=2), VARIANTS)
    draw_outputs([run], 40, seed=1)
    run = again(run)
    notes = drawn_notes([run])
    places = [note.index for note in notes]
    states = Counter(trial.outcome for trial in run.at(places))
    assert states == {"fail": 20, "pass": 20}
    assert len({trial.case for trial in run.at(places)}) == 40
    weights = weights_of(run, places)
    assert sum(weights.values()) == pytest.approx(160)
    assert {round(weights[t.index], 6) for t in run.at(places)} == {2.0, 6.0}
    assert draws_to_label(run) == []


@pytest.mark.thorough
async def test_the_weighted_share_of_a_draw_is_right_on_average(make_run: Make):
    """Cases have one to three outputs; without the weights, the share would be far too high. Seeds 0 to 39."""
    rows: list[TrialResult] = []
    for case in range(60):
        for repeat in range(1 + case % 3):
            ok = (case + repeat) % 4 != 0
            rows.append(result(len(rows), ok=ok, case=f"c{case}", repeat=repeat, output="x"))
    truth = sum(row.outcome == "fail" for row in rows) / len(rows)
    shares: list[float] = []
    plain: list[float] = []
    for seed in range(40):
        run = await make_run(rows)
        draw_outputs([run], 30, seed=seed)
        run = again(run)
        drawn = list(run.at([note.index for note in drawn_notes([run])]))
        weights = weights_of(run, [trial.index for trial in drawn])
        failed = [trial for trial in drawn if trial.outcome == "fail"]
        shares.append(sum(weights[t.index] for t in failed) / sum(weights.values()))
        plain.append(len(failed) / len(drawn))
    # The strata are of the outcome itself, so that its share has no variance.
    assert sum(shares) / len(shares) == pytest.approx(truth, abs=0.03)
    assert sum(plain) / len(plain) > truth + 0.1


async def test_a_draw_of_several_runs_is_of_all_of_them_and_typed_twice_it_is_one(make_run: Make):
    """A later one is of other cases."""
    runs = [await make_run(trials(20, 5)), await make_run(trials(30, 0))]
    first = draw_outputs(runs, 16, seed=3, column="topic")
    assert sum(len(draw.places) for draw in first) == 16
    runs = [again(run) for run in runs]
    before = drawn_notes(runs)
    assert {note.run for note in before} == {run.meta.id for run in runs}
    draw_outputs(runs, 16, seed=3, column="topic")
    runs = [again(run) for run in runs]
    assert drawn_notes(runs) == before
    draw_outputs(runs, 100, seed=4, column="topic")
    runs = [again(run) for run in runs]
    assert len(set(drawn_notes(runs))) == 50
    with pytest.raises(UsageError, match="drawn already"):
        draw_outputs(runs, 10, seed=5)


async def test_a_draw_that_cant_be_made_says_why(make_run: Make):
    """No such column, too few for the strata, nothing to read."""
    run = await make_run(trials(20, 5))
    with pytest.raises(UsageError, match="no case has a column 'topics'") as error:
        draw_outputs([run], 10, 1, "topics")
    assert "Did you mean 'topic'?" in error.value.hint
    with pytest.raises(UsageError, match="4 strata, and 3 outputs"):
        draw_outputs([run], 3, 1, "topic")
    empty = await make_run([result(0, ok=None, output=None)])
    with pytest.raises(UsageError, match="no outputs to review"):
        draw_outputs([empty], 3, 1)
    assert again(run).draws() == []


async def test_reviews_are_each_persons_own_and_can_be_taken_back(make_run: Make):
    """A verdict and its note are one; half of the people are enough for a failure."""
    run = await make_run(trials(3, 1))
    keep_review(run.path, 0, "ann", "fail", "invents a fee")
    keep_review(run.path, 0, "bo", "pass")
    keep_review(run.path, 1, "ann", "pass")
    keep_review(run.path, 2, "ann", "fail", "rude")
    keep_review(run.path, 2, "ann", None)
    first, second = reviews_of(again(run))
    assert (first.failed, first.is_disputed, first.words) == (True, True, "invents a fee")
    assert (second.failed, second.is_disputed, second.case) == (False, False, "c1")


async def test_a_second_person_gets_the_rest_and_a_fifth_again(make_run: Make):
    """And sees nothing of what the first one said."""
    run = await make_run(trials(20, 5))
    draw_outputs([run], 20, seed=1)
    run = again(run)
    drawn = drawn_notes([run])
    for note in drawn[:10]:
        keep_review(run.path, note.index, "ann", "fail", "a secret")
    reviews = reviews_of(again(run))
    assert to_review("ann", drawn, reviews) == drawn[10:]
    assert to_review("bo", drawn, reviews) == drawn[:2] + drawn[10:]


@pytest.mark.parametrize("name", ["notes.csv", "notes.jsonl"])
async def test_a_file_goes_out_and_comes_back(make_run: Make, tmp_path: Path, name: str):
    """Rows without a verdict are left out."""
    run = await make_run(trials(6, 3))
    draw_outputs([run], 6, seed=1)
    run, path = again(run), tmp_path / name
    notes = drawn_notes([run])
    write_sheet([run], notes, path)
    if name.endswith("csv"):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert list(rows[0]) == ["output_id", "case", "input", "output", "inclusion", "verdict", "note"]
    rows[0] |= {"verdict": "Fail", "note": " invents, a fee "}
    rows[1]["verdict"] = "pass"
    back = tmp_path / f"back-{name}"
    if name.endswith("csv"):
        with back.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        back.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_sheet([run], back) == {
        notes[0]: ("fail", "invents, a fee"),
        notes[1]: ("pass", ""),
    }


async def test_what_is_wrong_with_a_file_is_said_row_by_row(make_run: Make, tmp_path: Path):
    """Nothing is kept then."""
    run = await make_run(trials(3, 1))
    name = run.meta.id
    path = tmp_path / "notes.jsonl"
    rows = [
        {"output_id": f"{name}:0", "verdict": "maybe"},
        {"output_id": f"{name}:9", "verdict": "pass"},
        {"output_id": f"{name}:1", "verdict": "pass", "output": "something else"},
        {"output_id": f"{name}:2", "verdict": "pass"},
        {"output_id": f"{name}:2", "verdict": "fail"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ConfigError) as error:
        read_sheet([run], path)
    assert [(one.line, one.what.split()[0]) for one in error.value.problems] == [
        (1, "the"), (2, "these"), (3, "output"), (5, "output"),
    ]  # fmt: skip


async def test_the_list_has_disputed_outputs_first_then_failures_without_a_kind(make_run: Make):
    """What people wrote can't steer a terminal."""
    run = await make_run(trials(5, 5))
    draw_outputs([run], 5, seed=1)
    keep_review(run.path, 0, "ann", "fail", "late")
    keep_review(run.path, 1, "ann", "fail", "\x1b[31mrude\n::error::x")
    keep_review(run.path, 2, "ann", "fail", "fee")
    keep_review(run.path, 2, "bo", "pass")
    keep_review(run.path, 3, "ann", "pass")
    run = again(run)
    book = Codebook((Kind(name="slow", rule="r", notes=(NoteId(run.meta.id, 0),)),))
    text = "\n".join(review_lines([run], book))
    assert text.startswith("4 of 5 drawn outputs reviewed")
    order = [text.index(word) for word in ("people disagree", "fee", "no kind", "rude", "[slow]")]
    assert order == sorted(order)
    assert "\x1b" not in text
    assert "\n::error" not in text
    document = review_document([run], book)
    assert [one["failed"] for one in document["outputs"]] == [True, True, True, False]
    assert document["outputs"][1]["kinds"] == ["slow"]


async def test_an_empty_answer_is_drawn_and_an_error_is_not(make_run: Make):
    """An answer of nothing is a failure that people should see; of an error there is nothing to see."""
    empty = result(0, ok=False, case="silent", output="", input="q")
    broken = result(1, ok=None, case="broken", output=None, input="q")
    run = await make_run([empty, broken])
    (draw,) = draw_outputs([run], 1, seed=1)
    assert (list(draw.places), draw.population) == ([0], 1)
