"""A judge's own numbers have the intervals that tables have."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.runs import Make, result

from evenhand.analysis.summaries.rates import rates
from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.judgements.judged import Item
from evenhand.analysis.trust.judgements.raw_rates import raw_mean, raw_rate
from evenhand.analysis.trust.labels.drawing import draw, drawn_items
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.core.score import Outcome
from evenhand.stats.sequential import share_sequence
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.runfile import RunFile

SEED = 20_261_125
DECIDED = {"verdict": "passed", "columns": []}
CALL = (
    CallStart(0, "key", 0, "judge", "judge", b'{"body": {}, "url": "http://there"}', None),
    CallEnd(b"{}", "provider", 0.1, 1, 1, 0.0, "judge-1"),
)


def _judged(index: int, case: str, repeat: int, ok: bool) -> TrialResult:
    """A trial of which a judge's verdict decides."""
    seen = {"judge": "judge-1", "prompt": "llm-rubric/1"}
    outcome = Outcome("polite", "pass" if ok else "fail", float(ok), metric="polite", metadata=seen)
    return replace(result(index, ok=ok, case=case, repeat=repeat), outcomes=(outcome,))


async def _run(make: Make, cases: int, repeats: int, **more: object) -> RunFile:
    """Three of four cases pass each time, the others never do."""
    trials = [
        _judged(repeats * i + repeat, f"c{i}", repeat, bool(i % 4))
        for i in range(cases)
        for repeat in range(repeats)
    ]
    return await make(trials, repeats=repeats, calls=[CALL], **more)  # type: ignore[arg-type]


async def test_with_repeats_a_judged_rate_is_as_sure_as_the_rate_of_the_same_trials(make_run: Make):
    """Five repeats of twelve cases are twelve cases, in the table and in the lines about judges."""
    run = await _run(make_run, 12, 5)
    (rate,), (one,) = rates(run), judged_rates(run)
    assert rate.share is not None
    assert one.items == 60
    assert one.raw == (rate.share.value, rate.share.low, rate.share.high)
    (judge,) = calibrate(run).judges
    assert judge.raw == one.raw


async def test_a_judged_rate_of_a_stopped_run_allows_for_having_looked(make_run: Make):
    """As the rate in the table does."""
    run = await _run(make_run, 20, 1, status="decided", decided=DECIDED)
    (one,) = judged_rates(run)
    assert one.raw == (0.75, *share_sequence(15, 5))


async def test_a_judged_rate_covers_the_true_one_with_repeats(make_run: Make):
    """Nine of ten cases always pass, one never does. Had repeats been cases, it would miss in 60 of 200 runs."""
    meta = (await _run(make_run, 4, 1)).meta
    random, missed = Random(SEED), 0
    for _ in range(200):
        passes = [random.random() < 0.9 for _ in range(20)]
        items = [
            Item(index=5 * i + j, case=f"c{i}", variant=0, passed=ok)
            for i, ok in enumerate(passes)
            for j in range(5)
        ]
        _, low, high = raw_rate(meta, items)
        missed += not low <= 0.9 <= high
    assert missed <= 10


async def test_labels_of_repeats_are_not_taken_for_labels_of_cases_without_a_word(make_run: Make):
    """Without repeats, or with one label for each case, there is nothing to say."""
    notes: list[list[str]] = []
    for cases, repeats in ((12, 5), (60, 1)):
        run = await _run(make_run, cases, repeats)
        items = drawn_items(run, [draw(run, 40, seed=1)])
        add_metric_labels(run.path, "ann", [(one.trial.index, one.metric, "pass") for one in items])
        with RunFile.open(run.path) as labelled:
            (judge,) = calibrate(labelled).judges
        notes.append([note for note in judge.warnings if "repeats" in note])
    (note,), none = notes
    assert note.startswith("28 labels for further repeats of a case: the more alike repeats are")
    assert none == []


def test_a_judges_mean_counts_each_case_once():
    """Ten repeats of a case say no more of other cases than one does, and weigh no more."""
    once = [
        Item(index=i, case=f"c{i}", variant=0, passed=True, score=float(i % 5 + 1))
        for i in range(10)
    ]
    often = [replace(item, index=10 * item.index + j) for item in once for j in range(10)]
    assert raw_mean(often, (1, 5)) == pytest.approx(raw_mean(once, (1, 5)))
    uneven = [*once, *(replace(once[0], index=100 + j) for j in range(50))]
    assert raw_mean(uneven, (1, 5)) == pytest.approx(raw_mean(once, (1, 5)))
    assert raw_mean([], (1, 5)) == (1, 1, 5)
