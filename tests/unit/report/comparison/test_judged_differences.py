"""The difference between two columns that a judge judged, as people would have found it."""

from __future__ import annotations

import json

import pytest
from tests.unit.report.conftest import Make, make_run
from tests.unit.report.test_judge_trust import Verdict, judge_call, judged, label

from evenhand.core.variant import Variant
from evenhand.report.comparison.comparing import compare
from evenhand.report.trust.calibration import calibrate
from evenhand.store.draws import add_draw, add_metric_labels
from evenhand.store.runfile import RunFile

__all__ = ["make_run"]

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


async def test_without_labels_a_judged_difference_is_not_checked_against_people(make_run: Make):
    """In words and in JSON; a run without a judge has no such line."""
    run = await two_columns(make_run)
    comparison = compare(f"{run.path}:old", f"{run.path}:new")
    (one,) = comparison.judged
    assert one.corrected is None
    assert "+10 points by the judge · not checked against people" in str(comparison)
    document = json.loads(json.dumps(comparison.document()))["judged"]
    assert document == [
        {
            "metric": "prose",
            "columns": ["old", "new"],
            "raw": pytest.approx(0.1),
            "corrected": None,
            "labels": [0, 0],
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
    assert "60 and 60 labels, 60 cases labelled in both" in paired.line()


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
