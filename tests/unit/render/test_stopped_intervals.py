"""Intervals of a run that stopped as soon as it was decided allow for having looked after every case."""

from __future__ import annotations

from random import Random

import pytest
from tests.runs import Make, result

from evenhand.analysis.summaries.classification import classified
from evenhand.analysis.summaries.decisions import Decisions
from evenhand.analysis.summaries.preferences import preferences
from evenhand.analysis.summaries.rates import allowing_for_looks, rates, repeats, scores
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.stats.sequential import share_sequence
from evenhand.stats.tallies import Share
from evenhand.wings.viewer.history import measures

DECIDED = {"verdict": "passed", "columns": []}
EVAL = (Variant(0, "triage", "echo", eval="triage"),)


def _labelled(index: int, answered: str, expected: str = "right") -> TrialResult:
    labels = {"expected_label": expected, "answered_label": answered}
    ok = answered == expected
    outcome = Outcome("label", "pass" if ok else "fail", float(ok), metadata=labels)
    return result(index, ok=ok, outcomes=(outcome,))


def _preferred(index: int, came_to: str) -> TrialResult:
    seen = {"orders": 2, "consistent": True, "winner": "output" if came_to == "won" else "other"}
    ok = came_to == "won"
    outcome = Outcome("prefers", "pass" if ok else "fail", float(ok), metadata=seen)
    return result(index, ok=ok, outcomes=(outcome,))


async def test_what_repeats_say_of_a_stopped_run_allows_for_having_looked(make_run: Make):
    """pass@k and pass^k have the interval of the pass rate, and not that of a planned number of cases."""
    trials = [
        result(2 * i + repeat, case=f"c{i}", repeat=repeat, ok=i % 4 != 0)
        for i in range(20)
        for repeat in range(2)
    ]
    finished = await make_run(trials, repeats=2)
    stopped = await make_run(trials, repeats=2, status="decided", decided=DECIDED)
    (planned,), (looked,) = repeats(finished), repeats(stopped)
    for before, after in zip(planned.tries, looked.tries, strict=True):
        for mine, theirs in ((before.once, after.once), (before.always, after.always)):
            assert (theirs.least, theirs.most) == (mine.least, mine.most)
            assert (theirs.low, theirs.high) == share_sequence(15, 5)
            assert theirs.low < mine.low
            assert theirs.high > mine.high


async def test_precision_and_recall_of_a_stopped_run_allow_for_having_looked(make_run: Make):
    """Each label has as many cases as count for it."""
    trials = [_labelled(i, "right" if i % 4 else "wrong") for i in range(20)]
    trials += [_labelled(20 + i, "wrong", "wrong") for i in range(20)]
    (one,) = classified(await make_run(trials, status="decided", decided=DECIDED, variants=EVAL))
    recall, precision = one.recall["right"].share, one.precision["wrong"].share
    assert recall is not None
    assert precision is not None
    assert (recall.low, recall.high) == share_sequence(15, 5)
    assert (precision.low, precision.high) == share_sequence(20, 5)


async def test_wins_of_a_stopped_run_allow_for_having_looked(make_run: Make):
    """So do losses and ties."""
    trials = [_preferred(i, "won" if i % 4 else "lost") for i in range(20)]
    (one,) = preferences(await make_run(trials, status="decided", decided=DECIDED))
    share = one.won.share
    assert share is not None
    assert (share.low, share.high) == share_sequence(15, 5)


async def test_the_mean_of_a_metric_of_a_stopped_run_has_no_interval_over_runs(make_run: Make):
    """The mean score has none either: no interval of a mean allows for having looked."""
    trials = [result(i, named_scores={"clarity": i % 3 / 2}) for i in range(20)]
    (column,) = measures(await make_run(trials, status="decided", decided=DECIDED))
    mean = column.means["~clarity"]
    assert mean is not None
    assert (mean.low, mean.high) == (None, None)


def test_a_share_that_is_watched_until_it_looks_bad_is_covered():
    """Stopping at the worst moment, the interval of a plain share misses more than one time in ten."""
    random, missed, plainly = Random(20261124), 0, 0
    for _ in range(60):
        stopped, plain = Decisions(stopped=True), Decisions()
        out = out_plainly = False
        for i in range(60):
            hit = random.random() < 0.8
            stopped.add(str(i), hit)
            plain.add(str(i), hit)
            if i % 3 == 2:
                a, b = stopped.share, plain.share
                assert a is not None
                assert b is not None
                out |= not a.low <= 0.8 <= a.high
                out_plainly |= not b.low <= 0.8 <= b.high
        missed += out
        plainly += out_plainly
    assert missed <= 6, "seed 20261124"
    assert plainly > 6, "seed 20261124"


def test_looks_are_allowed_for_at_both_ends_that_errors_leave():
    """The lower limit is that of the lowest rate, the upper one of the highest."""
    share = allowing_for_looks(Share(0.5, 0.9, 0.4, 0.95), 20)
    assert (share.least, share.most) == (0.5, 0.9)
    assert share.low == share_sequence(10, 10)[0]
    assert share.high == share_sequence(18, 2)[1]


async def test_the_pass_rate_of_each_column_of_a_stopped_run_allows_for_having_looked(
    make_run: Make,
):
    """What was measured is what it was: only the interval is wider."""
    trials = [
        result(2 * i + variant, case=f"c{i}", variant=variant, ok=i % 4 != variant)
        for i in range(20)
        for variant in range(2)
    ]
    columns = (Variant(0, "p", "m"), Variant(1, "p", "n"))
    stopped = await make_run(trials, columns, status="decided", decided=DECIDED)
    for rate in rates(stopped):
        assert rate.share is not None
        assert rate.share.value == 0.75
        assert (rate.share.low, rate.share.high) == share_sequence(15, 5)


SAMPLES: dict[str, dict[str, object]] = {
    "run": {"drawn": {"sample": 20}},
    "gate": {"gate": {"sample": 20, "stops": False}},
}


@pytest.mark.parametrize("kind", SAMPLES)
async def test_what_was_drawn_beforehand_has_the_intervals_of_a_run_of_as_many_cases(
    make_run: Make, kind: str
):
    """Nobody looked and stopped: rate, repeats and means are as sure as those of a run that was planned so."""
    trials = [
        result(2 * i + repeat, case=f"c{i}", repeat=repeat, ok=i % 4 != 0)
        for i in range(20)
        for repeat in range(2)
    ]
    planned = await make_run(trials, repeats=2)
    settings = SAMPLES[kind]
    drawn = await make_run(trials, repeats=2, status="decided", decided=DECIDED, settings=settings)
    assert rates(drawn) == rates(planned)
    assert repeats(drawn) == repeats(planned)
    assert measures(drawn) == measures(planned)
    (mean,) = scores(drawn)
    assert mean is not None
    assert mean.low is not None


async def test_a_sample_that_may_stop_before_its_end_allows_for_having_looked(make_run: Make):
    """`--sample 400 --stop-when-decided` looks at what was drawn."""
    trials = [result(i, ok=i % 4 != 0) for i in range(20)]
    settings = {"gate": {"sample": 20, "stops": True}}
    run = await make_run(trials, status="decided", decided=DECIDED, settings=settings)
    (rate,) = rates(run)
    assert rate.share is not None
    assert (rate.share.low, rate.share.high) == share_sequence(15, 5)
