"""How many cases, repeats and labels a question takes."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from tests.unit.report.conftest import Make, make_run, result
from tests.unit.report.test_judge_trust import a_run, label

from evenhand.core.variant import Variant
from evenhand.report.trust.power import JudgeWorth, Pilot, Power, pilot_of
from evenhand.stats.power import cases_needed, labels_needed

__all__ = ["make_run"]

TWO = (Variant(0, "p", "m"), Variant(1, "q", "m"))


def test_more_cases_are_needed_for_smaller_differences_and_where_more_cases_change():
    """And for a difference of five points of cases that change by a fifth, as many as the published example says."""
    power = Power(Pilot(0.8, differing=0.2), 0.05, 0.05)
    assert power.cases == 626
    assert Power(Pilot(0.8, differing=0.2), 0.1, 0.05).cases < power.cases
    assert Power(Pilot(0.8, differing=0.4), 0.05, 0.05).cases > power.cases
    assert Power(Pilot(1.0), 0.05, 0.05).cases == math.ceil(cases_needed(0.05, 0.05))


def test_labels_fall_with_what_the_judge_replaces_and_rise_where_it_judged_few():
    """Not even all of them may be enough; the numbers are those of the formula's source."""
    assert [round(labels_needed(0.05, 0.7, rho2) or 0) for rho2 in (0, 0.2, 0.62)] == [
        323,
        258,
        123,
    ]
    few = labels_needed(0.05, 0.7, 0.62, 1000)
    assert few is not None
    assert 123 < few < 323
    assert labels_needed(0.05, 0.7, 0.62, 100) is None
    assert labels_needed(0.05, 1.0) == 0
    for wrong in ((0, 0.5), (0.1, 2), (0.1, 0.5, -1)):
        with pytest.raises(ValueError, match="ρ²"):
            labels_needed(*wrong)


async def test_a_pilot_says_how_columns_differ_and_how_repeats_vary(make_run: Make):
    """Three cases of ten change; of one case's four repeats half pass: with repeats, fewer cases are needed."""
    trials = [
        result(v * 10 + i, variant=v, case=f"c{i}", ok=(i < 7) if v == 0 else i >= 0)
        for v in (0, 1)
        for i in range(10)
    ]
    pilot = pilot_of(await make_run(trials, TWO, planned=20))
    assert (pilot.rate, pilot.differing, pilot.within, pilot.cases) == (
        pytest.approx(0.85),
        pytest.approx(0.3),
        None,
        10,
    )
    flaky = [
        result(i * 4 + k, case=f"c{i}", repeat=k, ok=(k < 2) if i == 0 else True)
        for i in range(10)
        for k in range(4)
    ]
    pilot = pilot_of(await make_run(flaky, TWO[:1], planned=40, repeats=4))
    assert pilot.within == pytest.approx((1 / 3) / 10)
    repeats = Power(pilot, 0.03, 0.05).repeats()
    assert [k for k, _ in repeats] == [1, 2, 3, 5, 10]
    cases = [cases for _, cases in repeats]
    assert cases == sorted(cases, reverse=True)
    assert cases[-1] < cases[0]
    assert "with 10 repeats" in "\n".join(Power(pilot, 0.03, 0.05).lines())


async def test_a_judges_labels_are_counted_with_what_it_replaces(make_run: Make):
    """Before anybody labels, as without a judge; nothing is divided by nothing in an empty run."""
    run = await a_run(make_run)
    (judge,) = pilot_of(run).judges
    assert (judge.metric, judge.rho2, judge.judged) == ("prose", None, 200)
    assert "30 labels tell how good it is" in "\n".join(Power(pilot_of(run), 0.05, 0.1).lines())
    labelled = Power(pilot_of(label(run, lambda i: i % 10 < 6)), 0.05, 0.1)
    (judge,) = labelled.pilot.judges
    assert judge.rho2 is not None
    with_judge, alone = labelled.labels(judge)
    assert with_judge is not None
    assert with_judge < alone
    assert "without it" in "\n".join(labelled.lines())
    small = Power(labelled.pilot, 0.05, 0.001)
    assert "judge more outputs" in "\n".join(small.lines())
    empty = Power(pilot_of(await make_run([result(0, ok=None)], TWO[:1])), 0.05, 0.05)
    assert list(empty.lines())
    json.dumps(empty.document())
    numbers = Power(Pilot(0.5, judges=[JudgeWorth("", 0.5, None, None)]), 0.1, 0.1)
    assert numbers.document()["labels"][0]["labels"] == 97


async def test_labels_are_counted_by_cases_where_these_are_repeated(make_run: Make):
    """200 outputs of 40 cases: more labels than cases are not to be had, and it says what to do."""
    run = await a_run(
        make_run, 200, change=lambda t: replace(t, case=f"case {t.index // 5}", repeat=t.index % 5)
    )
    once, repeated = pilot_of(await a_run(make_run, 200)), pilot_of(run)
    (first,), (second,) = once.judges, repeated.judges
    assert (first.cases, first.repeated) == (200, False)
    assert (second.judged, second.cases, second.repeated) == (200, 40, True)
    assert Power(once, 0.05, 0.1).labels(first)[0] == 81
    assert Power(repeated, 0.05, 0.1).labels(second)[0] is None
    text = "\n".join(Power(repeated, 0.05, 0.1).lines())
    assert "a label for each of 40 judged cases brings ±10 points: judge more cases" in text
    text = "\n".join(Power(repeated, 0.05, 0.2).lines())
    assert "21 labels, each of another case, bring ±20 points" in text
    assert Power(repeated, 0.05, 0.2).document()["labels"][0]["judged_cases"] == 40
    assert "each of another case" not in "\n".join(Power(once, 0.05, 0.2).lines())


def test_a_judge_that_passed_everything_may_not_pass_all_others():
    """A rate of 1 has no variance, and no labels would be needed: 6 of 6 are no such rate."""
    few = Power(Pilot(1.0, judges=[JudgeWorth("policy", 1.0, None, 6)]), 0.05, 0.05)
    assert few.labels(few.pilot.judges[0])[0] is None
    assert "not even a label for each of 6 judged outputs" in "\n".join(few.lines())
    many = Power(Pilot(1.0, judges=[JudgeWorth("policy", 1.0, None, 100)]), 0.05, 0.05)
    labels, alone = many.labels(many.pilot.judges[0])
    assert labels
    assert 0 < labels <= alone
