"""Draws that prefer some outputs: what is drawn, what is kept of it, and what its labels come to."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import ONE, a_run, judge_call

from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.calibration import WEIGHTED, calibrate
from evenhand.analysis.trust.calibration_file import place_of, read_calibration, write_calibration
from evenhand.analysis.trust.labels.drawing import draw, drawn_items
from evenhand.analysis.trust.labels.failure_codes import failure_codes
from evenhand.analysis.trust.labels.sheet_rows import write_items
from evenhand.analysis.trust.labels.uneven_drawing import draw_by_stratum, draw_lines, draw_unsure
from evenhand.analysis.trust.selective import selective_verdicts
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.render.calibration_text import calibration_lines
from evenhand.stats.agreement import kappa
from evenhand.store.journal import Journal
from evenhand.store.labels.draw import Draw
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile


def unsure(trial: TrialResult) -> TrialResult:
    """Every fifth trial's judge is torn; the cases have topics and tags."""
    confidence = 0.1 if trial.index % 5 == 0 else 1.0
    (outcome,) = trial.outcomes
    judged = replace(outcome, metadata={**outcome.metadata, "confidence": confidence})
    topic = "rare" if trial.index % 10 == 0 else "common"
    metadata = {"topic": topic, "tags": ["a", topic]}
    return replace(trial, outcomes=(judged,), metadata=metadata)


def people(index: int) -> bool:
    """They agree with the judge, but for a third of what it is torn about."""
    return (index % 10 < 7) is not (index % 15 == 0)


def labelled(run: RunFile, places: tuple[int, ...], author: str = "ann") -> RunFile:
    """The run with people's verdicts on these trials."""
    labels = [(i, "prose", "pass" if people(i) else "fail") for i in places]
    add_metric_labels(run.path, author, labels)  # type: ignore[arg-type]
    return RunFile.open(run.path)


async def test_an_active_draw_prefers_what_the_judge_is_unsure_of_and_leaves_nothing_out(
    make_run: Make,
):
    """About twice as likely; what it was sure of has at least the uniform part; the same seed is the same draw."""
    run = await a_run(make_run, 200, change=unsure)
    drawn = draw_unsure(run, 60, seed=4)
    torn, sure = drawn.strata
    assert (drawn.design, len(drawn.places), len(set(drawn.places))) == ("active", 60, 60)
    assert set(torn.places) == set(range(0, 200, 5))
    assert torn.inclusion == torn.drawn / 40 == sum(i % 5 == 0 for i in drawn.places) / 40
    assert 1.6 < torn.inclusion / sure.inclusion < 2.4
    assert sure.inclusion >= 0.2 * 60 / 200
    with RunFile.open(run.path) as again:
        assert draw_unsure(again, 60, seed=4) == drawn
        assert len(again.draws()) == 1
    first, second, _ = draw_lines(drawn)
    assert first == "drawn: 60 of 200 outputs"
    assert "certainty is 0.10" in second


async def test_an_active_draw_of_a_judge_without_doubt_is_uniform(make_run: Make):
    """There is nothing to prefer; and it is the uniform draw of that seed."""
    run = await a_run(make_run, 50)
    drawn = draw_unsure(run, 10, seed=4)
    assert (drawn.design, drawn.strata) == ("uniform", ())
    with RunFile.open(run.path) as again:
        assert draw(again, 10, seed=4) == drawn


async def test_strata_get_equal_numbers_or_numbers_in_proportion(make_run: Make):
    """By a column, by tags, by variant; a column that nobody has is named, and one with too many values refused."""
    run = await a_run(make_run, 200, change=unsure)
    drawn = draw_by_stratum(run, 30, 1, "topic")
    assert [(s.name, s.drawn, len(s.places)) for s in drawn.strata] == [
        ("common", 27, 180),
        ("rare", 3, 20),
    ]
    with RunFile.open(run.path) as again:
        more = draw_by_stratum(again, 20, 1, "tags", equal=True)
        assert [(s.name, s.drawn) for s in more.strata] == [("a, common", 10), ("a, rare", 10)]
        assert more.strata[1].inclusion == 10 / 17
        assert not set(more.places) & set(drawn.places)
    with RunFile.open(run.path) as again:
        with pytest.raises(UsageError, match="no case has a column 'topics'") as caught:
            draw_by_stratum(again, 20, 2, "topics")
        assert "topic" in caught.value.hint
        with pytest.raises(UsageError, match="200 different values"):
            draw_by_stratum(again, 20, 2, "q")
        assert draw_by_stratum(again, 20, 2, "variant").by == "variant"


async def test_the_file_to_fill_in_has_each_outputs_own_inclusion(make_run: Make, tmp_path: Path):
    """The share of its stratum that was drawn, as in the run file."""
    run = await a_run(make_run, 200, change=unsure)
    drawn = draw_unsure(run, 60, seed=4)
    with RunFile.open(run.path) as again:
        write_items(again, list(drawn_items(again, [drawn])), tmp_path / "draw.csv")
    with (tmp_path / "draw.csv").open(encoding="utf-8", newline="") as file:
        found = {int(row["item"]): float(row["inclusion"]) for row in csv.DictReader(file)}
    torn, sure = (stratum.inclusion for stratum in drawn.strata)
    assert found == {place: torn if place % 5 == 0 else sure for place in drawn.places}


async def test_weighted_labels_give_the_rate_of_all_outputs(make_run: Make):
    """Unweighted, the torn ones would count double; what isn't honest for such a draw is left out, in words."""
    run = await a_run(make_run, 200, change=unsure)
    drawn = draw_unsure(run, 90, seed=4)
    run = labelled(labelled(run, drawn.places), drawn.places, author="bo")
    (judge,) = calibrate(run).judges
    truth = sum(map(people, range(200))) / 200
    assert judge.weighted is not None
    assert judge.corrected is not None
    assert judge.corrected.low < truth < judge.corrected.high
    torn, sure = drawn.strata
    wrong = sum(i % 15 == 0 for i in drawn.places if i % 5 == 0) / torn.drawn
    shares = judge.weighted.shares
    assert shares.missed + shares.excused == pytest.approx(wrong * 40 / 200, abs=0.01)
    assert judge.kappa != pytest.approx(kappa_of(drawn.places), abs=1e-6)
    assert (judge.people, judge.alternative) == (None, None)
    text = "\n".join(calibration_lines(calibrate(run)))
    assert WEIGHTED in text
    assert "agreement between people is left out" in text
    assert calibrate(run).document()["judges"][0]["weighted"] is True
    assert sure.drawn


def kappa_of(places: tuple[int, ...]) -> float:
    """κ of the drawn outputs, each counted once."""
    return kappa([(float(people(i)), float(i % 10 < 7)) for i in places]) or 0.0


async def test_labels_that_lean_are_refused_though_the_draw_is_not_uniform(make_run: Make):
    """Only what the judge passes was labelled: there is no corrected number."""
    run = await a_run(make_run, 200, change=unsure)
    drawn = draw_unsure(run, 90, seed=4)
    run = labelled(run, tuple(i for i in drawn.places if i % 10 < 7))
    (judge,) = calibrate(run).judges
    assert judge.verdict == "no verdict"
    assert "not a random draw" in judge.why
    assert judge.corrected is None


async def test_the_first_labels_of_an_active_draw_are_a_draw(make_run: Make):
    """Half of it, and each variant alone: weights follow what was labelled."""
    run = await a_run(make_run, 200, change=unsure)
    run = labelled(run, draw_unsure(run, 90, seed=4).places[:45])
    (judge,) = calibrate(run).judges
    assert judge.corrected is not None
    assert judge.corrected.low < sum(map(people, range(200))) / 200 < judge.corrected.high
    assert judge.verdicts.labels == 45


async def test_a_later_draw_of_another_kind_counts_with_the_first(make_run: Make):
    """Uniform, active and by stratum: all labels count, and an output's inclusion is that of its stratum in all."""
    run = await a_run(make_run, 200, change=unsure)
    places = list(draw(run, 30, seed=1).places)
    for how in (draw_unsure, lambda r, n, s: draw_by_stratum(r, n, s, "topic", equal=True)):
        with RunFile.open(run.path) as again:
            places += how(again, 20, 2).places
    assert len(set(places)) == 70
    run = labelled(run, tuple(places))
    (judge,) = calibrate(run).judges
    assert judge.verdicts.labels == 70
    assert judge.corrected is not None
    assert judge.corrected.low < sum(map(people, range(200))) / 200 < judge.corrected.high
    drawn, sizes = Counter(map(kind, places)), Counter(map(kind, range(200)))
    for item in drawn_items(run, run.draws()):
        own = kind(item.trial.index)
        assert item.inclusion == drawn[own] / sizes[own]


def kind(index: int) -> tuple[bool, bool]:
    """Torn or not, rare or not."""
    return index % 5 == 0, index % 10 == 0


async def test_what_needs_a_uniform_draw_uses_no_other_labels(make_run: Make):
    """Which verdicts can stand, and differences case by case: only labels before the first draw that prefers some."""
    run = await a_run(make_run, 200, change=unsure)
    first = draw(run, 30, seed=1).places
    with RunFile.open(run.path) as again:
        second = draw_unsure(again, 40, seed=2).places
    run = labelled(run, first + second)
    (decided,) = selective_verdicts(run, 0.1).values()
    assert decided.labels == 30
    assert "of a uniform draw" in decided.line()


async def test_a_calibration_file_keeps_the_weights_for_later_runs(make_run: Make, tmp_path: Path):
    """A run without labels of its own is corrected as the labelled one was, and is less sure: its strata are others."""
    run = await a_run(make_run, 200, change=unsure, source=str(tmp_path))
    run = labelled(run, draw_unsure(run, 90, seed=4).places)
    own = judged_rates(run)[0].corrected
    assert own is not None
    calibration = calibrate(run)
    write_calibration(calibration, place_of(run.meta))
    later = await a_run(make_run, 200, change=unsure, source=str(tmp_path))
    rate = judged_rates(later)[0].corrected
    assert rate is not None
    assert rate.value == pytest.approx(own.value, abs=0.01)
    assert rate.low < own.low < own.high < rate.high
    (judge,) = read_calibration(place_of(run.meta)).judges
    assert judge.variants[0].weighted is not None


async def test_failure_codes_are_weighted_too(make_run: Make):
    """A code that only torn outputs have is as rare as they are."""
    run = await a_run(make_run, 200, change=unsure)
    drawn = draw_unsure(run, 60, seed=4)
    run = labelled(run, drawn.places)
    torn = [i for i in drawn.places if i % 5 == 0]
    append_labels(run.path, [NewLabel(i, "code", "odd", "ann") for i in torn])
    with RunFile.open(run.path) as again:
        (code,) = failure_codes(again)
    assert code.share is not None
    assert code.share.value == pytest.approx(0.2)
    assert code.drawn / code.labelled > 0.25


async def resumed(run: RunFile, trials: Sequence[TrialResult]) -> RunFile:
    """The run with these trials as well."""
    journal = Journal.reopen(run.path)
    for trial in trials:
        await journal.settle(trial)
    await journal.finish("finished")
    return RunFile.open(run.path)


@pytest.mark.parametrize("how", ["uniform", "active", "equal"])
async def test_labels_say_nothing_of_what_was_judged_after_the_draw(make_run: Make, how: str):
    """As a run was resumed: none of it could be drawn. Of what there was, they say what labels of a draw say."""
    whole = list((await a_run(make_run, 200, change=unsure)).trials())
    asked = {"planned": 200, "status": "interrupted", "calls": [judge_call()]}
    run = await make_run(whole[:100], ONE, **asked)
    draws: dict[str, Callable[[RunFile], Draw]] = {
        "uniform": lambda r: draw(r, 50, 1),
        "active": lambda r: draw_unsure(r, 50, 1),
        "equal": lambda r: draw_by_stratum(r, 50, 1, "topic", equal=True),
    }
    run = labelled(run, draws[how](run).places)
    (before,) = calibrate(run).judges
    assert before.corrected is not None
    assert (WEIGHTED in before.warnings) is (how != "uniform")
    run = await resumed(run, whole[100:])
    (judge,) = calibrate(run).judges
    assert (judge.verdict, judge.corrected) == ("no verdict", None)
    assert "judged after the labels were drawn" in judge.why
    assert judged_rates(run)[0].corrected is None
    (decided,) = selective_verdicts(run, 0.3).values()
    assert decided.accepted == 0


async def test_a_draw_of_the_rest_makes_labels_of_an_unfinished_run_count_again(make_run: Make):
    """Each label counts by how likely its output was to be drawn: the first 100 were drawn from twice."""
    whole = list((await a_run(make_run, 200, change=unsure)).trials())
    run = await make_run(whole[:100], ONE, planned=200, status="interrupted")
    first = draw(run, 50, seed=1).places
    run = await resumed(run, whole[100:])
    second = draw(run, 60, seed=2).places
    run = labelled(run, first + second)
    (judge,) = calibrate(run).judges
    assert judge.corrected is not None
    assert judge.corrected.low < sum(map(people, range(200))) / 200 < judge.corrected.high
    assert WEIGHTED in judge.warnings
    early = sum(place < 100 for place in second)
    for item in drawn_items(run, run.draws()):
        share = (50 + early) / 100 if item.trial.index < 100 else (60 - early) / 100
        assert item.inclusion == share


async def test_an_unfinished_run_that_nobody_resumes_has_uniform_draws(make_run: Make):
    """All that there is could be drawn: also where some of it has no verdict of a judge."""
    whole = list((await a_run(make_run, 120, change=unsure)).trials())
    whole[3] = replace(whole[3], outcomes=())
    run = await make_run(whole[:100], ONE, planned=200, status="interrupted")
    places = draw(run, 50, seed=1).places
    run = labelled(run, places)
    assert [one.strata for one in run.draws()] == [()]
    (judge,) = calibrate(run).judges
    assert judge.corrected is not None
    assert WEIGHTED not in judge.warnings
