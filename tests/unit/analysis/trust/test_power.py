"""How many cases, repeats and labels a question takes."""

from __future__ import annotations

import json
import math
import re
import runpy
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest
from tests.runs import Make, result
from tests.unit.render.test_judge_trust import a_run, label

from evenhand.analysis.comparison.variants import sentences
from evenhand.analysis.gates.gate_rule import STEADY, VARYING
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.trust.power import JudgeWorth, Pilot, Power, pilot_of
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.core.variant import Variant
from evenhand.render.power_text import lines
from evenhand.stats.correction import Verdicts, corrected_rate
from evenhand.stats.interval import wilson
from evenhand.stats.paired_difference import Differences, verdict
from evenhand.stats.power import cases_needed, cases_needed_exact, labels_needed

_BENCH = runpy.run_path(str(Path(__file__).resolve().parents[4] / "bench/power.py"))
TWO = (Variant(0, "p", "m"), Variant(1, "q", "m"))


def test_more_cases_are_needed_for_smaller_differences_and_where_more_cases_change():
    """And for a difference of five points of cases that change by a fifth, about as many as the published example."""
    power = Power(Pilot(rate=0.8, differing=0.2), 0.05, 0.05)
    assert math.ceil(cases_needed(0.05, 0.2)) == 626
    assert 626 < power.cases < 660
    assert Power(Pilot(rate=0.8, differing=0.2), 0.1, 0.05).cases < power.cases
    assert Power(Pilot(rate=0.8, differing=0.4), 0.05, 0.05).cases > power.cases
    assert Power(Pilot(rate=1.0), 0.05, 0.05).cases == cases_needed_exact(0.05, 0.05)


def test_more_repeats_never_ask_for_more_cases():
    """Not even where repeats vary so little that Student's quantile takes more than they save."""
    for within in (0.0, 1e-4, 0.01, 0.1):
        for cases in (10, 50, 200):
            pilot = Pilot(rate=0.8, differing=0.2, within=within, cases=cases)
            ways = [cases for _, cases in Power(pilot, 0.05, 0.05).repeats()]
            assert ways == sorted(ways, reverse=True), (within, cases)


async def test_columns_of_different_cases_are_not_mixed(make_run: Make):
    """Cases and repeats are those of one column, the one with most cases."""
    columns = (Variant(0, "p", "m"), Variant(1, "q", "m"))
    few = [result(i, ok=i > 0, variant=0, case="a", repeat=i) for i in range(5)]
    many = [result(5 + i, ok=True, variant=1, case=f"b{i}") for i in range(6)]
    pilot = pilot_of(await make_run([*few, *many], columns))
    assert (pilot.cases, pilot.repeats) == (6, 1.0)


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
    for wrong in ((0, 0.5), (0.1, 2), (0.1, 0.5, -1)):
        with pytest.raises(ValueError, match="ρ²"):
            labels_needed(*wrong)


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize("half_width", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("rate", [0.0, 0.5, 0.97, 1.0])
def test_so_many_labels_give_what_is_promised_even_if_all_agree(half_width: float, rate: float):
    """Those of people alone, and with a judge that errs on none of them, give an interval that is no wider."""
    alone = math.ceil(labels_needed(half_width, rate) or 0)
    low, high = wilson(rate * alone, alone)
    assert high - low <= 2 * half_width
    labels = math.ceil(labels_needed(half_width, rate, 1.0) or 0)
    passed = round(rate * labels)
    verdicts = Verdicts(passed, 0, 0, labels - passed, round(rate * 10**6), 10**6)
    estimate = corrected_rate(verdicts)
    assert estimate is not None
    # Labels are whole: those that pass are not quite as many as the rate says.
    assert estimate.high - estimate.low <= 2.1 * half_width
    assert labels <= alone


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
    assert "with 10 repeats" in "\n".join(lines(Power(pilot, 0.03, 0.05)))


async def test_a_judges_labels_are_counted_with_what_it_replaces(make_run: Make):
    """Before anybody labels, as without a judge; nothing is divided by nothing in an empty run."""
    run = await a_run(make_run)
    (judge,) = pilot_of(run).judges
    assert (judge.metric, judge.rho2, judge.judged) == ("prose", None, 200)
    assert "30 labels tell how good it is" in "\n".join(lines(Power(pilot_of(run), 0.05, 0.1)))
    labelled = Power(pilot_of(label(run, lambda i: i % 10 < 6)), 0.05, 0.1)
    (judge,) = labelled.pilot.judges
    assert judge.rho2 is not None
    with_judge, alone = labelled.labels(judge)
    assert with_judge is not None
    assert with_judge < alone
    assert "without it" in "\n".join(lines(labelled))
    small = Power(labelled.pilot, 0.05, 0.001)
    assert "judge more outputs" in "\n".join(lines(small))
    empty = Power(pilot_of(await make_run([result(0, ok=None)], TWO[:1])), 0.05, 0.05)
    assert list(lines(empty))
    json.dumps(empty.document())
    numbers = Power(Pilot(rate=0.5, judges=[JudgeWorth("", 0.5, None, None)]), 0.1, 0.1)
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
    text = "\n".join(lines(Power(repeated, 0.05, 0.1)))
    assert "a label for each of 40 judged cases doesn't give ±10 points: judge more cases" in text
    text = "\n".join(lines(Power(repeated, 0.05, 0.2)))
    assert "21 labels, each of another case, give ±20 points" in text
    assert Power(repeated, 0.05, 0.2).document()["labels"][0]["judged_cases"] == 40
    assert "each of another case" not in "\n".join(lines(Power(once, 0.05, 0.2)))


async def test_labels_are_counted_by_clusters_where_cases_belong_together(make_run: Make):
    """200 outputs of 40 documents: further labels of one document add little."""
    run = await a_run(
        make_run,
        200,
        change=lambda t: replace(t, vars={**t.vars, "doc": f"d{t.index // 5}"}),
        variants=(Variant(0, "p", "m", cluster="doc"),),
    )
    pilot = pilot_of(run)
    (judge,) = pilot.judges
    assert (judge.judged, judge.cases, judge.repeated) == (200, 40, True)
    text = "\n".join(lines(Power(pilot, 0.05, 0.1)))
    assert (
        "a label for each of 40 judged clusters doesn't give ±10 points: judge more clusters"
        in text
    )
    text = "\n".join(lines(Power(pilot, 0.05, 0.2)))
    assert "21 labels, each of another cluster, give ±20 points" in text


def test_a_judge_that_passed_everything_may_not_pass_all_others():
    """A rate of 1 has no variance, and no labels would be needed: 6 of 6 are no such rate."""
    few = Power(Pilot(rate=1.0, judges=[JudgeWorth("policy", 1.0, None, 6)]), 0.05, 0.05)
    assert few.labels(few.pilot.judges[0])[0] is None
    assert "even a label for each of 6 judged outputs" in "\n".join(lines(few))
    many = Power(Pilot(rate=1.0, judges=[JudgeWorth("policy", 1.0, None, 100)]), 0.05, 0.05)
    labels, alone = many.labels(many.pilot.judges[0])
    assert labels
    assert 0 < labels <= alone


@pytest.mark.thorough
def test_the_cases_that_are_printed_have_the_power_that_is_promised():
    """Exactly: over pass rates, differences, both directions and how alike two variants are, 80 % of 80."""
    rows = list(_BENCH["grid"]((0.5, 0.9), (0.1, 0.3)))
    assert len(rows) > 20
    assert min(reached for *_, reached in rows) >= 0.799


def test_a_drop_and_a_rise_take_different_numbers_and_the_larger_is_named():
    """From 90 %, a drop of 10 points makes 14 % of cases differ, a rise 10 %; and three correlations are shown."""
    power = Power(Pilot(rate=0.9), 0.1, 0.05)
    drop, rise = power.changes()
    assert (drop.to, drop.differing) == (pytest.approx(0.8), pytest.approx(0.14))
    assert (rise.to, rise.differing) == (pytest.approx(1.0), pytest.approx(0.1))
    assert power.cases == drop.cases > rise.cases
    assert [alike for alike, _ in power.by_correlation()] == [0.3, 0.5, 0.7]
    cases = [n for _, n in power.by_correlation()]
    assert cases == sorted(cases, reverse=True)
    text = "\n".join(lines(power))
    assert "correlation 0.50, assumed" in text
    assert "a drop to 80 %: 114, a rise to 100 %: 78" in text
    told = power.document()
    assert [change["cases"] for change in told["changes"]] == [drop.cases, rise.cases]
    assert told["alike"] == 0.5


async def test_a_run_with_repeats_agrees_with_itself(make_run: Make):
    """A variant that passes 70 % of each case: as many cases are named at first as with one repeat."""
    random = Random(7)
    trials = [
        result(i * 5 + k, case=f"c{i}", repeat=k, ok=random.random() < 0.7)
        for i in range(60)
        for k in range(5)
    ]
    power = Power(pilot_of(await make_run(trials, TWO[:1], planned=300, repeats=5)), 0.1, 0.05)
    assert power.pilot.repeats == 5
    assert power.repeats()[0] == (1, power.cases)
    assert 250 < power.cases < 450
    assert power.pilot.alike is not None
    assert power.pilot.alike < 0.2
    ends = power.cases_range
    assert ends is not None
    assert ends[0] <= power.cases <= ends[1]
    could = power.could_show
    assert could is not None
    assert 0.07 < could < 0.14  # 60 cases once could show 24 points
    assert "60 cases × 5 repeats, as the run has" in "\n".join(lines(power))


async def test_disagreement_is_that_of_all_pairs_of_repeats(make_run: Make):
    """Not of the first trials alone: of these no case differs; of all pairs, half do."""
    trials = [
        result((v * 8 + i) * 2 + k, variant=v, case=f"c{i}", repeat=k, ok=k == 0)
        for v in (0, 1)
        for i in range(8)
        for k in range(2)
    ]
    pilot = pilot_of(await make_run(trials, TWO, planned=32, repeats=2))
    assert pilot.differing == pytest.approx(0.5)
    assert pilot.alike == pytest.approx(0)
    assert pilot.measured
    assert pilot.alike_range is not None
    assert pilot.alike_range[0] < 0 < pilot.alike_range[1]


async def test_cases_that_belong_together_count_for_fewer(make_run: Make):
    """Ten documents of six questions that come out alike: several times as many cases are needed."""
    grouped = (replace(TWO[0], cluster="document"),)
    trials = [
        result(i, case=f"c{i}", ok=(i // 6) % 2 == 0, metadata={"document": i // 6})
        for i in range(60)
    ]
    together = Power(pilot_of(await make_run(trials, grouped, planned=60)), 0.1, 0.05)
    apart = Power(pilot_of(await make_run(trials, TWO[:1], planned=60)), 0.1, 0.05)
    assert apart.pilot.effect == 1
    assert together.pilot.effect > 4
    assert together.cases > 4 * apart.cases
    assert together.effect == pytest.approx(together.cases / apart.cases, rel=0.01)
    assert "times as many as of independent ones" in "\n".join(lines(together))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("clusters", "size", "repeats"), [(12, 5, 1), (8, 5, 1), (40, 3, 1), (30, 1, 3), (40, 1, 1)]
)
async def test_power_and_the_runs_table_say_the_same_of_what_its_cases_could_show(
    make_run: Make, clusters: int, size: int, repeats: int
):
    """Of 60 cases in 12 clusters it was 14 points here and 32 there: McNemar's test doesn't know clusters."""
    random, trials, n = Random(clusters), list[TrialResult](), clusters * size
    for v, i, k in product(range(2), range(n), range(repeats)):
        ok = (i // size) % 4 > 0 if random.random() < 0.8 else random.random() < 0.7
        trials.append(
            result((v * n + i) * repeats + k, variant=v, case=f"c{i}", repeat=k, ok=ok, metadata={"d": i // size})
        )  # fmt: skip
    variants = [replace(one, cluster="d" if size > 1 else "") for one in TWO]
    run = await make_run(trials, variants, planned=len(trials), repeats=repeats)
    power = Power(pilot_of(run), 0.1, 0.05)
    (sentence,) = sentences(Grid(run))
    told = re.search(r"can only show differences of ([\d.]+ points)", sentence)
    assert told is not None, sentence
    text = "\n".join(lines(power))
    assert f"can show a difference of {told[1]}" in text
    # Of one variant it rests on an assumption, and `compare` on what differs.
    assert "compare counts the cases that do differ" not in text
    alone = replace(power.pilot, pair=None)
    assert "compare counts the cases that do differ" in "\n".join(lines(Power(alone, 0.1, 0.05)))
    assert (f" in {clusters} clusters, as the run has" in text) is (size > 1)
    assert power.could_show is not None
    at = Power(power.pilot, power.could_show, 0.05).cases
    assert repeats > 1 or 0.6 < at / n < 1.6


@pytest.mark.thorough
def test_clusters_show_a_difference_about_as_often_as_is_said():
    """A drop of 10 points in clusters of five cases, four times in five; by McNemar's test it was two in five."""
    random = Random(3)

    def cluster(drop: float) -> list[float]:
        before = [random.random() < 0.75 for _ in range(5)]
        after = [one if random.random() < 0.75 else random.random() < 0.75 for one in before]
        return [
            float(b and random.random() > drop / 0.75) - float(a)
            for a, b in zip(before, after, strict=True)
        ]

    pilot = Pilot(rate=0.75, alike=0.75, measured=True, cases=300, clusters=60)
    units = Power(pilot, 0.1, 0.05).cases // 5
    draws = [Differences([cluster(0.1) for _ in range(units)], rates=True) for _ in range(150)]
    assert 0.7 < sum(verdict(one, one.p()) == "worse" for one in draws) / 150 < 0.9


async def test_a_run_says_what_shows_the_difference_at_the_least_cost(make_run: Make):
    """In cases beyond its own, calls of two variants, and money; and what its uncertainty comes from."""
    trials = [
        result(i * 2 + k, case=f"c{i:02}", repeat=k, ok=i % 3 > 0 or (i + k) % 2 == 0)
        for i in range(30)
        for k in range(2)
    ]
    calls = [
        (
            CallStart(one.index, f"k{one.index}", 0, "subject", "m", b"{}", None),
            CallEnd(b"{}", "provider", 0.1, 1, 1, 0.002, "m"),
        )
        for one in trials
    ]
    power = Power(pilot_of(await make_run(trials, TWO[:1], calls=calls, repeats=2)), 0.1, 0.05)
    least = power.least()
    assert least is not None
    assert (least.cases, least.repeats, least.more) == (power.cases, 1, power.cases - 30)
    assert least.calls == 2 * power.cases
    assert least.cost_usd == pytest.approx(0.002 * least.calls)
    text = "\n".join(lines(power))
    assert f"at the least cost: {least.cases:,} cases, {least.more:,} more than the run has" in text
    assert (
        f"no repeats: about {least.calls:,} calls, ${least.cost_usd:.2f} for two variants" in text
    )
    assert "sources of uncertainty of the pass rate: cases " in text
    once = Power(pilot_of(await make_run(trials[::2], TWO[:1])), 0.1, 0.05)
    assert [part.part for part in once.pilot.parts] == ["cases and repeats"]
    assert "no case was repeated" in "\n".join(lines(once))
    assert Power(Pilot(rate=0.8), 0.1, 0.05).least() is None


async def test_clusters_have_a_part_and_four_cases_have_none(make_run: Make):
    """Ten documents with three questions each; the variance of fewer than five is not known."""
    clustered = (replace(TWO[0], cluster="document"),)
    trials = [
        result(i * 2 + k, case=f"c{i:02}", repeat=k, ok=(i // 3 + i * k) % 3 > 0,
               vars={"document": str(i // 3)})
        for i in range(30)
        for k in range(2)
    ]  # fmt: skip
    pilot = pilot_of(await make_run(trials, clustered, repeats=2))
    assert [part.part for part in pilot.parts] == ["clusters", "cases", "repeats"]
    assert pilot_of(await make_run(trials[:24], clustered, repeats=2)).parts == []


async def test_of_several_evals_it_is_about_the_first_and_never_about_their_difference(
    make_run: Make,
):
    """They ask different things: two columns of one eval say the same as in a run without the other eval."""
    own = [Variant(0, "p", "m", eval="shop: polite"), Variant(1, "q", "m", eval="shop: polite")]
    other = Variant(2, "p", "m", eval="shop: brief")
    trials = [
        result(30 * column + i, variant=column, case=f"c{i}", ok=i % (column + 2) > 0)
        for column in range(3)
        for i in range(30)
    ]
    both = pilot_of(await make_run(trials, [*own, other]))
    alone = pilot_of(await make_run(trials[:60], own))
    assert (both.eval, alone.eval) == ("shop: polite", "")
    assert replace(both, eval="") == alone
    assert both.measured
    apart = pilot_of(await make_run(trials[:60], [own[0], replace(other, index=1)]))
    assert (apart.measured, apart.rate) == (False, 0.5)
    assert next(lines(Power(both, 0.1, 0.05))).endswith(
        "the first, shop: polite; run another alone to ask about it"
    )


@pytest.mark.parametrize("clusters", [0, 60])
def test_it_says_what_varies_in_the_words_of_a_baseline(clusters: int):
    """And how few cases a gate takes at the same margin where nothing does, as `evenhand baseline` says."""
    power = Power(Pilot(rate=0.8, cases=100, clusters=clusters), 0.05, 0.05)
    text = " ".join(lines(power))
    unit = "clusters" if clusters else "cases"
    assert f"that is for {VARYING}; for {STEADY}, a gate with --margin 0.05 needs 52 {unit}" in text
