"""Corrections of comparisons that matter only with several metrics, repeats, clusters or variants."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import cast

import pytest
from tests.runs import result
from tests.unit.render.test_comparing import Pair, runs

from evenhand.analysis.comparison.comparison_sides import Column
from evenhand.analysis.comparison.variants import sentences
from evenhand.analysis.summaries.grid import Grid
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.words import columns
from evenhand.render.comparing import compare
from evenhand.render.comparison import lines as lines_of
from evenhand.stats.paired_difference import Differences
from evenhand.stats.tallies import Tally

__all__ = ["runs"]


def measured(
    bad: int, n: int = 40, metrics: int = 4, scale: tuple[float, float] = (0.0, 1.0)
) -> list[TrialResult]:
    """Trials that pass, with so many metrics that are 0 in the first cases and 1 in the others."""
    names = [f"m{i}" for i in range(metrics)]
    return [
        result(
            i,
            case=f"c{i}",
            named_scores={name: float(i >= bad) for name in names},
            outcomes=tuple(
                Outcome("x", "pass", float(i >= bad), metric=name, scale=scale) for name in names
            ),
        )
        for i in range(n)
    ]


async def test_one_of_four_metrics_has_to_differ_more_clearly(runs: Pair):
    """Six of 40 cases worse: p = 0.03 alone, 0.125 among four; and what could have been shown is more."""
    pair = await runs(measured(0), measured(6))
    alone = compare(*pair, metric="m0")
    assert (alone.verdict, alone.results[0].p) == ("worse", pytest.approx(0.03125))
    every = compare(*pair, metric=["m0", "m1", "m2", "m3"])
    assert {one.verdict for one in every.results} == {"no detectable difference"}
    assert every.results[0].p == pytest.approx(0.125)
    assert every.results[0].smallest > alone.results[0].smallest


async def test_a_margin_is_missed_by_one_of_four_metrics_only_if_that_is_clearer(runs: Pair):
    """8 of 20 cases worse, margin 0.1: worse alone, undecided among four."""
    pair = await runs(measured(0, 20), measured(7, 20))
    assert compare(*pair, metric="m0", margin=0.1).verdict == "worse"
    every = compare(*pair, metric=["m0", "m1", "m2", "m3"], margin=0.1)
    assert {one.verdict for one in every.results} == {"undecided"}


async def test_repeats_of_both_sides_say_what_a_case_is_worth(runs: Pair):
    """Five repeats against one: a case is worth the harmonic mean, not five."""
    first = [
        result(i * 5 + k, case=f"c{i}", repeat=k, ok=k > 0) for i in range(20) for k in range(5)
    ]
    second = [result(i, case=f"c{i}") for i in range(20)]
    pair = await runs(first, second, repeats=5)
    data = compare(*pair, metric="passed").results[0].data
    assert data.least.repeats == pytest.approx(40 / (20 / 5 + 20))


async def test_either_side_may_say_what_belongs_together(runs: Pair):
    """The means of both sides, the difference and its limits go by the clusters that the second run alone knows."""
    plain = [result(i, case=f"c{i}", ok=i >= 10) for i in range(20)]
    known = [result(i, case=f"c{i}", metadata={"document": 0 if i < 10 else i}) for i in range(20)]
    for first, second in ((plain, known), (known, plain)):
        found = compare(*await runs(first, second), metric="passed", cluster="document").results[0]
        assert len(found.data.clusters) == 11
        sides = [side or 0.0 for side in (found.first, found.second)]
        assert sorted(sides) == pytest.approx([10 / 11, 1.0])


async def test_a_scale_holds_the_values_of_both_sides(runs: Pair):
    """0 to 1 in one and 0 to 5 in the other: differences reach from −5 to 5."""
    first, second = measured(0, 20, 1), measured(0, 20, 1, (0.0, 5.0))
    second = [
        replace(
            one,
            named_scores={"m0": 4.0},
            outcomes=(Outcome("x", "pass", 4.0, metric="m0", scale=(0.0, 5.0)),),
        )
        for one in second
    ]
    found = compare(*await runs(first, second), metric="m0").results[0]
    assert found.data.least.scale == (-5.0, 5.0)
    assert found.data.least.scaled


def lines(rates: list[int], n: int = 40) -> list[str]:
    """The sentences of variants of which so many of the last cases fail."""
    tallies = [
        {f"c{i}": Tally(int(i < passed), int(i >= passed)) for i in range(n)} for passed in rates
    ]
    variants = [Variant(i, f"p{i}", "m") for i in range(len(rates))]
    grid = SimpleNamespace(
        evals=[""] * len(rates),
        names=[variant.prompt for variant in variants],
        tallies=tallies,
        groups=[{} for _ in rates],
        meet=lambda *_: True,
    )
    return sentences(cast("Grid", grid))


def test_the_best_of_several_has_to_beat_more_clearly():
    """Six of 40 cases: p0 beats the one other, and none of three; the interval and what could be shown are wider."""
    assert lines([40, 34])[0].startswith("p0 beats p1: +15 points")
    every = lines([40, 34, 34, 34])
    assert every == [line for line in every if "no detectable difference" in line]
    clear = lines([40, 20, 20, 20])[0]
    data = Differences([[0.0]] * 20 + [[1.0]] * 20, rates=True)
    low, high = data.interval(1 - 0.05 / 6)
    assert f"[{low * 100:+.0f}, {high * 100:+.0f}]" in clear
    shown = Differences([[0.0]] * 34 + [[1.0]] * 6, rates=True).smallest(0.05 / 6)
    assert shown is not None
    assert f"can only show differences of {shown * 100:.0f} points" in every[0]


def test_so_few_cases_that_they_show_nothing_among_several_are_undecided():
    """Six cases of which all differ show it of one pair, and of none among six."""
    assert "beats" in lines([6, 0], 6)[0]
    assert all("undecided" in line for line in lines([6, 0, 0, 0], 6))


async def test_run_and_compare_agree_on_what_the_cases_could_show(make_run):
    """A pass rate, the expectation that decides it, and one that never fails are one test; a third one is another."""

    def trials(other: int) -> list[TrialResult]:
        found: list[TrialResult] = []
        for i, variant in product(range(20), range(2)):
            ok = not (variant and i % 4 == 0)
            failing = other and i % other == variant
            outcomes = (
                Outcome("decides", "pass" if ok else "fail", float(ok), metric="decides"),
                Outcome("never fails", "pass", 1.0, metric="never"),
                *([Outcome("o", "pass", float(not failing), metric="other")] if other else ()),
            )
            scores = {one.metric: one.score for one in outcomes if one.score is not None}
            found.append(
                result(
                    len(found),
                    case=f"c{i}",
                    variant=variant,
                    ok=ok,
                    named_scores=scores,
                    outcomes=outcomes,
                )
            )
        return found

    variants = [Variant(i, name, "m") for i, name in enumerate("ab")]
    for other in (0, 5):
        run = await make_run(trials(other), variants)
        (sentence,) = sentences(Grid(run))
        told = re.search(r"\(.* points or more\)", sentence)
        assert told is not None
        found = compare(Column(run, 0), Column(run, 1))
        line = next(line for line in str(found).splitlines() if line.startswith("passed:"))
        if other:
            assert "points or more, corrected for 2 comparisons)" in line
        else:
            assert told.group() in line
        assert compare(Column(run, 0), Column(run, 1), metric="passed").results[
            0
        ].smallest == pytest.approx(found.of("passed").results[0].smallest)
        constant = next(one for one in found.results if one.metric == "never")
        assert (constant.p, constant.verdict) == (1, "no detectable difference")


async def test_a_comparison_is_no_wider_than_asked_and_names_each_pair_once(runs: Pair):
    """Pairs with long names are numbered; at any width, and with no number cut."""
    names = [f"{i} {'a rather long name of a prompt ' * 2}"[:60].strip() for i in range(3)]
    variants = [Variant(i, name, "m") for i, name in enumerate(names)]

    def side(bad: int) -> list[TrialResult]:
        return [
            result(3 * i + v, case=f"c{i}", variant=v, ok=i >= bad)
            for i in range(8)
            for v in range(3)
        ]

    found = compare(*await runs(side(0), side(2), variants=variants))
    for width in (60, 80, 100, 200):
        text = "\n".join(lines_of(found, width))
        assert max(map(columns, text.splitlines())) <= width
        squeezed = "".join(text.split())
        assert all(squeezed.count("".join(name.split())) == 1 for name in names)
        assert all(f"\n#{number} · passed: -25 points [" in text for number in (1, 2, 3))
        assert all(line.count("[") == line.count("]") for line in text.splitlines())


async def test_the_metric_that_decides_alone_is_named_with_the_pass_rate(runs: Pair):
    """One result in words, both in JSON; whoever names both is shown both. Alike by chance on one side is not alike."""

    def trials(bad: int, other: int) -> list[TrialResult]:
        return [
            result(
                i,
                case=f"c{i}",
                ok=i >= bad,
                named_scores={"label": float(i >= bad), "other": float(i >= other)},
                outcomes=(
                    Outcome("l", "pass" if i >= bad else "fail", float(i >= bad), metric="label"),
                    Outcome("o", "pass", float(i >= other), metric="other", scale=(0.0, 1.0)),
                ),
            )
            for i in range(40)
        ]

    pair = await runs(trials(0, 0), trials(6, 5))
    found = compare(*pair)
    text = str(found)
    assert "  label: the same as passed" in text
    assert not re.search(r"^label: ", text, re.MULTILINE)
    assert re.search(r"^other: ", text, re.MULTILINE)
    assert "corrected for 2 comparisons" in text
    rows = found.document()["results"]
    assert [row["metric"] for row in rows] == ["passed", "label", "other"]
    assert rows[0]["p"] == rows[1]["p"]
    named = str(compare(*pair, metric=["passed", "label"]))
    assert re.search(r"^label: ", named, re.MULTILINE)
    assert "corrected for" not in named
