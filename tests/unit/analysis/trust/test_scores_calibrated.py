"""Scores of a judge beside people's: in a calibration, beside rates, and in later runs."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import a_run, judge_call, judged

from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, write_calibration
from evenhand.analysis.trust.judged_document import judged_rows
from evenhand.analysis.trust.labels.drawing import draw
from evenhand.analysis.trust.scores_calibrated import SCORES_ARE_NO_DRAW
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.render.calibration_text import calibration_lines
from evenhand.render.comparing import compare
from evenhand.render.judged_rates import judged_lines
from evenhand.render.markdown import write_markdown
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile


def judges(index: int) -> int:
    """The judge's score: people's and one more, where there is room, but for every seventh."""
    return min(5, peoples(index) + (index % 7 > 0))


def peoples(index: int) -> int:
    """People's score: 1 to 5."""
    return (1, 3, 4, 4, 5, 2, 3, 5)[index % 8]


def scored(trial: TrialResult) -> TrialResult:
    """The judge's verdict has a score."""
    (outcome,) = trial.outcomes
    score = float(judges(trial.index))
    return replace(trial, outcomes=(replace(outcome, score=score, scale=(1.0, 5.0), at_least=3.0),))


async def a_scored_run(make: Make, **more: object) -> RunFile:
    """200 outputs with scores."""
    return await a_run(make, 200, lambda i: judges(i) >= 3, scored, **more)


def label(run: RunFile, places: tuple[int, ...], scores: bool | slice = True) -> RunFile:
    """People's verdicts on these, and scores."""
    add_metric_labels(
        run.path, "ann", [(i, "prose", "pass" if peoples(i) >= 3 else "fail") for i in places]
    )
    kept = places if scores is True else places[scores] if scores else ()
    append_labels(
        run.path, [NewLabel(i, "score", float(peoples(i)), "ann", blind=True) for i in kept]
    )
    return RunFile.open(run.path)


TRUTH = sum(map(peoples, range(200))) / 200


async def test_a_mean_is_corrected_as_people_would_have_given_it(make_run: Make):
    """The judge's own is off; the numbers are in the lines, in JSON and in Markdown."""
    run = await a_scored_run(make_run)
    run = label(run, draw(run, 60, seed=1).places)
    (judge,) = calibrate(run).judges
    scores = judge.scores
    assert scores is not None
    assert scores.corrected is not None
    assert scores.corrected.low < TRUTH < scores.corrected.high < scores.raw.low
    assert scores.kappa is not None
    assert scores.kappa < 0.9
    assert scores.tau is not None
    assert scores.tau > 0.85
    text = "\n".join(calibration_lines(calibrate(run)))
    assert "60 outputs with people's scores, put on the scale from 1 to 5" in text
    assert "κ with quadratic weights" in text
    half = (scores.corrected.high - scores.corrected.low) / 2
    assert f"prose: 60 scores give ±{half:.2f}; " in text
    (row,) = judged_rows(run)
    assert row.mean is not None
    assert row.mean.corrected == scores.corrected._asdict()
    assert row.mean.labels == 60
    shown = " ".join(judged_lines(run, ["p"], 400))
    assert f"mean {scores.corrected.value:.2f} [" in shown
    assert "corrected, 60 scores · raw mean 4." in shown
    out = io.StringIO()
    write_markdown(run, out)
    assert "60 scores · raw mean" in out.getvalue()


async def test_a_judge_that_tells_nothing_leaves_a_mean_to_peoples_scores(make_run: Make):
    """A judge that gives everything a 4 tells nothing; people who all say 3 still leave room."""

    def all_fours(trial: TrialResult) -> TrialResult:
        (outcome,) = trial.outcomes
        four = 4.0 if trial.index else 3.0
        return replace(trial, outcomes=(replace(outcome, score=four, scale=(1.0, 5.0)),))

    run = await a_run(make_run, 200, change=all_fours)
    places = draw(run, 60, seed=1).places
    add_metric_labels(run.path, "ann", [(i, "prose", "pass") for i in places])
    append_labels(run.path, [NewLabel(i, "score", 3.0, "ann", blind=True) for i in places])
    with RunFile.open(run.path) as again:
        (judge,) = calibrate(again).judges
    assert judge.scores is not None
    assert judge.scores.corrected is not None
    assert judge.scores.corrected.low < 3 < judge.scores.corrected.high
    assert judge.scores.corrected.value == pytest.approx(3)
    assert judge.scores.tau is None


async def test_scores_on_another_scale_are_put_on_the_judges(make_run: Make):
    """1 is its lowest, 5 its highest."""

    def from_0_to_1(trial: TrialResult) -> TrialResult:
        (outcome,) = trial.outcomes
        score = (peoples(trial.index) - 1) / 4
        return replace(trial, outcomes=(replace(outcome, score=score, scale=(0.0, 1.0)),))

    run = await a_run(make_run, 200, change=from_0_to_1)
    run = label(run, draw(run, 60, seed=1).places)
    (judge,) = calibrate(run).judges
    assert judge.scores is not None
    assert judge.scores.corrected is not None
    assert judge.scores.kappa == pytest.approx(1)
    assert judge.scores.corrected.value == pytest.approx((TRUTH - 1) / 4)


async def test_only_hidden_scores_of_drawn_outputs_count(make_run: Make):
    """Scores outside the draw, or given with the judge's in sight, are left out; verdicts alone are no scores."""
    run = await a_scored_run(make_run)
    places = draw(run, 40, seed=1).places
    run = label(run, places, scores=False)
    outside = [i for i in range(200) if i not in places]
    append_labels(run.path, [NewLabel(i, "score", 1.0, "ann", blind=True) for i in outside])
    append_labels(run.path, [NewLabel(i, "score", 1.0, "ann") for i in places])
    with RunFile.open(run.path) as again:
        (judge,) = calibrate(again).judges
    assert judge.scores is None
    assert judge.verdicts.labels == 40


async def test_scores_of_outputs_that_were_picked_are_no_draw(make_run: Make):
    """Only what the judge passes was scored: there is no corrected mean, and it says why."""
    run = await a_scored_run(make_run)
    places = draw(run, 100, seed=1).places
    run = label(run, places, scores=False)
    picked = [i for i in places if judges(i) >= 3]
    append_labels(run.path, [NewLabel(i, "score", 4.0, "ann", blind=True) for i in picked])
    with RunFile.open(run.path) as again:
        (judge,) = calibrate(again).judges
        assert judge.scores is not None
        assert judge.scores.corrected is None
        assert SCORES_ARE_NO_DRAW in judge.warnings
        assert judged_rates(again)[0].mean is None
    assert judge.corrected is not None


async def test_a_score_counts_for_no_metric_where_two_were_labelled_at_once(make_run: Make):
    """Nobody knows which it is about; in a draw for one metric it counts for that."""

    def twice(trial: TrialResult) -> TrialResult:
        (outcome,) = scored(trial).outcomes
        return replace(trial, outcomes=(outcome, replace(outcome, metric="tone", name="tone")))

    run = await a_run(make_run, 200, change=twice)
    both = draw(run, 40, seed=1).places
    append_labels(run.path, [NewLabel(i, "score", 4.0, "ann", blind=True) for i in both])
    with RunFile.open(run.path) as again:
        assert [judge.scores for judge in calibrate(again).judges] == [None, None]
        one = draw(again, 40, 2, ["tone"]).places
    append_labels(
        run.path, [NewLabel(i, "score", float(peoples(i)), "ann", blind=True) for i in one]
    )
    with RunFile.open(run.path) as again:
        prose, tone = calibrate(again).judges
    assert prose.scores is None
    assert tone.scores is not None
    assert tone.scores.labels == 40


async def test_a_later_run_has_its_mean_corrected_until_something_changes(
    make_run: Make, tmp_path: Path
):
    """By `calibration.json`; another prompt of the judge, and the mean is not shown corrected."""
    run = await a_scored_run(make_run, source=str(tmp_path))
    run = label(run, draw(run, 60, seed=1).places)
    write_calibration(calibrate(run), place_of(run.meta))
    later = await a_scored_run(make_run, source=str(tmp_path))
    (rate,) = judged_rates(later)
    assert rate.mean is not None
    assert rate.mean.corrected is not None
    assert rate.mean.corrected.low < TRUTH < rate.mean.corrected.high
    # The same outputs have the same numbers, whether they are labelled or not.
    (own,) = judged_rates(run)
    assert own.corrected == rate.corrected
    assert own.mean is not None
    assert own.mean.corrected == pytest.approx(rate.mean.corrected)
    other = await a_scored_run(make_run, source=str(tmp_path), body={"temperature": 1})
    (rate,) = judged_rates(other)
    assert rate.status == "stale"
    assert rate.mean is None


@pytest.mark.parametrize(
    ("more", "changed"), [(0.0, ()), (0.1, ()), (1.0, ("judge's mean score",))]
)
async def test_a_judge_whose_scores_rose_corrects_nothing_though_its_pass_rate_is_as_before(
    make_run: Make, tmp_path: Path, more: float, changed: tuple[str, ...]
):
    """A model behind its old name gives all that passes a point more, as far as there is room."""

    def tiring(index: int) -> int:
        """A judge that sees fewer fives than people."""
        return min(4, peoples(index))

    def low(trial: TrialResult) -> TrialResult:
        (outcome,) = scored(trial).outcomes
        return replace(trial, outcomes=(replace(outcome, score=float(tiring(trial.index))),))

    def lifted(trial: TrialResult) -> TrialResult:
        (outcome,) = low(trial).outcomes
        score = outcome.score or 0.0
        return replace(trial, outcomes=(replace(outcome, score=score + more * (score >= 3)),))

    def passes(index: int) -> bool:
        return tiring(index) >= 3

    place = str(tmp_path)
    run = await a_run(make_run, 200, passes, low, source=place)
    run = label(run, draw(run, 60, seed=1).places)
    write_calibration(calibrate(run), place_of(run.meta))
    (later,) = judged_rates(await a_run(make_run, 200, passes, lifted, source=place))
    assert later.changed == changed
    assert (later.mean is None, later.corrected is None) == (bool(changed),) * 2


async def test_each_variant_has_a_mean_of_its_own(make_run: Make):
    """People's scores of one say nothing of the other."""
    trials = [
        scored(judged(i, ok=judges(i) >= 3, variant=i % 2, case=f"case {i // 2}"))
        for i in range(200)
    ]
    variants = (Variant(0, "a", "m"), Variant(1, "b", "m"))
    run = await make_run(trials, variants, planned=200, calls=[judge_call()])
    run = label(run, draw(run, 120, seed=1).places)
    for rate in judged_rates(run):
        assert rate.mean is not None
        assert rate.mean.corrected is not None
        truth = sum(peoples(i) for i in range(rate.variant, 200, 2)) / 100
        assert rate.mean.corrected.low < truth < rate.mean.corrected.high
    assert sum(rate.mean.labels for rate in judged_rates(run) if rate.mean) == 120


async def test_the_difference_of_two_corrected_means_is_peoples(make_run: Make):
    """The judge gives nearly everything a point more; what it says of the difference is not what people say."""
    trials = [
        scored(judged(i, ok=judges(i) >= 3, variant=i % 2, case=f"case {i // 2}"))
        for i in range(200)
    ]
    variants = (Variant(0, "a", "m"), Variant(1, "b", "m"))
    run = await make_run(trials, variants, planned=200, calls=[judge_call()])
    run = label(run, draw(run, 120, seed=1).places)
    comparison = compare(f"{run.path}:a", f"{run.path}:b")
    (one,) = comparison.judged
    assert one.mean is not None
    means = [sum(peoples(i) for i in range(v, 200, 2)) / 100 for v in (0, 1)]
    assert one.mean.low < means[1] - means[0] < one.mean.high
    text = " ".join(str(comparison).split())
    labels = [rate.mean.labels for rate in judged_rates(run) if rate.mean]
    assert f"corrected, {labels[0]} and {labels[1]} scores · +" in text
    assert comparison.document()["judged"][0]["mean"]["value"] == one.mean.value
