"""Means and their intervals, as tables show them."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from tests.runs import Make, result

from evenhand.analysis.comparison.comparison_sides import Column
from evenhand.analysis.filters.where import narrow
from evenhand.analysis.summaries.rates import Mean, known_scale, mean_cell, mean_of, rates, repeats
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.words import interval, seconds
from evenhand.render.comparing import compare
from evenhand.render.console import show
from evenhand.render.document import document
from evenhand.render.markdown import write_markdown
from evenhand.render.notebook import html
from evenhand.stats.tallies import Tally, rate_of
from evenhand.wings.viewer.head import head


def test_a_mean_of_few_cases_has_an_interval_that_nobody_knows():
    """Of two cases t makes 0.75 ±3.18: a question mark says as much. Neither do five equal ones say ±0.00."""
    assert mean_of([(0.5, 1, 0), (1.0, 1, 0)]) == Mean(0.75, None, None, 2)
    assert mean_cell(mean_of([(0.5, 1, 0), (1.0, 1, 0)])) == "0.75 ±?"
    assert mean_cell(mean_of([(0.5, 1, 0)] * 5)) == "0.50 ±?"
    assert mean_cell(mean_of([(0.5, 1, 0)] * 4 + [(0.6, 1, 0)])) == "0.52 ±0.06"


def test_the_interval_of_a_mean_on_a_known_scale_stays_on_it():
    """Eight ratings of 5, one of them 4.67: not 4.96 ±0.10, which reaches beyond 5."""
    ratings = [(5.0, 1, 0)] * 7 + [(4.67, 1, 0)]
    assert mean_cell(mean_of(ratings, (1, 5))) == "4.96 [3.72–5.00]"
    assert mean_cell(mean_of([(1.0, 1, 0)] * 8, (0, 1))) == "1.00 [0.68–1.00]"


def test_a_trial_in_error_may_have_had_any_score_of_the_scale():
    """The interval reaches from where it would have the lowest to where it would have the highest."""
    scored = [(3.0, 1, 0), (4.0, 1, 0), (5.0, 1, 0)] * 4
    low, high = (mean_of([*scored, (end, 1, 0)], (1, 5)) for end in (1.0, 5.0))
    broken = mean_of([*scored, (0.0, 0, 1)], (1, 5))
    assert broken is not None
    assert low is not None
    assert high is not None
    assert (broken.value, broken.low, broken.high) == (4, low.low, high.high)


def test_a_mean_that_errors_leave_open_is_a_range_as_a_rate_is():
    """One case of two is in error: a point would be the mean of the other one alone."""
    one = mean_of([(1.0, 1, 0), (0.0, 0, 1)], (0, 1))
    assert one is not None
    assert one.ends == (0.5, 1.0)
    assert mean_cell(one) == "0.50–1.00 [0.09–1.00]"
    sure = mean_of([(1.0, 1, 0), (0.0, 0, 0)], (0, 1))
    assert sure is not None
    assert sure.ends is None
    # Of an unknown scale it may have had anything that a case has; of one case nobody knows what that is.
    words = [(float(n), 1, 0) for n in (90, 100, 110, 104, 96)]
    assert mean_cell(mean_of([*words, (0.0, 0, 1)])).startswith("98.33–101.67 [")
    assert mean_cell(mean_of([(7.0, 1, 0), (0.0, 0, 1)]), unknown="") == "7.00 ±?"


async def test_a_mean_that_errors_leave_open_is_no_number_in_the_document(make_run: Make):
    """Neither is one of which nobody knows how far off it is."""
    run = await make_run([result(0), result(1, ok=None)])
    assert document(run)["rates"][0]["score"] | {"low": 0, "high": 0} == {
        "mean": None, "least": 0.5, "most": 1.0, "low": 0, "high": 0,
    }  # fmt: skip
    outcome = Outcome("words", "pass", 7.0)
    scaled = [result(0, score=7.0, outcomes=(outcome,)), result(1, ok=None)]
    mean = document(await make_run(scaled))["rates"][0]["score"]
    assert (mean["mean"], mean["least"], mean["most"]) == (None, None, None)


@pytest.mark.parametrize(
    ("declared", "least", "most", "scale"),
    [
        ((1, 5), 1, 5, (1, 5)),
        (None, 0.2, 1, (0, 1)),
        (None, 0.2, 1.1, None),
        ((1, 5), 0, 4, (0, 5)),
        ((1, 5), 1, 6, None),
    ],
)
def test_a_scale_is_what_scorers_say_or_that_of_shares(declared, least, most, scale):
    """Values off what was said, and off the scale from 0 to 1, are on one that nobody knows."""
    assert known_scale(declared, least, most) == scale


def test_a_mean_of_no_cases_is_a_dash():
    """Nothing was measured."""
    assert mean_cell(mean_of([])) == "–"


def test_repeats_of_a_case_do_not_narrow_the_interval():
    """Five repeats of five cases reach as far as the five cases do."""
    once = [(0.0, 1, 0), (1.0, 1, 0), (0.0, 1, 0), (1.0, 1, 0), (1.0, 1, 0)]
    often = [(5 * total, 5, 0) for total, _, _ in once]
    for scale in (None, (0, 1)):
        assert mean_of(often, scale) == mean_of(once, scale)


def test_latencies_have_their_unit_on_both_sides():
    """A mean of seconds is read as one."""
    cases = [(0.1, 1, 0), (0.2, 1, 0), (0.3, 1, 0), (0.2, 1, 0), (0.2, 1, 0)]
    assert mean_cell(mean_of(cases), seconds) == "200 ms ±88 ms"
    assert mean_cell(mean_of(cases[:2]), seconds, "") == "150 ms"


async def test_no_interval_of_seconds_reaches_below_0(make_run: Make):
    """One slow answer among nine quick ones; the upper end, and `±`, stay as they were."""
    trials = [result(i, latency_s=30.0 if i == 3 else 0.1) for i in range(10)]
    read = document(await make_run(trials))
    latency = read["rates"][0]["latency_s"]
    assert latency["mean"] == pytest.approx(3.09)
    assert latency["low"] == 0
    assert latency["high"] == pytest.approx(9.85, abs=0.01)
    cases = [(trial.latency_s or 0.0, 1, 0) for trial in trials]
    assert mean_cell(mean_of(cases, floor=0.0)) == mean_cell(mean_of(cases))


TWO = (Variant(0, "plain", "m"), Variant(1, "strict", "m"))


async def test_every_reader_tells_the_same_rate(make_run: Make):
    """Terminal, Markdown, HTML, JSON, comparison and the viewer, of repeats that are unequal and errors among them."""
    tallies = {"a": (3, 0, 0), "b": (1, 0, 0), "c": (0, 1, 0), "d": (0, 1, 2), "e": (1, 0, 1)}
    trials = [
        result(0, case=case, repeat=r, ok=ok, variant=v)
        for v in range(2)
        for case, counts in tallies.items()
        for r, ok in enumerate([True] * counts[0] + [False] * counts[1] + [None] * counts[2])
    ]
    trials = [replace(trial, index=i) for i, trial in enumerate(trials)]
    run = await make_run(trials, TWO, repeats=3)
    share = rate_of([Tally(*counts) for counts in tallies.values()])
    assert share is not None
    assert share[:2] == pytest.approx((2.5 / 5, (3 + 2 / 3) / 5))
    reach = interval(share.low, share.high)
    out = io.StringIO()
    show(run, out)
    assert out.getvalue().count(f"5/10  50–73 %  [{reach}]") == 2
    out = io.StringIO()
    write_markdown(run, out)
    assert out.getvalue().count(f"| 5/10 | 50–73 % | {reach} |") == 2
    assert html(run).count("<td>50–73 %</td>") == 2
    for row in document(run)["rates"]:
        assert (row["rate_least"], row["rate_most"], row["low"], row["high"]) == share
    (found,) = compare(Column(run, 0), Column(run, 1), metric="passed").results
    assert found.first_range == found.second_range == pytest.approx(share[:2])
    for column in head(run).columns:
        assert column.rate is not None
        assert (column.rate.least, column.rate.most, column.rate.low, column.rate.high) == share


async def test_per_trial_and_per_case_are_the_same_number(make_run: Make):
    """One case that was asked nine times more often than the others is one case still."""
    trials = [result(i, case="often", repeat=i, ok=True) for i in range(9)]
    trials += [result(9 + i, case=f"c{i}", ok=False) for i in range(3)]
    run = await make_run(trials, repeats=9)
    (rate,) = rates(run)
    assert (rate.passed, rate.trials, str(rate)) == (9, 12, "25 %")
    out = io.StringIO()
    show(run, out)
    assert "9 of 12 passed (25 %, " in out.getvalue()


async def test_trials_that_were_chosen_by_what_came_of_them_say_nothing_of_repeats(
    make_run: Make,
):
    """Of those that failed no case ever passes; in the whole run half of them waver."""
    trials = [
        result(2 * i + repeat, case=f"c{i}", repeat=repeat, ok=bool(i % 2) or not repeat)
        for i in range(10)
        for repeat in range(2)
    ]
    run = await make_run(trials, repeats=2)
    (whole,), (some,), (chosen,) = (
        repeats(run),
        repeats(narrow(run, "case:c2")),
        repeats(narrow(run, "-status:error")),
    )
    assert (len(whole.flaky), len(whole.tries)) == (5, 2)
    assert repeats(run, each_k=False)[0].tries == whole.tries[1:]
    assert (len(some.flaky), len(some.tries)) == (1, 2)
    assert (chosen.flaky, chosen.tries) == ((), ())
