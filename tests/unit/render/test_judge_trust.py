"""From a draw to labels, a calibration, and corrected numbers that go stale."""

from __future__ import annotations

import csv
import io
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.analysis.comparison.judged_differences import JudgedRun, judged_differences
from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, read_calibration, write_calibration
from evenhand.analysis.trust.judged_document import judged_rows
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.analysis.trust.labels.drawing import draw, drawn_items, items_for
from evenhand.analysis.trust.labels.failure_codes import code_lines, failure_codes, rename_code
from evenhand.analysis.trust.labels.sheet_rows import read_labels, write_items
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.cli.exits import complaint
from evenhand.cli.run_and_report import look_at_files_beside
from evenhand.cli.run_request import Asked
from evenhand.core.errors import ConfigError, StoreError, UsageError
from evenhand.core.plan import Selection
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import AnswerDetails, CallEnd, CallStart, RunMeta, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import RunVariant, Variant
from evenhand.core.wording.words import percent, short_id
from evenhand.doors.promptfoo.overrides import Overrides
from evenhand.render.calibration_text import calibration_lines, worth_line
from evenhand.render.comparison import judged_line
from evenhand.render.judged_rates import judged_lines, judged_or_damaged, standing
from evenhand.render.junit import write_junit
from evenhand.render.markdown import write_markdown
from evenhand.render.run import Run
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import (
    add_metric_labels,
    add_pair_labels,
    set_rule,
    standing_labels,
)
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.head import head

BODY = {"model": "judge-1", "temperature": 0, "messages": [{"role": "user", "content": "?"}]}
ONE = (Variant(0, "p", "m"),)
Verdict = Callable[[int], bool]


def judged(
    index: int,
    *,
    ok: bool,
    metric: str = "prose",
    variant: int = 0,
    instrument: str = "i",
    case: str = "",
) -> TrialResult:
    """A trial with one verdict of a judge."""
    outcome = Outcome(
        f"llm-rubric {metric}",
        "pass" if ok else "fail",
        float(ok),
        metric=metric,
        metadata={"judge": "judge-1", "prompt": "llm-rubric/1", "instrument": instrument},
    )
    return replace(
        result(index, ok=ok, variant=variant, case=case or f"case {index}"),
        outcomes=(outcome,),
        vars={"q": f"question {index}"},
        prompt=f"Q {index}",
        output=f"=answer {index}",
        answer=AnswerDetails(model="m-1"),
    )


def judge_call(body: dict[str, object] = BODY) -> tuple[CallStart, CallEnd]:
    """What the judge was asked."""
    identity = json.dumps({"body": body, "url": "http://there", "version": ""}).encode()
    start = CallStart(0, "key", 0, "judge", "judge", identity, None)
    return start, CallEnd(b"{}", "provider", 0.1, 1, 1, 0.0, "judge-1")


async def a_run(
    make: Make,
    n: int = 200,
    said: Verdict = lambda i: i % 10 < 7,
    change: Callable[[TrialResult], TrialResult] = lambda trial: trial,
    **more: object,
) -> RunFile:
    """A run of so many judged trials."""
    trials = [change(judged(i, ok=said(i))) for i in range(n)]
    body = more.pop("body", BODY)
    return await make(
        trials, more.pop("variants", ONE), planned=n, calls=[judge_call(body)], **more
    )  # type: ignore[arg-type]


def label(run: RunFile, people: Verdict, author: str = "ann", size: int = 60) -> RunFile:
    """Draws, and labels what was drawn; the run as it is then."""
    items = drawn_items(run, [draw(run, size, seed=1)])
    labels = [(i.trial.index, i.metric, "pass" if people(i.trial.index) else "fail") for i in items]
    add_metric_labels(run.path, author, labels)  # type: ignore[arg-type]
    return RunFile.open(run.path)


async def test_a_draw_is_uniform_repeatable_and_extended_by_trials_not_drawn(make_run: Make):
    """The same seed is the same draw, kept once; every trial is drawn equally often; the rest can be drawn, no more."""
    run = await a_run(make_run, 40)
    first = draw(run, 10, seed=3)
    with RunFile.open(run.path) as again:
        assert draw(again, 10, seed=3) == first
        second = draw(again, 10, seed=4)
    assert not set(first.places) & set(second.places)
    with RunFile.open(run.path) as again:
        assert len(again.draws()) == 2
        items = list(drawn_items(again, again.draws()))
        assert {item.inclusion for item in items} == {0.5}
        assert [item.trial.index for item in items] == [*first.places, *second.places]
        assert len(draw(again, 99, seed=5).places) == 20
    with RunFile.open(run.path) as again, pytest.raises(UsageError, match="drawn already"):
        draw(again, 1, seed=6)


@pytest.mark.parametrize(
    ("outputs", "says"),
    [(200, "; 40 more would give ±"), (64, "; 4 more would hardly change that"), (60, "")],
)
async def test_what_more_labels_would_bring_is_told_of_as_many_as_there_are_outputs_left(
    make_run: Make, outputs: int, says: str
):
    """And of none, where all outputs are labelled."""
    run = label(await a_run(make_run, outputs), lambda i: i % 10 < 6)
    (line,) = [line for line in calibration_lines(calibrate(run)) if "60 labels give" in line]
    assert (says in line) if says else ("more" not in line)


@pytest.mark.parametrize("outputs", [60, 200])
async def test_labels_give_the_interval_that_is_shown(make_run: Make, outputs: int):
    """Also where they agree with the judge on every output."""
    run = label(await a_run(make_run, outputs), lambda i: i % 10 < 7)
    (judge,) = calibrate(run).judges
    assert (judge.verdicts.missed, judge.verdicts.excused) == (0, 0)
    assert judge.corrected is not None
    half = (judge.corrected.high - judge.corrected.low) / 2
    assert f"60 labels give ±{percent(half)}" in worth_line(judge)


async def test_a_run_without_a_judge_has_nothing_to_label(make_run: Make):
    """And a metric that nobody judged is not drawn either; the nearest name is offered."""
    plain = await make_run([result(0)], ONE)
    with pytest.raises(UsageError, match="no judge gave a verdict"):
        draw(plain, 1, seed=1)
    assert judged_rates(plain) == []
    assert judged_lines(plain, ["p"], 80) == []
    run = await a_run(make_run, 3)
    with pytest.raises(UsageError, match="'prosa'") as caught:
        draw(run, 1, 1, ["prosa"])
    assert "prose" in caught.value.hint


async def test_a_draw_goes_to_a_file_and_its_labels_come_back(make_run: Make, tmp_path: Path):
    """No cell is a formula, no verdict of the judge is in it, and rows that nobody filled in are left out."""
    run = await a_run(make_run, 30)
    path = tmp_path / "draw.csv"
    write_items(run, list(drawn_items(run, [draw(run, 5, seed=1)])), path)
    with pytest.raises(UsageError, match="already exists"):
        write_items(run, [], path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    heads = "item case variant repeat metric input output inclusion verdict"
    assert list(rows[0]) == heads.split()
    assert all(row["output"].startswith("'=answer") and row["verdict"] == "" for row in rows)
    assert {float(row["inclusion"]) for row in rows} == {5 / 30}
    for row, verdict in zip(rows, ("pass", " FAIL ", "", "pass", "fail"), strict=True):
        row["verdict"] = verdict
    _write(path, rows)
    labels = read_labels(run, path).labels
    assert [verdict for *_, verdict in labels] == ["pass", "fail", "pass", "fail"]
    assert {index for index, *_ in labels} <= {int(row["item"]) for row in rows}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"verdict": "maybe"}, "the verdict is 'maybe'"),
        ({"item": "999", "verdict": "pass"}, "no item '999'"),
        ({"item": "x" * 99, "verdict": "pass"}, "no item"),
        ({"metric": "tone", "verdict": "pass"}, "no judged metric 'tone'"),
        ({"case": "of another run", "verdict": "pass"}, "has case"),
        ({"output": "of another run", "verdict": "pass"}, "the output of item"),
        ({"repeat": "4", "verdict": "pass"}, "has repeat"),
    ],
)
async def test_all_that_is_wrong_with_a_file_of_labels_is_said_with_its_line(
    make_run: Make, tmp_path: Path, change: dict[str, str], problem: str
):
    """And the same item twice, with one verdict or with two; nothing is kept then."""
    run = await a_run(make_run, 30)
    path = tmp_path / "draw.csv"
    write_items(run, list(drawn_items(run, [draw(run, 5, seed=1)])), path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[1]["verdict"] = "pass"
    _write(path, [{**rows[0], **change}, rows[1], rows[1], {**rows[1], "verdict": "fail"}])
    with pytest.raises(ConfigError) as caught:
        read_labels(run, path)
    told = str(caught.value)
    assert problem in told
    assert "draw.csv:2" in told
    assert "twice, with one verdict" in told
    assert "twice, as pass and as fail" in told
    assert complaint(caught.value).endswith(" problems; no label was kept\n")


@pytest.mark.parametrize(
    ("name", "what"), [("draw.csv", "the column `verdict`"), ("draw.jsonl", "the key `verdict`")]
)
async def test_a_file_in_which_nobody_wrote_a_verdict_is_no_labels_of_anybody(
    make_run: Make, tmp_path: Path, name: str, what: str
):
    """It says so, and what to write."""
    run = await a_run(make_run, 30)
    path = tmp_path / name
    write_items(run, list(drawn_items(run, [draw(run, 5, seed=1)])), path)
    with pytest.raises(UsageError) as caught:
        read_labels(run, path)
    assert str(caught.value).splitlines() == [
        f"{path} has no labels: {what} is empty in all rows",
        "  Write pass or fail for each output that you have looked at, then read the file again.",
    ]


async def test_a_sheet_of_another_run_is_one_message(make_run: Make, tmp_path: Path):
    """And not one for each of its rows."""
    run = await a_run(make_run, 30)
    path = tmp_path / "draw.csv"
    write_items(run, list(drawn_items(run, [draw(run, 20, seed=1)])), path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    _write(path, [{**row, "case": "of another run", "verdict": "pass"} for row in rows])
    with pytest.raises(
        UsageError, match=r"20 rows don.t fit this run\. The first, in line 2: item"
    ) as no:
        read_labels(run, path)
    assert len(str(no.value).splitlines()) == 2


async def test_labels_also_go_through_json_lines(make_run: Make, tmp_path: Path):
    """The same columns as keys; texts are as they are, an empty verdict or null is none, each wrong line is said."""
    run = await a_run(make_run, 30)
    path = tmp_path / "draw.jsonl"
    write_items(run, list(drawn_items(run, [draw(run, 5, seed=1)])), path)
    rows = [json.loads(line) for line in path.read_text().split("\n") if line]
    assert all(row["output"].startswith("=answer") and row["verdict"] == "" for row in rows)
    assert {row["inclusion"] for row in rows} == {5 / 30}
    for row, verdict in zip(rows, ("pass", "FAIL", None, "", "fail"), strict=True):
        row["verdict"] = verdict
    rows[0] |= {"score": 4, "note": "kind\u2028and short"}
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    sheet = read_labels(run, path)
    assert [verdict for *_, verdict in sheet.labels] == ["pass", "fail", "fail"]
    assert sheet.remarks[rows[0]["item"], "score"] == 4.0
    path.write_text('[1]\n{"item": 1}\n' + json.dumps({**rows[0], "verdict": True}) + "\n{")
    with pytest.raises(ConfigError) as caught:
        read_labels(run, path)
    problems = str(caught.value)
    assert problems.count("not a JSON object") == 2
    assert "draw.jsonl:4" in problems
    assert "the keys `metric` and `verdict` are missing" in problems
    assert "the verdict is 'true'" in problems


async def test_a_file_that_is_no_draw_is_refused(make_run: Make, tmp_path: Path):
    """A table with other columns, a row with fewer, no file."""
    run = await a_run(make_run, 3)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="the columns `item`, `metric` and `verdict` are missing"):
        read_labels(run, other)
    with pytest.raises(UsageError, match="cannot be read"):
        read_labels(run, tmp_path / "none.csv")
    other.write_text("item,metric,verdict,more\n1,prose,pass\n")
    with pytest.raises(ConfigError, match="number of columns"):
        read_labels(run, other)


async def test_a_file_of_labels_may_have_scores_notes_and_failure_codes(
    make_run: Make, tmp_path: Path
):
    """In columns that somebody adds; rows without a verdict are left out, and what is wrong is said with its line."""
    run = await a_run(make_run, 30)
    path = tmp_path / "draw.csv"
    write_items(run, list(drawn_items(run, [draw(run, 4, seed=1)])), path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    added = [
        {"verdict": "fail", "score": "2", "note": "too long", "code": " tone  of voice "},
        {"verdict": "pass", "score": "", "note": "", "code": ""},
        {"verdict": "", "score": "nine", "note": "", "code": "x"},
        {"verdict": "fail", "score": "", "note": "", "code": "tone of voice"},
    ]
    _write(path, [row | more for row, more in zip(rows, added, strict=True)])
    sheet = read_labels(run, path)
    first, last = int(rows[0]["item"]), int(rows[3]["item"])
    assert len(sheet.labels) == 3
    assert sheet.remarks == {
        (first, "score"): 2.0,
        (first, "note"): "too long",
        (first, "code"): "tone  of voice",
        (last, "code"): "tone of voice",
    }
    wrong = {"verdict": "fail", "score": "nine", "note": "", "code": "x" * 101}
    _write(path, [rows[0] | wrong, rows[1] | {**wrong, "score": "3"}])
    with pytest.raises(ConfigError) as caught:
        read_labels(run, path)
    assert "the score is 'nine'" in str(caught.value)
    assert "the code is" in str(caught.value)


async def test_failure_codes_are_counted_with_intervals_renamed_and_merged(make_run: Make):
    """Among the labelled outputs of the draw; what is outside is counted apart, what nobody gave is named."""
    run = label(await a_run(make_run), lambda i: i % 10 < 7, size=20)
    assert list(code_lines(run)) == [
        "nobody has given a failure code yet: press c in `evenhand label`"
    ]
    places = run.draws()[0].places
    outside = next(i for i in range(200) if i not in places)
    given = [(places[0], "tone"), (places[1], "tone"), (places[2], "Tone"), (outside, "facts")]
    append_labels(run.path, [NewLabel(i, "code", name, "ann") for i, name in given])
    append_labels(run.path, [NewLabel(places[0], "code", "tone", "bo")])
    with RunFile.open(run.path) as again:
        assert [(c.name, c.drawn, c.labelled) for c in failure_codes(again)] == [
            ("tone", 2, 20),
            ("Tone", 1, 20),
            ("facts", 0, 20),
        ]
        assert rename_code(again, "Tone", "tone") == 1
        with pytest.raises(UsageError, match="no output has the failure code 'fact'") as caught:
            rename_code(again, "fact", "x")
    assert "facts" in caught.value.hint
    with RunFile.open(run.path) as again:
        lines = list(code_lines(again))
    assert lines[0] == "failure codes of 20 labelled outputs of the draw"
    assert "15 % [5–36]" in lines[1]
    assert lines[1].lstrip().startswith("tone")
    assert "1 outside the draw" in lines[2]


async def test_a_second_person_gets_what_nobody_labelled_and_a_fifth_of_the_rest(make_run: Make):
    """So that people can be compared; the fifth is the first of the draw, whatever was said of it."""
    run = await a_run(make_run, 40)
    items = list(drawn_items(run, [draw(run, 20, seed=1)]))
    by_ann = [(i.trial.index, i.metric, "pass") for i in items[:10]]
    add_metric_labels(run.path, "ann", by_ann)  # type: ignore[arg-type]
    with RunFile.open(run.path) as again:
        labels = standing_labels(again.metric_labels())
    assert items_for("ann", items, labels) == items
    assert items_for("bo", items, labels) == items[:2] + items[10:]
    assert items_for("bo", items, {}) == items


async def test_two_people_are_the_measure_of_whether_a_judge_can_stand_in_for_one(make_run: Make):
    """It says how many of them; with one person there is no such line."""
    run = label(await a_run(make_run), lambda i: i % 10 < 7)
    (one,) = calibrate(run).judges
    assert one.alternative is None
    run = label(run, lambda i: i % 10 < 7 and i % 9 > 0, author="bo")
    (one,) = calibrate(run).judges
    assert one.alternative is not None
    assert (one.alternative.people, one.alternative.replaced) == (2, 2)
    assert "the judge can stand in for a person: it could replace 2 of 2" in "\n".join(
        calibration_lines(calibrate(run))
    )


async def test_a_judge_of_preferences_is_shown_to_go_by_the_place(make_run: Make):
    """Where the two orders disagree, the first text wins nine times in ten; a tie in one order is neither."""

    def preference(trial: TrialResult) -> TrialResult:
        i = trial.index
        orders = [{"first": "output", "winner": "output"}, {"first": "other", "winner": "output"}]
        if i % 4 == 0:
            place = "second" if i % 40 == 0 else "first"
            winners = ("output", "other") if place == "first" else ("other", "output")
            orders = [
                {"first": first, "winner": winner}
                for first, winner in zip(("output", "other"), winners, strict=True)
            ]
        if i == 1:
            orders[0]["winner"] = "tie"
        consistent = orders[0]["winner"] == orders[1]["winner"]
        metadata = {"judge": "judge-1", "orders": orders, "consistent": consistent}
        outcome = replace(trial.outcomes[0], metadata=metadata)
        return replace(trial, outcomes=(outcome,))

    (judge,) = calibrate(await a_run(make_run, change=preference)).judges
    assert judge.orders == {"consistent": 149, "half": 1, "first": 45, "second": 5}
    assert judge.pairs == 200
    assert judge.first_place is not None
    assert judge.first_place.value == 0.9
    lines = " ".join(calibration_lines(calibrate(await a_run(make_run, change=preference))))
    assert "audits     biased by position" in lines
    assert "the same preference in both orders for 75 % [68–80] of 200 pairs" in lines
    assert (
        "biased: of 50 pairs whose verdict depends on position, 90 % [78–97] go to the first"
        in lines
    )


async def test_a_good_judge_is_usable_and_its_rate_is_corrected(make_run: Make):
    """It errs on one output in twelve: the numbers are those of the table, and the true rate is in the interval."""

    def people(i: int) -> bool:
        return (i % 10 < 7) is not (i % 12 == 5)

    run = label(await a_run(make_run), people)
    (judge,) = calibrate(run).judges
    v = judge.verdicts
    assert (v.labels, v.items, v.passed) == (60, 200, 140)
    assert judge.tpr is not None
    assert judge.tnr is not None
    assert judge.corrected is not None
    assert judge.tpr.value == v.both_pass / (v.both_pass + v.missed)
    truth = sum(map(people, range(200))) / 200
    assert judge.corrected.low <= truth <= judge.corrected.high
    assert judge.verdict == "usable with labels"
    assert "; its raw pass rate may be off by" in judge.why
    assert judge.random_p is not None
    assert judge.random_p > 0.01
    text = "\n".join(calibration_lines(calibrate(run)))
    assert "usable with labels: misses" in text
    assert "corrected" in text


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("off", "shown"), [(0, {170, 190}), (12, {190}), (5, set[int]())], ids=["0 %", "4 %", "10 %"]
)
async def test_fewer_labels_never_make_a_judge_more_usable(
    make_run: Make, off: int, shown: set[int]
):
    """Of 200 outputs, one that agrees, and two that pass too many: *usable* comes with labels, if at all."""

    def people(i: int) -> bool:
        return i % 10 < 7 and not (off and i % (3 * off) == 1 and i % 10 < 7)

    usable: set[int] = set()
    for size in (30, 60, 100, 170, 190):
        (judge,) = calibrate(label(await a_run(make_run), people, size=size)).judges
        assert judge.verdict in ("usable", "usable with labels")
        if judge.verdict == "usable":
            usable.add(size)
    assert usable <= shown or usable == shown
    assert 30 not in usable


async def test_a_judge_that_is_too_kind_is_usable_with_labels_only(make_run: Make):
    """It passes everything that people pass, and half of what they fail: its own number is not to be read."""
    run = label(await a_run(make_run), lambda i: i % 10 < 5)
    (judge,) = calibrate(run).judges
    assert judge.verdict == "usable with labels"
    assert judge.corrected is not None
    assert judge.corrected.high < 0.7


@pytest.mark.parametrize(
    "people", [lambda i: i % 10 >= 7, lambda i: i % 2 == 0], ids=["turned", "coin"]
)
async def test_a_judge_no_better_than_chance_is_not_to_be_used(make_run: Make, people: Verdict):
    """One that is turned around has no corrected number at all. What to do next is said."""
    calibration = calibrate(label(await a_run(make_run), people, size=100))
    (judge,) = calibration.judges
    assert judge.verdict == "do not use"
    command = f"evenhand calibrate {short_id(calibration.run)} --try model=ID"
    assert f"  next       try another model on these labels: {command}" in calibration_lines(
        calibration
    )
    assert judge.tpr is not None
    assert judge.tnr is not None
    assert "not shown to be better than chance" in judge.why
    assert "label more" not in judge.why  # there are enough of both kinds
    if judge.tpr.value + judge.tnr.value <= 1:
        assert judge.corrected is None


async def test_agreement_among_people_is_told_with_how_much_it_rests_on(make_run: Make):
    """An α of 1.00 on two outputs says little."""
    run = label(await a_run(make_run), lambda i: i % 10 < 7, size=60)
    places = [i.trial.index for i in drawn_items(run, run.draws())]
    again = [next(i for i in places if (i % 10 < 7) == good) for good in (True, False)]
    labels = [(index, "prose", "pass" if index % 10 < 7 else "fail") for index in again]
    add_metric_labels(run.path, "bo", labels)  # type: ignore[arg-type]
    lines = "\n".join(calibration_lines(calibrate(RunFile.open(run.path))))
    assert "people among each other 1.00 α, on 2 outputs" in lines


async def test_where_all_is_labelled_more_cases_are_advised_and_not_more_labels(make_run: Make):
    """Of 40 outputs nobody labels 50."""
    (all_,) = calibrate(label(await a_run(make_run, 40), lambda i: i % 10 < 7, size=40)).judges
    more = "50 or more make this firm"
    assert f"40 labels are few: {more}, which takes more than the 40 judged here" in all_.warnings
    (part,) = calibrate(label(await a_run(make_run, 200), lambda i: i % 10 < 7, size=40)).judges
    assert f"40 labels are few: {more}" in part.warnings


async def test_few_labelled_failures_show_nothing_and_what_to_label_is_said(make_run: Make):
    """Three outputs that a judge passes wrongly don't show that it is no better than chance."""
    run = label(await a_run(make_run), lambda i: i % 40 != 1, size=60)
    calibration = calibrate(run)
    (judge,) = calibration.judges
    assert not any("--try" in line for line in calibration_lines(calibration))
    fails = judge.verdicts.both_fail + judge.verdicts.excused
    assert 0 < fails < 10
    assert judge.verdict == "do not use"
    assert "not shown to be better than chance" in judge.why
    assert judge.why.endswith(
        f"; only {fails} of the 60 labelled outputs fails: label more, of a run with more that fail"
    )


async def test_there_is_no_verdict_without_labels_with_few_or_with_one_class(make_run: Make):
    """Fewer than 30; fewer than 50 are warned of; people who pass everything."""
    run = await a_run(make_run)
    (none,) = calibrate(run).judges
    assert (none.verdict, none.corrected, none.random_p) == ("no verdict", None, None)
    (few,) = calibrate(label(run, lambda i: i % 10 < 7, size=29)).judges
    assert few.verdict == "no verdict"
    assert "29 labels are too few" in few.why
    (warned,) = calibrate(label(await a_run(make_run), lambda i: i % 10 < 7, size=45)).judges
    assert warned.verdict == "usable with labels"
    assert "45 labels are few" in warned.warnings[0]
    (kind,) = calibrate(label(await a_run(make_run), lambda _: True)).judges
    assert (kind.verdict, kind.tnr) == ("no verdict", None)
    assert kind.row(ONE).tnr is None


async def test_labels_outside_a_draw_are_kept_and_never_used(make_run: Make):
    """Whoever labels what looks wrong says nothing of the rest."""
    run = await a_run(make_run)
    add_metric_labels(run.path, "ann", [(i, "prose", "fail") for i in range(60)])
    with RunFile.open(run.path) as again:
        (judge,) = calibrate(again).judges
    assert (judge.verdicts.labels, judge.unused, judge.verdict) == (0, 60, "no verdict")


async def test_labels_that_are_no_random_draw_are_refused(make_run: Make):
    """Of what was drawn only the judge's passes were labelled."""
    run = await a_run(make_run)
    places = draw(run, 120, seed=1).places
    labels = [(i, "prose", "pass") for i in places if i % 10 < 7]
    add_metric_labels(run.path, "ann", labels)  # type: ignore[arg-type]
    with RunFile.open(run.path) as again:
        (judge,) = calibrate(again).judges
    assert judge.verdict == "no verdict"
    assert "not a random draw" in judge.why
    assert judge.corrected is None
    assert judge.row(ONE).random_draw == {"p": judge.random_p, "ok": False}


async def test_the_last_label_of_a_person_counts_and_where_people_are_split_none_does(
    make_run: Make,
):
    """With two people there is an agreement between them; what was taken back is gone."""
    run = label(await a_run(make_run), lambda i: i % 10 < 7)
    first = run.draws()[0].places
    said = [(i, "prose", "pass" if i % 3 else "fail") for i in first[:10]]
    add_metric_labels(run.path, "bo", said)  # type: ignore[arg-type]
    add_metric_labels(run.path, "ann", [(first[-1], "prose", None)])
    with RunFile.open(run.path) as again:
        (judge,) = calibrate(again).judges
    split = sum((i % 10 < 7) is not (i % 3 > 0) for i in first[:10])
    assert split
    assert judge.verdicts.labels == 59 - split
    assert (judge.unused, judge.split and judge.split.items) == (0, split)
    assert judge.people is not None


async def test_a_calibration_corrects_later_runs_until_what_it_is_bound_to_changes(
    make_run: Make, tmp_path: Path
):
    """One character of the judge's prompt, its settings, the criteria, the system, the data, the rule: each is said."""
    source = {"source": str(tmp_path / "promptfooconfig.yaml")}
    run = label(await a_run(make_run, **source), lambda i: i % 10 < 6)
    write_calibration(calibrate(run), place_of(run.meta))
    assert read_calibration(tmp_path / "calibration.json").judges
    again = await a_run(make_run, **source)
    (rate,) = judged_rates(again)
    assert (rate.status, rate.labels) == ("fresh", 60)
    assert rate.corrected is not None
    assert rate.corrected.value < rate.raw.value
    assert "corrected, 60 labels, today" in judged_lines(again, ["p"], 200)[1]

    def first(**fields: object) -> Callable[[TrialResult], TrialResult]:
        return lambda trial: replace(trial, **fields) if trial.index == 0 else trial  # type: ignore[arg-type]

    def first_outcome(**fields: object) -> Callable[[TrialResult], TrialResult]:
        def change(trial: TrialResult) -> TrialResult:
            if trial.index:
                return trial
            return replace(trial, outcomes=(replace(trial.outcomes[0], **fields),))  # type: ignore[arg-type]

        return change

    kept = {"judge": "judge-1", "prompt": "llm-rubric/1", "instrument": "i"}
    metadata = {**kept, "instrument": "j"}
    changes: list[tuple[str, dict[str, object]]] = [
        ("judge prompt", {"change": first_outcome(metadata=metadata)}),
        ("judge settings", {"body": {**BODY, "temperature": 1}}),
        ("criteria", {"change": first_outcome(at_least=0.9)}),
        ("criteria", {"change": first_outcome(name="llm-rubric prose.")}),
        ("system", {"change": first(prompt="Q 0.")}),
        ("system", {"change": first(answer=AnswerDetails(model="m-2"))}),
        ("criteria", {"change": first_outcome(metadata={**kept, "category_scores": {"agree": 0}})}),
        ("system", {"variants": (Variant(0, "p", "m", axes={"chunks": "5"}),)}),
        ("data", {"change": first(vars={"q": "question 0."})}),
        ("data", {"change": first(expected="x")}),
        ("data", {"n": 199}),
    ]
    for name, change in changes:
        other = await a_run(make_run, **source, **change)  # type: ignore[arg-type]
        (rate,) = judged_rates(other)
        assert (rate.status, rate.corrected) == ("stale", None), name
        assert name in rate.changed
        assert "stale" in judged_lines(other, ["p"], 200)[1]
    ruled = await a_run(make_run, **source)
    set_rule(ruled.path, "prose", "no lists")
    with RunFile.open(ruled.path) as read:
        assert judged_rates(read)[0].changed == ("rule",)
    renamed = {"judge": "judge-2", "prompt": "llm-rubric/1", "instrument": "i"}
    other = await a_run(
        make_run,
        change=lambda t: replace(t, outcomes=(replace(t.outcomes[0], metadata=renamed),)),
        **source,
    )
    (rate,) = judged_rates(other)
    assert (rate.status, rate.changed) == ("missing", ("judge model",))


async def test_an_edited_row_is_an_edit_of_the_data_alone(make_run: Make, tmp_path: Path):
    """Its text is in the prompt and in the criteria; only what is otherwise for an unedited row was edited as well."""
    source = {"source": str(tmp_path / "promptfooconfig.yaml")}

    def filled(
        rows: range, prompt: str = "Q", criteria: str = "prose"
    ) -> Callable[[TrialResult], TrialResult]:
        """The rows in this range are edited; the prompt and the criteria have the row's text in them."""

        def change(trial: TrialResult) -> TrialResult:
            text = f"edited {trial.index}" if trial.index in rows else f"row {trial.index}"
            (outcome,) = trial.outcomes
            metadata = {**outcome.metadata, "instrument": f"{criteria} of {text}"}
            return replace(
                trial,
                case=text,
                vars={"q": text},
                prompt=f"{prompt}: {text}",
                outcomes=(replace(outcome, name=f"{criteria} of {text}", metadata=metadata),),
            )

        return change

    def written(raw: str) -> dict[str, object]:
        return {**source, "variants": (Variant(0, "p", "m", prompt_raw=raw),)}

    run = label(
        await a_run(make_run, change=filled(range(0)), **written("Q: {{q}}")),
        lambda i: i % 10 < 6,
    )
    file = place_of(run.meta)
    write_calibration(calibrate(run), file)
    (rate,) = judged_rates(await a_run(make_run, change=filled(range(0)), **written("Q: {{q}}")))
    assert rate.status == "fresh"
    for change, raw, changed in [
        (filled(range(1)), "Q: {{q}}", ("data",)),
        (filled(range(100)), "Q: {{q}}", ("data",)),
        (filled(range(1), prompt="Now"), "Now: {{q}}", ("system", "data")),
        (filled(range(1), criteria="verse"), "Q: {{q}}", ("judge prompt", "criteria", "data")),
        (filled(range(200)), "Q: {{q}}", ("judge prompt", "criteria", "data")),
        (filled(range(200), "Now"), "Now: {{q}}", ("judge prompt", "criteria", "system", "data")),
    ]:
        (rate,) = judged_rates(await a_run(make_run, change=change, **written(raw)))
        assert (rate.status, rate.changed) == ("stale", changed)
    document = json.loads(file.read_text("utf-8"))
    assert len(document["judges"][0]["seen"]["cases"]) == 20


async def test_a_prompt_of_another_name_is_corrected_by_what_was_counted_under_the_old_one(
    make_run: Make, tmp_path: Path
):
    """What it sends and what answers decide; two that are alike in both are told apart by their names."""
    source = {"source": str(tmp_path / "promptfooconfig.yaml")}

    async def both(*names: str, alike: bool = False) -> RunFile:
        def trial(i: int) -> TrialResult:
            one = judged(i, ok=i % 10 < 7, variant=i % 2)
            return replace(one, prompt="Q" if alike else f"Q by {'ab'[i % 2]}")

        variants = tuple(Variant(i, name, "m") for i, name in enumerate(names))
        trials = [trial(i) for i in range(300)]
        return await make_run(trials, variants, planned=300, calls=[judge_call()], **source)

    for alike in (False, True):
        run = label(
            await both("a", "b", alike=alike), lambda i: i % 10 < (7 if i % 2 else 3), size=160
        )
        write_calibration(calibrate(run), place_of(run.meta))
        again = judged_rates(await both("a", "b", alike=alike))
        own = [rate.corrected for rate in again]
        assert None not in own
        later = judged_rates(await both("c", "a", alike=alike))
        if alike:
            # Nothing but its name says that it is the first one, and the judge passes fewer of its outputs.
            assert [rate.status for rate in later] == ["fresh", "stale"]
            assert [rate.corrected for rate in later] == [None, None]
        else:
            assert [rate.status for rate in later] == ["fresh", "fresh"]
            assert [rate.corrected for rate in later] == own


def test_calibrations_of_eval_sets_are_beside_the_folder_evals(tmp_path: Path):
    """Whether the command ran them, whose source is the project, or a program, whose source is their file."""
    file = tmp_path / "evals" / "returns" / "shop_evals.py"
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / "shop_evals.py").touch()
    config = tmp_path / "evals" / "promptfooconfig.yaml"
    places = {
        tmp_path: tmp_path,
        file: tmp_path,
        tmp_path / "shop_evals.py": tmp_path,
        config: config.parent,
    }
    for source, place in places.items():
        meta = RunMeta("id", "t", str(source), "f", 1, 1, 1, ONE, 0.0, "0")
        assert place_of(meta) == place / "calibration.json"
    assert (
        Asked(paths=(str(file.parent),), selection=Selection(), over=Overrides()).folder == tmp_path
    )


async def test_each_variant_is_corrected_by_its_own_labels(make_run: Make, tmp_path: Path):
    """A judge's errors on one system say nothing of those on another."""
    two = (Variant(0, "p", "m"), Variant(1, "p", "n"))
    source = {"source": str(tmp_path / "promptfooconfig.yaml")}

    async def both() -> RunFile:
        return await make_run(
            [judged(i, ok=i % 10 < 7, variant=i % 2) for i in range(300)],
            two,
            planned=300,
            calls=[judge_call()],
            **source,
        )

    run = label(await both(), lambda i: i % 10 < (7 if i % 2 else 3), size=160)
    own = judged_rates(run)
    assert [rate.variant for rate in own] == [0, 1]
    assert own[0].corrected is not None
    assert own[1].corrected is not None
    assert own[0].corrected.high < own[0].raw.value
    assert own[1].corrected.low <= own[1].raw.value <= own[1].corrected.high
    write_calibration(calibrate(run), place_of(run.meta))
    # Also of the first, of which the judge tells so little that its labels alone would have a narrower interval.
    assert [rate.corrected for rate in judged_rates(await both())] == [
        own[0].corrected,
        own[1].corrected,
    ]
    assert judged_rows(run)[1].variant == RunVariant(prompt="p", model="n")


async def test_corrected_numbers_of_a_run_that_stopped_say_that_they_do_not_allow_for_it(
    make_run: Make,
):
    """Beside the number, in `calibrate` and beside a difference; not where nothing is corrected, or nothing stopped."""
    decided = {"status": "decided", "decided": {"verdict": "passed", "columns": []}}
    words = "the cases to run were chosen by outcome, but the rate is corrected as if"
    runs = [await a_run(make_run, **more) for more in ({}, decided)]
    finished, stopped = [label(run, lambda i: i % 10 < 5) for run in runs]
    for run, times in ((finished, 0), (stopped, 1)):
        (rate,) = judged_rates(run)
        assert standing(rate).count(words) == times
        assert "\n".join(calibration_lines(calibrate(run))).count(words) == times
    (unlabelled,) = judged_rates(await a_run(make_run, **decided))
    assert words not in standing(unlabelled)
    (one,) = judged_differences(JudgedRun(finished), JudgedRun(stopped), [(0, 0)], [("a", "b")])
    (same,) = judged_differences(JudgedRun(finished), JudgedRun(finished), [(0, 0)], [("a", "b")])
    assert words in judged_line(one)
    assert words not in judged_line(same)


async def test_where_calibration_is_required_a_pass_without_one_is_undecided(
    make_run: Make, tmp_path: Path
):
    """A failure stays one; accepted, it passes, and that is shown."""
    source = {"source": str(tmp_path / "promptfooconfig.yaml"), "pass_rate": 0.5}
    required = {"settings": {"calibrated": "required"}, **source}
    run = await a_run(make_run, **required)
    assert verdict_of(run) == "undecided"
    assert "calibration is required" in judged_lines(run, ["p"], 200)[0]
    assert verdict_of(await a_run(make_run, **{**required, "pass_rate": 0.9})) == "failed"
    accepted = await a_run(make_run, **source, settings={"calibrated": "accepted"})
    assert verdict_of(accepted) == "passed"
    assert "accepted without calibration" in judged_lines(accepted, ["p"], 200)[0]
    assert verdict_of(label(run, lambda i: i % 10 < 7)) == "passed"


async def test_a_bound_that_only_the_judge_keeps_gives_no_verdict_where_calibration_is_required(
    make_run: Make, tmp_path: Path
):
    """The judge passes 80 %, people 70 %: with the bound between them, of the metric or of all trials."""

    async def bounded(metric: str, least: float, calibrated: str = "required") -> RunFile:
        return label(
            await a_run(
                make_run,
                said=lambda i: i % 10 < 8,
                source=str(tmp_path / "promptfooconfig.yaml"),
                settings={"calibrated": calibrated},
                requirements=(Requirement(metric, Bound(at_least=least), (0,)),),
            ),
            lambda i: i % 10 < 7,
        )

    for metric in ("prose", PASSED):
        run = await bounded(metric, 0.78)
        assert verdict_of(run) == "undecided"
        told = " ".join(judged_lines(run, ["p"], 300))
        assert "no verdict: prose is 72 %" in told
        assert "once corrected, wanted at least 78 %" in told
        assert verdict_of(await bounded(metric, 0.6)) == "passed"
        assert verdict_of(await bounded(metric, 0.9)) == "failed"
        assert verdict_of(await bounded(metric, 0.78, "accepted")) == "passed"


@pytest.mark.parametrize(
    ("people", "size", "doubt"),
    [
        (lambda i: i % 10 < 7, 5, "too few labels"),
        (lambda i: i % 2 == 0, 100, "do not use this judge"),
        (lambda _: True, 60, "too little data"),
    ],
    ids=["five labels", "a coin", "only passes"],
)
async def test_a_calibration_that_gives_no_leave_to_use_the_judge_opens_no_gate(
    make_run: Make, tmp_path: Path, people: Verdict, size: int, doubt: str
):
    """In the labelled run and in the next one, which goes by the file."""
    required = {
        "source": str(tmp_path / "promptfooconfig.yaml"),
        "settings": {"calibrated": "required"},
        "pass_rate": 0.5,
    }
    run = label(await a_run(make_run, **required), people, size=size)
    write_calibration(calibrate(run), place_of(run.meta))
    for each in (run, await a_run(make_run, **required)):
        assert verdict_of(each) == "undecided"
        lines = judged_lines(each, ["p"], 300)
        assert "calibration is required" in lines[0]
        assert doubt in lines[1]


async def test_a_calibration_with_impossible_counts_is_refused(make_run: Make, tmp_path: Path):
    """Edited by hand: fewer than no labels, or a text for a number."""
    source = {"source": str(tmp_path / "promptfooconfig.yaml")}
    run = label(await a_run(make_run, **source), lambda i: i % 10 < 6)
    document = calibrate(run).document()
    for count in (-1, 10**12, "many"):
        document["judges"][0]["variants"][0]["missed"] = count
        place_of(run.meta).write_text(json.dumps(document))
        with pytest.raises(UsageError, match="is not a calibration"):
            judged_rates(await a_run(make_run, **source))


async def test_a_metric_on_which_no_judge_reached_a_verdict_has_no_rate(make_run: Make):
    """Its judge only failed: that is not a pass rate of 0."""
    run = await a_run(
        make_run,
        change=lambda t: replace(
            t, outcomes=(replace(t.outcomes[0], outcome="error", score=None),)
        ),
    )
    assert calibrate(run).judges == ()
    assert judged_rates(run) == []


async def test_labels_of_very_long_outputs_are_read(make_run: Make, tmp_path: Path):
    """The csv module stops at 131,072 characters by itself; its limit is as before afterwards."""
    run = await a_run(make_run, 3, change=lambda trial: replace(trial, output="a" * 200_000))
    path, limit = tmp_path / "draw.csv", csv.field_size_limit()
    write_items(run, list(drawn_items(run, [draw(run, 3, seed=1)])), path)
    path.write_text(path.read_text("utf-8").replace(",\r\n", ",pass\r\n").replace(",\n", ",pass\n"))
    assert len(read_labels(run, path).labels) == 3
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    "damage",
    [
        "update draw set places = x'00'",
        "update draw set metrics = x'5b315d'",
        "update draw set population = 0",
        "insert into metric_label (at, author, idx, metric, verdict) values (1, 'bo', 0, x'ff', 'pass')",
        "update rule set rule = x'ff'",
    ],
)
async def test_damaged_draws_labels_and_rules_are_named_as_such(make_run: Make, damage: str):
    """Never a traceback, and never a number from them."""
    run = label(await a_run(make_run), lambda i: i % 10 < 7)
    set_rule(run.path, "prose", "no lists")
    with closing(sqlite3.connect(run.path)) as db, db:
        db.execute(damage)
    with RunFile.open(run.path) as again, pytest.raises(StoreError, match="cannot be read"):
        calibrate(again)


async def test_the_page_and_junit_carry_the_corrected_rate_beside_the_raw_one(
    make_run: Make, tmp_path: Path
):
    """Both say so when nobody has checked the judge; a damaged calibration is a warning of the page."""
    source = {"source": str(tmp_path / "promptfooconfig.yaml")}
    run = await a_run(make_run, **source, status="finished")
    (one,) = head(run).judged
    assert (one.metric, one.corrected, one.trusted) == ("prose", None, False)
    assert "not checked against people" in one.words
    assert 'name="judged prose" value="70 % [63–76] by judge-1 · not checked' in _junit(run)
    labelled = label(run, lambda i: i % 10 < 6)
    (one,) = head(labelled).judged
    assert one.trusted
    assert one.corrected is not None
    assert (one.corrected.n, one.raw.n, one.raw.value) == (60, 200, 0.7)
    assert "corrected, 60 labels" in one.words
    assert one.words in _junit(labelled)
    place_of(run.meta).write_text("{")
    damaged = head(await a_run(make_run, **source, status="finished"))
    assert damaged.judged == []
    assert "calibration.json" in damaged.warnings[-1]


def _junit(run: RunFile) -> str:
    out = io.StringIO()
    write_junit(run, out)
    return out.getvalue()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema":"evenhand.calibration/2","judges":[]}', '{"schema":1}']
)
def test_a_damaged_calibration_is_refused_and_never_ignored(tmp_path: Path, text: str):
    """A gate must not go by nothing."""
    path = tmp_path / "calibration.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"calibration\.json"):
        read_calibration(path)
    assert read_calibration(tmp_path / "none.json").judges == []


async def test_a_draw_is_the_same_whatever_the_judge_said(make_run: Make):
    """Seeded draws of trials that are judged: verdicts play no part. The seeds are 0 to 19."""
    kind = await a_run(make_run, 60, said=lambda _: True)
    strict = await a_run(make_run, 60, said=lambda _: False)
    for seed in random.Random(1).sample(range(20), 3):
        assert draw(kind, 10, seed).places == draw(strict, 10, seed).places


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)


async def test_a_run_in_code_calibrates_its_judges_and_shows_its_methods(make_run: Make):
    """The same as on the command line; help and completion know what reads trials, counts and calls."""
    run = Run(label(await a_run(make_run), lambda i: i % 10 < 7))
    (judge,) = run.calibrate().judges
    assert judge.verdict == "usable with labels"
    assert run.totals().trials == len(list(run.trials(first=0))) == 200
    assert {"trials", "totals", "usage", "calls", "labels"} <= set(dir(Run))
    assert "in the plan's order" in (Run.trials.__doc__ or "")
    out = io.StringIO()
    write_markdown(run.file, out)
    assert "prose:" in out.getvalue()
    assert "corrected, 60 labels" in out.getvalue()


async def test_a_jury_that_lacked_a_member_once_is_still_that_jury(make_run: Make):
    """A member that gave an error has no name in the outcome."""

    def vote(judge: str) -> dict[str, object]:
        return {"judge": judge, "passed": True, "score": 1.0, "instrument": "i"}

    error = {"score": None, "passed": None, "error": "judge"}
    both = Outcome("j", "pass", 1.0, metadata={"jury": [vote("a"), vote("b")]})
    one = Outcome("j", "fail", 0.0, metadata={"jury": [vote("a"), error]})
    run = await make_run(
        [result(i, case=f"c{i}", outcomes=(one if i == 3 else both,)) for i in range(6)]
    )
    (jury,) = judgements(run).metrics.values()
    assert (jury.model, [item.passed for item in jury.items]) == (
        "a+b",
        [True, True, True, False, True, True],
    )
    assert len(jury.instruments) == 1


async def test_a_rule_by_which_there_are_labels_is_kept(make_run: Make):
    """Labels by one rule would pass for labels by another; the same rule may be said again."""
    run = await a_run(make_run, 40)
    set_rule(run.path, "prose", "no list")
    set_rule(run.path, "prose", "no lists")
    run = label(run, lambda i: i % 10 < 7, size=30)
    set_rule(run.path, "prose", "no lists")
    with pytest.raises(UsageError, match="30 outputs are labelled by another rule: no lists"):
        set_rule(run.path, "prose", "no headings")
    set_rule(run.path, "tone", "kind")
    set_rule(run.path, "ranking", "is shorter")
    add_pair_labels(run.path, "ann", [((0, 1), "ranking", "tie"), ((1, 0), "ranking", "first")])
    with pytest.raises(UsageError, match="1 output is labelled by another rule: is shorter"):
        set_rule(run.path, "ranking", "is kinder")


async def test_outputs_without_a_verdict_are_said_beside_the_numbers(make_run: Make):
    """They are in none of them, and might have been passes or failures."""

    def silent(trial: TrialResult) -> TrialResult:
        if trial.index >= 10:
            return trial
        outcomes = (Outcome(trial.outcomes[0].name, "error", None, metric="prose"),)
        return replace(trial, outcome="error", score=None, outcomes=outcomes)

    run = label(await a_run(make_run, 100, change=silent), lambda i: i % 10 < 7)
    (judge,) = calibrate(run).judges
    assert judge.errors == 10
    assert "10 outputs left out: the judge gave no verdict" in judge.warnings
    assert "10 outputs left out: the judge gave no verdict" in judged_lines(run, ["p"], 300)[1]


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", b"[]", b"{}", b'{"schema": 3}', b"\xff\xfe", b'{"schema":"x/9","judges":[]}'],
)
async def test_a_damaged_calibration_is_named_before_anything_is_sent_and_withholds_no_report(
    make_run: Make, tmp_path: Path, data: bytes
):
    """`check` and `run` refuse; whoever reads a run has all but the corrected numbers. Required, it is no verdict."""
    more = {"settings": {"calibrated": "required"}, "pass_rate": 0.0}
    run = await a_run(make_run, source=str(tmp_path / "promptfooconfig.yaml"), **more)
    place = place_of(run.meta)
    place.write_bytes(data)
    with pytest.raises(UsageError, match=r"calibration\.json"):
        look_at_files_beside(run.meta.source)
    lines = " ".join(line.strip() for line in judged_or_damaged(run, ["p"], 300))
    assert "not corrected: " in lines
    assert "calibration.json" in lines
    assert verdict_of(run) == "undecided"
    for write in (write_markdown, write_junit):
        out = io.StringIO()
        write(run, out)
        assert "not corrected: " in out.getvalue()
    place.unlink()
    look_at_files_beside(run.meta.source)
