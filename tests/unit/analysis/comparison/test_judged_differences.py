"""The difference between two columns that a judge judged, as people would have found it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields
from tests.runs import Make, result
from tests.unit.render.test_judge_trust import Verdict, judge_call, judged, label

from evenhand.analysis.comparison.judged_differences import JudgedRun, on_cases_of_both
from evenhand.analysis.trust.calibration import calibrate
from evenhand.core.run import TrialResult
from evenhand.core.score import Scale
from evenhand.core.variant import Variant
from evenhand.render.comparing import compare
from evenhand.render.comparison import judged_line
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import add_draw, add_metric_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

TWO = (Variant(0, "old", "m"), Variant(1, "new", "m"))


def people_old(i: int) -> bool:
    """What people find of the old prompt: 60 of 100 pass."""
    return i % 10 < 6


def people_new(i: int) -> bool:
    """And of the new one: 80 of 100, all of the old one's among them."""
    return i % 10 < 8


def kind(people: Verdict) -> Verdict:
    """A judge that passes half of what people fail."""
    return lambda i: people(i) or i % 2 == 0


async def two_columns(make: Make, n: int = 200) -> RunFile:
    """Each case under both prompts, judged by a kind judge."""
    trials = [
        judged(v * n + i, ok=kind(people)(i), variant=v, case=f"case {i}")
        for v, people in enumerate((people_old, people_new))
        for i in range(n)
    ]
    return await make(trials, TWO, planned=2 * n, calls=[judge_call()])


def label_cases(run: RunFile, old: range, new: range, n: int = 200) -> RunFile:
    """Labels these cases of the two columns, as if they had been drawn; the run as it is then."""
    places = [*old, *(n + i for i in new)]
    add_draw(run.path, 1, ["prose"], 2 * n, places)
    verdicts = [people_old(i) for i in old] + [people_new(i) for i in new]
    labels = [
        (place, "prose", "pass" if passed else "fail")
        for place, passed in zip(places, verdicts, strict=True)
    ]
    add_metric_labels(run.path, "ann", labels)  # type: ignore[arg-type]
    return RunFile.open(run.path)


async def test_cases_of_one_run_alone_are_no_part_of_a_judged_difference(make_run: Make):
    """The same answers, of the easy cases and of all: no points by the judge, and no difference by people."""

    def outputs(cases: list[int]) -> list[TrialResult]:
        return [judged(n, ok=kind(people_old)(i), case=f"case {i}") for n, i in enumerate(cases)]

    easy = [i for i in range(200) if i % 10 < 8]
    runs: list[RunFile] = []
    for cases in ([*range(200)], easy):
        run = await make_run(outputs(cases), TWO[:1], planned=len(cases), calls=[judge_call()])
        add_draw(run.path, 1, ["prose"], len(cases), range(len(cases)))
        labels = [
            (place, "prose", "pass" if people_old(i) else "fail") for place, i in enumerate(cases)
        ]
        add_metric_labels(run.path, "ann", labels)  # type: ignore[arg-type]
        runs.append(RunFile.open(run.path))
    comparison = compare(runs[0].path, runs[1].path)
    (one,) = comparison.judged
    assert one.first.corrected is not None
    assert one.second.corrected is not None
    assert one.second.raw.value - one.first.raw.value > 0.05, "what the two rates differ by"
    assert (one.raw, one.alone, one.corrected, one.paired) == (0.0, 40, None, 0)
    assert "prose: 0 points by the judge · not corrected: only one of the two has 40 cases" in str(
        comparison
    )
    # Also of a metric that isn't compared itself.
    with RunFile.open(runs[0].path) as first, RunFile.open(runs[1].path) as second:
        whole = with_fields(one, raw=1.0)
        assert on_cases_of_both(whole, JudgedRun(first), JudgedRun(second)).raw == 0


async def test_trials_in_error_are_said_to_be_no_part_of_a_judged_difference(make_run: Make):
    """They may have come out either way; the judge's rates are of what it judged."""
    trials = [
        judged(v * 20 + i, ok=i % 2 == 0, variant=v, case=f"case {i}")
        for v in (0, 1)
        for i in range(20)
    ]
    broken = [result(20 + i, ok=None, variant=1, case=f"case {i}") for i in range(5)]
    run = await make_run(
        [*trials[:20], *broken, *trials[25:]], TWO, planned=40, calls=[judge_call()]
    )
    text = str(compare(f"{run.path}:old", f"{run.path}:new", metric="prose"))
    assert "0 points by the judge · not checked against people · without 5 trials in error" in text


async def test_without_labels_a_judged_difference_is_not_checked_against_people(make_run: Make):
    """In words and in JSON; a run without a judge has no such line."""
    run = await two_columns(make_run)
    comparison = compare(f"{run.path}:old", f"{run.path}:new")
    (one,) = comparison.judged
    assert one.corrected is None
    assert "+10 points by the judge · not checked against people" in str(comparison)
    assert judged_line(with_fields(one, several=True), "old").startswith("old · prose: ")
    document = json.loads(json.dumps(comparison.document()))["judged"]
    assert document == [
        {
            "metric": "prose",
            "columns": ["old", "new"],
            "raw": pytest.approx(0.1),
            "corrected": None,
            "labels": [0, 0],
            "split": [0, 0],
            "paired": 0,
            "mean": None,
            "calibration": ["missing", "missing"],
        }
    ]


async def test_cases_labelled_in_both_columns_are_paired(make_run: Make):
    """Which is more precise than two rates of the same labels; the true difference is within both intervals."""
    run = label_cases(await two_columns(make_run), range(60), range(60))
    (paired,) = compare(f"{run.path}:old", f"{run.path}:new").judged
    apart = label_cases(await two_columns(make_run), range(60), range(100, 160))
    (subtracted,) = compare(f"{apart.path}:old", f"{apart.path}:new").judged
    assert (paired.paired, subtracted.paired) == (60, 0)
    for each in (paired, subtracted):
        assert each.corrected is not None
        assert each.corrected.low <= 0.2 <= each.corrected.high
    assert paired.corrected is not None
    assert subtracted.corrected is not None
    width, wider = (e.high - e.low for e in (paired.corrected, subtracted.corrected))
    assert width < wider
    assert "60 and 60 labels, 60 cases labelled in both" in judged_line(paired)


@pytest.mark.parametrize(("cases", "paired"), [(50, 50), (49, 0)])
async def test_fewer_than_fifty_cases_labelled_in_both_columns_are_not_paired(
    make_run: Make, cases: int, paired: int
):
    """Both columns have 60 labels either way."""
    run = label_cases(await two_columns(make_run), range(60), range(60 - cases, 120 - cases))
    (one,) = compare(f"{run.path}:old", f"{run.path}:new").judged
    assert one.corrected is not None
    assert one.paired == paired


async def test_repeats_of_cases_are_not_paired(make_run: Make):
    """A case has several verdicts then, and which of them belongs to which is not known."""
    trials = [
        replace(
            judged(v * 200 + i, ok=kind(people)(i), variant=v, case=f"case {i % 100}"),
            repeat=i // 100,
        )
        for v, people in enumerate((people_old, people_new))
        for i in range(200)
    ]
    run = await make_run(trials, TWO, planned=400, calls=[judge_call()], repeats=2)
    run = label_cases(run, range(60), range(60))
    (one,) = compare(f"{run.path}:old", f"{run.path}:new").judged
    assert one.corrected is not None
    assert one.paired == 0


async def test_a_metric_that_two_judges_share_has_no_judged_difference(make_run: Make):
    """Nobody knows which of the two rates is meant."""
    run = await two_columns(make_run)
    assert len(compare(f"{run.path}:old", f"{run.path}:new").judged) == 1
    trials = [
        replace(trial, outcomes=(outcome, replace(outcome, metadata=other)))
        for trial in run.trials()
        for outcome in trial.outcomes
        for other in [{**outcome.metadata, "judge": "judge-2"}]
    ]
    shared = await make_run(trials, TWO, planned=400, calls=[judge_call()])
    assert compare(f"{shared.path}:old", f"{shared.path}:new").judged == ()


@pytest.mark.parametrize(("scale", "same"), [((1.0, 5.0), True), ((1.0, 10.0), False)])
async def test_means_are_subtracted_on_one_scale_only(make_run: Make, scale: Scale, same: bool):
    """Second minus first, each as people would have given it; 4 of 5 and 4 of 10 have no difference."""
    before = await scored_run(make_run, (1.0, 5.0), 0)
    after = await scored_run(make_run, scale, 1)
    (one,) = compare(str(before.path), str(after.path)).judged
    assert one.first.mean is not None
    assert one.second.mean is not None
    first, second = one.first.mean.corrected, one.second.mean.corrected
    assert first is not None
    assert second is not None
    assert second.value > first.value
    expected = pytest.approx(second.value - first.value) if same else None
    assert (one.mean and one.mean.value) == expected


async def scored_run(make: Make, scale: Scale, more: int) -> RunFile:
    """200 outputs with scores from 2 to 4, of which people scored 60, as the judge did or by so much more."""
    trials = [judged(i, ok=True) for i in range(200)]
    trials = [
        replace(
            trial,
            outcomes=(replace(trial.outcomes[0], score=float(2 + trial.index % 3), scale=scale),),
        )
        for trial in trials
    ]
    run = await make(trials, TWO[:1], planned=200, calls=[judge_call()])
    add_draw(run.path, 1, ["prose"], 200, range(60))
    add_metric_labels(run.path, "ann", [(i, "prose", "pass") for i in range(60)])
    append_labels(
        run.path,
        [NewLabel(i, "score", float(2 + i % 3 + more), "ann", blind=True) for i in range(60)],
    )
    return RunFile.open(run.path)


async def test_a_difference_that_only_the_judge_sees_is_pointed_out(make_run: Make):
    """It likes the new prompt's style; people find both alike."""
    n = 200
    trials = [
        judged(v * n + i, ok=i % 10 < (6 if v == 0 else 9), variant=v, case=f"case {i}")
        for v in (0, 1)
        for i in range(n)
    ]
    run = await make_run(trials, TWO, planned=2 * n, calls=[judge_call()])
    run = label(run, lambda place: place % 10 < 6, size=120)
    assert calibrate(run).judges[0].corrected is not None
    comparison = compare(f"{run.path}:old", f"{run.path}:new", metric="prose")
    assert comparison.verdict == "better"
    assert "people's labels don't yet" in str(comparison)
    assert compare(f"{run.path}:old", f"{run.path}:new", metric="passed").judged == ()


async def test_a_difference_of_few_labels_says_that_they_are_few(make_run: Make):
    """As a run's own report does; with labels enough there is nothing to say."""
    for labels, few in ((10, True), (100, False)):
        run = label_cases(await two_columns(make_run), range(labels), range(labels))
        (each,) = compare(f"{run.path}:old", f"{run.path}:new").judged
        assert "corrected" in judged_line(each)
        line = judged_line(each)
        assert ("too few labels: see `evenhand calibrate`" in line) is few
        # What is not to be relied on doesn't come first.
        assert (line.index("by the judge") < line.index("corrected")) is few
