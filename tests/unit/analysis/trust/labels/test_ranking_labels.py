"""People's labels of compared pairs: drawn, moved through files, held beside the judge, and what they correct."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.runs import Make
from tests.unit.analysis.trust.test_standings import NAME, VARIANTS, broken, drawn, lines

from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import write_calibration
from evenhand.analysis.trust.labels.pair_drawing import (
    DrawnPair,
    draw_pairs,
    drawn_pairs,
    pairs_for,
    ranking_to_label,
)
from evenhand.analysis.trust.labels.sheet_rows import ranking_in, read_pair_labels, write_pairs
from evenhand.analysis.trust.ranking_corrections import standings
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.cli.label import label as label_command
from evenhand.core.errors import ConfigError, UsageError
from evenhand.core.run import AnswerDetails
from evenhand.core.score import Outcome
from evenhand.render.calibration_text import calibration_lines
from evenhand.render.document import document
from evenhand.render.judged_rates import judged_lines
from evenhand.store.journal import Journal
from evenhand.store.labels.draw import PairAnswer, unordered
from evenhand.store.labels.stored_draws import add_pair_labels, standing_pair_labels
from evenhand.store.runfile import RunFile

STRENGTHS = [0.7, 1.0, -1.7]


def reopened(run: RunFile) -> RunFile:
    """The run as it is by now."""
    return RunFile.open(run.path)


def drawn_of(run: RunFile, size: int, seed: int = 1) -> list[DrawnPair]:
    """A draw of pairs."""
    pairs = ranking_to_label(run, [])
    assert pairs is not None
    draw = draw_pairs(run, pairs, size, seed)
    return list(drawn_pairs(reopened(run), NAME, [draw]))


def label(
    run: RunFile,
    size: int,
    answer: Callable[[DrawnPair], PairAnswer | None],
    by: str = "ann",
) -> RunFile:
    """The run with labels of a draw; None leaves a pair out."""
    said = [(one.pair, NAME, answer(one)) for one in drawn_of(run, size)]
    add_pair_labels(run.path, by, [one for one in said if one[2] is not None])
    return reopened(run)


def better(order: Sequence[int]) -> Callable[[DrawnPair], PairAnswer]:
    """Somebody who prefers variants in this order, but in one case of five."""

    def answer(one: DrawnPair) -> PairAnswer:
        first = order.index(one.first.variant) < order.index(one.second.variant)
        usual = int(one.first.case[1:]) % 5 > 0
        return "first" if first is usual else "second"

    return answer


async def test_labels_of_pairs_say_nothing_of_what_was_compared_after_the_draw(make_run: Make):
    """As a run was resumed: none of it could be drawn."""
    trials = drawn(90, STRENGTHS)
    run = await make_run(trials[:180], VARIANTS[:3], planned=270, status="interrupted")
    run = label(run, 90, better([0, 1, 2]))
    (before,) = calibrate(run).rankings
    assert before.trust.corrected is not None
    journal = Journal.reopen(run.path)
    for trial in trials[180:]:
        await journal.settle(trial)
    await journal.finish("finished")
    run = reopened(run)
    (ranking,) = calibrate(run).rankings
    assert (ranking.trust.verdict, ranking.trust.corrected) == ("no verdict", None)
    assert "compared after the labels were drawn" in ranking.trust.why


async def test_a_draw_of_pairs_is_kept_with_its_seed_and_shows_either_output_first(make_run: Make):
    """The same draw twice is one; the next one takes others; every pair is as likely as any other."""
    run = await make_run(drawn(30, STRENGTHS), VARIANTS[:3])
    items = drawn_of(run, 40)
    assert [one.pair for one in drawn_of(run, 40)] == [one.pair for one in items]
    (draw,) = reopened(run).pair_draws()
    assert (draw.seed, draw.metric, draw.population) == (1, NAME, 90)
    assert {one.inclusion for one in items} == {40 / 90}
    assert 5 < sum(one.pair[0] < one.pair[1] for one in items) < 35
    more = drawn_of(reopened(run), 90, 2)
    assert len(more) == 50
    assert not {one.key for one in more} & {one.key for one in items}
    with pytest.raises(UsageError, match="drawn already"):
        drawn_of(reopened(run), 5, 3)
    with pytest.raises(UsageError, match="on its own"):
        ranking_to_label(run, [NAME, "other"])


async def test_a_second_person_gets_a_fifth_once_more(make_run: Make):
    """So it can be seen how far people agree."""
    run = label(await make_run(drawn(20, STRENGTHS), VARIANTS[:3]), 30, better([1, 0, 2]))
    items = list(drawn_pairs(run, NAME, run.pair_draws()))
    labels = standing_pair_labels(run.pair_labels())
    assert len(pairs_for("bob", items, labels)) == 6
    assert len(pairs_for("ann", items, labels)) == 30


@pytest.mark.parametrize("name", ["draw.csv", "draw.jsonl"])
async def test_labels_go_through_files(make_run: Make, tmp_path: Path, name: str):
    """All that is wrong with a file is said at once, and nothing in it tells the judge's verdict."""
    run = await make_run(drawn(10, STRENGTHS), VARIANTS[:3])
    items, path = drawn_of(run, 12), tmp_path / name
    write_pairs(items, path)
    assert "judge-1" not in path.read_text("utf-8")
    pairs = ranking_to_label(run, [NAME])
    assert pairs is not None
    with pytest.raises(UsageError, match="has no labels"):
        read_pair_labels(run, pairs, path)
    rows = rows_of(path)
    assert [float(str(row["inclusion"])) for row in rows] == [0.4] * 12
    for row, verdict in zip(rows, ["first", "RIGHT", "tie", ""], strict=False):
        row["verdict"] = verdict
    save(rows, path)
    assert read_pair_labels(run, pairs, path) == [
        (items[0].pair, NAME, "first"),
        (items[1].pair, NAME, "second"),
        (items[2].pair, NAME, "tie"),
    ]
    rows[0]["verdict"], rows[1]["item"], rows[2]["case"] = "better", 999, "other"
    rows[3] |= {"verdict": "tie", "metric": "another"}
    rows[4] |= {"verdict": "tie", "item": rows[4]["other"]}
    save(rows, path)
    with pytest.raises(ConfigError) as caught:
        read_pair_labels(run, pairs, path)
    assert len(caught.value.problems) == 5


@pytest.mark.parametrize("name", ["draw.csv", "draw.jsonl"])
async def test_a_file_of_pairs_is_read_as_one_in_a_run_that_also_judges_outputs(
    make_run: Make, tmp_path: Path, name: str
):
    """Without --metric, filled in or not; a file of another ranking is refused in its own words."""
    polite = Outcome("polite", "pass", 1.0, metadata={"judge": "judge-1"})
    trials = [replace(one, outcomes=(*one.outcomes, polite)) for one in drawn(10, STRENGTHS)]
    run, path = await make_run(trials, VARIANTS[:3]), tmp_path / name
    assert ranking_to_label(run, []) is None
    pairs = ranking_to_label(run, [NAME])
    assert pairs is not None
    draw = draw_pairs(run, pairs, 4, 1)
    write_pairs(list(drawn_pairs(reopened(run), NAME, [draw])), path)
    with pytest.raises(UsageError) as unfilled:
        labelled(run, path)
    assert "first, second or tie" in unfilled.value.hint
    with pytest.raises(UsageError, match=r"pairs of the ranking .* not of 'polite'"):
        ranking_in(run, ["polite"], path)
    rows = rows_of(path)
    save([row | {"verdict": "tie"} for row in rows], path)
    assert labelled(run, path) == 0
    assert len(list(reopened(run).pair_labels())) == 4
    save([row | {"metric": "another"} for row in rows], path)
    with pytest.raises(UsageError, match="has no such ranking"):
        labelled(run, path)


def labelled(run: RunFile, path: Path) -> int | None:
    """`evenhand label RUN --from FILE`."""
    return label_command.main(
        [str(run.path), "--from", str(path), "--by", "ann"], standalone_mode=False
    )


def rows_of(path: Path) -> list[dict[str, object]]:
    """A file's rows."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [dict(row) for row in csv.DictReader(file)]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def save(rows: Sequence[dict[str, object]], path: Path) -> None:
    """The rows as a file again."""
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)


async def test_labels_correct_the_ranking_and_raw_stays_beside_it(make_run: Make):
    """People prefer another variant than the judge does. The same in words and for programs."""
    run = label(await make_run(drawn(60, STRENGTHS), VARIANTS[:3]), 90, better([0, 1, 2]))
    (one,) = standings(run)
    assert [standing.variant for standing in one.ranked] == [0, 1, 2]
    assert one.correction.verdict == "usable with labels"
    best = one.ranked[0].corrected
    assert best is not None
    assert (best.least, best.most) != (one.ranked[0].chance.least, one.ranked[0].chance.most)
    text = lines(run)
    assert " corrected · raw " in text[1]
    assert any(line.endswith(" ties; corrected by 90 labels, today") for line in text)
    (row,) = document(run)["rankings"]
    assert (row["labels"], row["calibration"]) == (90, "fresh")
    assert row["ranked"][0]["corrected"]["low"] == best.low
    (judged,) = calibrate(run).document()["rankings"]
    assert (judged["labels"], judged["pairs"], judged["random_draw"]["ok"]) == (90, 180, True)
    assert 0 < judged["agreement"]["value"] < 1
    assert judged["first_wins"]["rate"] > 0


@pytest.mark.parametrize(
    ("size", "answer", "why"),
    [
        (20, better([1, 0, 2]), "20 labels are too few: it takes 30 or more"),
        (60, lambda _: "tie", "people preferred neither output of any labelled pair"),
        (90, better([2, 0, 1]), "not shown to be better than chance"),
        (
            150,
            lambda one: better([1, 0, 2])(one) if {one.first.variant, one.second.variant} != {0, 1} else None,
            "not a random draw",
        ),
    ],
)  # fmt: skip
async def test_labels_that_do_not_suffice_correct_nothing(
    make_run: Make, size: int, answer: Callable[[DrawnPair], PairAnswer | None], why: str
):
    """And it is said why."""
    run = label(await make_run(drawn(60, [0.1, 2.5, -2.5]), VARIANTS[:3]), size, answer)
    (judge,) = calibrate(run).rankings
    assert why in judge.trust.why
    assert judge.trust.corrected is None
    assert standings(run)[0].correction.corrected is None
    assert any(why in line for line in calibration_lines(calibrate(run)))
    assert "see `evenhand calibrate`" in "".join(lines(run))


async def test_labels_outside_a_draw_and_split_ones_count_for_nothing(make_run: Make):
    """They are kept, and each kind is counted."""
    run = label(await make_run(drawn(30, STRENGTHS), VARIANTS[:3]), 40, better([1, 0, 2]))
    (draw,) = run.pair_draws()
    known = set(map(unordered, draw.pairs))
    outside = next(pair for pair in [(i, i + 1) for i in range(0, 90, 3)] if pair not in known)
    add_pair_labels(run.path, "ann", [(outside, NAME, "first")])
    first = run.pair_labels()[0]
    other: PairAnswer = "second" if first.answer == "first" else "first"
    add_pair_labels(run.path, "bob", [(first.pair, NAME, other)])
    add_pair_labels(run.path, "ann", [(draw.pairs[-1], NAME, None)])
    (judge,) = calibrate(reopened(run)).rankings
    assert (len(judge.labels.pairs), judge.labels.unused, judge.labels.split) == (38, 1, 1)
    assert len(judge.warnings) == 3


async def test_a_later_run_is_corrected_by_the_file_until_something_changes(
    make_run: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The calibration is bound to the judge, the criteria, the system, the data and the rule."""
    monkeypatch.setattr(
        "evenhand.analysis.trust.ranking_corrections.place_of", lambda _: tmp_path / "c.json"
    )
    trials = drawn(60, STRENGTHS)
    run = await make_run(trials, VARIANTS[:3])
    before = standings(label(run, 90, better([0, 1, 2])))[0]
    write_calibration(calibrate(reopened(run)), tmp_path / "c.json")
    later = await make_run(trials, VARIANTS[:3])
    (one,) = standings(later)
    assert (one.correction.status, one.correction.labels) == ("fresh", 90)
    for mine, then in zip(one.ranked, before.ranked, strict=True):
        assert mine.corrected is not None
        assert then.corrected is not None
        assert mine.corrected.value == pytest.approx(then.corrected.value)
        assert mine.corrected.low == pytest.approx(then.corrected.low)
    (stale,) = standings(await make_run(trials[:-3], VARIANTS[:3]))
    assert (stale.correction.status, stale.correction.changed) == ("stale", ("data",))
    assert stale.correction.corrected is None


@pytest.mark.parametrize(
    ("strengths", "changed"),
    [(STRENGTHS, ()), ([0.7, 0.8, -1.5], ()), ([-1.7, 1.0, 0.7], ("judge's preferences",))],
)
async def test_a_judge_that_leans_otherwise_than_it_did_corrects_no_ranking(
    make_run: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    strengths: Sequence[float],
    changed: tuple[str, ...],
):
    """Under its old name and with its old prompt. Answers that only fell otherwise by chance change nothing."""
    monkeypatch.setattr(
        "evenhand.analysis.trust.ranking_corrections.place_of", lambda _: tmp_path / "c.json"
    )
    run = label(await make_run(drawn(60, STRENGTHS), VARIANTS[:3]), 90, better([0, 1, 2]))
    write_calibration(calibrate(run), tmp_path / "c.json")
    (later,) = standings(await make_run(drawn(60, strengths), VARIANTS[:3]))
    assert later.correction.changed == changed
    assert (later.correction.corrected is None, later.correction.trusted) == (
        bool(changed),
        not changed,
    )


async def test_of_variants_that_are_one_system_the_name_says_which_is_which(
    make_run: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """All three are sent the same. Under other names nobody can tell, so the calibration does not hold."""
    monkeypatch.setattr(
        "evenhand.analysis.trust.ranking_corrections.place_of", lambda _: tmp_path / "c.json"
    )
    sent = {"prompt": "Say it.", "answer": AnswerDetails(model="m-1")}
    trials = [replace(trial, **sent) for trial in drawn(60, STRENGTHS)]
    run = label(await make_run(trials, VARIANTS[:3]), 90, better([0, 1, 2]))
    write_calibration(calibrate(run), tmp_path / "c.json")
    (same,) = standings(await make_run(trials, VARIANTS[:3]))
    assert same.correction.status == "fresh"
    assert same.correction.corrected is not None
    renamed = [replace(variant, prompt=f"new {variant.prompt}") for variant in VARIANTS[:3]]
    (other,) = standings(await make_run(trials, renamed))
    assert (other.correction.status, other.correction.changed) == ("stale", ("system",))


async def test_people_who_disagree_are_said_and_count_in_how_far_people_agree(
    make_run: Make, tmp_path: Path
):
    """Ten of sixty pairs are left out: the number says so, also in a later run, and people agree no better for it."""

    def always(one: DrawnPair) -> PairAnswer:
        order = [1, 0, 2]
        ahead = order.index(one.first.variant) < order.index(one.second.variant)
        return "first" if ahead else "second"

    more: dict[str, Any] = {"source": str(tmp_path / "promptfooconfig.yaml")}
    run = label(await make_run(drawn(60, STRENGTHS), VARIANTS[:3], **more), 60, always)
    pairs = drawn_of(run, 60)
    by_ann = {one.key: always(one) for one in pairs}
    turned: dict[PairAnswer, PairAnswer] = {"first": "second", "second": "first"}
    again = [
        (one.pair, NAME, turned[by_ann[one.key]] if place < 10 else by_ann[one.key])
        for place, one in enumerate(pairs[:20])
    ]
    add_pair_labels(run.path, "bob", again)
    calibration = calibrate(reopened(run))
    (one,) = calibration.rankings
    assert (len(one.labels.pairs), one.labels.split, one.labels.unused) == (50, 10, 0)
    assert one.labels.shared == 20
    assert one.labels.people is not None
    assert one.labels.people < 0.2
    assert "10 labelled pairs left out: people are split on them" in one.warnings
    write_calibration(calibration, tmp_path / "calibration.json")
    later = await make_run(drawn(60, STRENGTHS), VARIANTS[:3], **more)
    for each in (reopened(run), later):
        (found,) = standings(each)
        words = "corrected by 50 labels, today, without 10 pairs on which people are split"
        assert found.correction.words == words


async def test_pairs_of_one_cluster_are_no_more_than_one_case(make_run: Make):
    """Sixty cases of six documents: intervals are wider, and labels of six say nothing of others."""
    together = [replace(one, cluster="doc") for one in VARIANTS[:3]]
    trials = [replace(t, vars={"doc": f"d{int(t.case[1:]) % 6}"}) for t in drawn(60, STRENGTHS)]
    (alone,) = standings(await make_run(trials, VARIANTS[:3]))
    run = await make_run(trials, together)
    (one,) = standings(run)
    assert (one.cases, alone.cases) == (60, 60)
    for mine, theirs in zip(one.ranked, alone.ranked, strict=True):
        assert mine.chance.least == theirs.chance.least
        assert mine.chance.high - mine.chance.low != theirs.chance.high - theirs.chance.low
    labelled = label(run, 60, better([1, 0, 2]))
    (ranking,) = calibrate(labelled).rankings
    assert ranking.trust.verdict == "no verdict"
    assert ranking.trust.why.startswith(
        "the 60 labels are of 6 cases or clusters, which are too few"
    )
    (found,) = standings(labelled)
    assert found.correction.corrected is None
    many = [replace(t, vars={"doc": f"d{int(t.case[1:]) % 20}"}) for t in drawn(60, STRENGTHS)]
    (ranking,) = calibrate(label(await make_run(many, together), 60, better([1, 0, 2]))).rankings
    (single,) = calibrate(label(await make_run(many, VARIANTS[:3]), 60, better([1, 0, 2]))).rankings
    assert ranking.agreement is not None
    assert single.agreement is not None
    assert ranking.agreement.low < single.agreement.low


async def test_missing_answers_leave_the_corrected_chances_open(make_run: Make):
    """They may have been wins or losses for people, too: the interval holds for both."""
    trials = drawn(40, [0.5, 2.5, -2.5])
    for trial in trials[:12:3]:
        (pair, *_) = trial.outcomes[0].metadata["ranked"]
        pair["orders"] = [broken(0), broken(pair["variant"])]
    run = label(await make_run(trials, VARIANTS[:3]), 100, better([1, 0, 2]))
    (one,) = standings(run)
    assert one.errors == 8
    first = next(standing for standing in one.ranked if standing.variant == 0).corrected
    assert first is not None
    assert first.low < first.least < first.most < first.high


async def test_where_calibration_is_required_a_ranking_without_one_gives_no_verdict(
    make_run: Make, tmp_path: Path
):
    """The run that people labelled has one, and so have later ones until something changes; a failure stays one."""
    trials = drawn(60, STRENGTHS)
    more: dict[str, Any] = {
        "source": str(tmp_path / "promptfooconfig.yaml"),
        "settings": {"calibrated": "required"},
    }
    run = await make_run(trials, VARIANTS[:3], **more)
    assert verdict_of(run) == "undecided"
    told = judged_lines(run, ["a", "b", "c"], 200)
    assert told == [
        "  judged metrics: calibration is required, so there is no verdict without it",
        f"    {NAME} by judge-1: not checked against people",
    ]
    accepted = await make_run(trials, VARIANTS[:3], settings={"calibrated": "accepted"})
    assert verdict_of(accepted) == "passed"
    assert "accepted without calibration" in judged_lines(accepted, ["a", "b", "c"], 200)[0]
    labelled = label(run, 90, better([1, 0, 2]))
    assert verdict_of(labelled) == "passed"
    assert judged_lines(labelled, ["a", "b", "c"], 200) == []
    write_calibration(calibrate(labelled), tmp_path / "calibration.json")
    assert verdict_of(await make_run(trials, VARIANTS[:3], **more)) == "passed"
    fewer = await make_run(trials[:-3], VARIANTS[:3], **more)
    assert verdict_of(fewer) == "undecided"
    text = " ".join(map(str.strip, judged_lines(fewer, ["a", "b", "c"], 200)))
    assert "calibration is stale: other cases" in text
    assert "to calibrate again: evenhand label" in text
    chance = label(
        await make_run(trials, VARIANTS[:3], **more),
        90,
        lambda one: "first" if one.first.index % 2 else "second",
    )
    assert verdict_of(chance) == "undecided", "do not use"
    following = [line for line in calibration_lines(calibrate(chance)) if "  next " in line]
    assert following[0].startswith("  next       label more pairs, or change the judge or the")
