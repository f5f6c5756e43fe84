"""Two scales under one name are not compared, whether scorers say them or the values show them."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.runs import baseline_of

from evenhand import Case, EvalSet, Expect, Score, compare, run
from evenhand.analysis.comparison.pairing import other_scale
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.core.score import Scale

SCALES: dict[str, Scale] = {
    "shares": (0, 1),
    "stars": (1, 5),
    "points": (0, 10),
    "per cent": (0, 100),
}


def graded(scale: Scale, *, declared: bool, less: bool = False) -> EvalSet:
    """Values spread over a scale, the same part of it for each case."""
    draw = random.Random(7)
    evals = EvalSet("grades", data=[{"id": f"c{i}", "input": draw.random()} for i in range(25)])

    def grade(output: float) -> Score:
        return Score(output, scale=scale)

    @evals.eval
    def grades(case: Case, expect: Expect) -> None:
        low, high = scale
        value = low + (high - low) * (0.3 + 0.5 * float(case.input))
        value = round(value) if high > 1 else value
        if declared:
            expect(value, grade, at_least=low, metric="q")
        elif less:
            expect(value, "q", at_most=high)
        else:
            expect(value, "q", at_least=low)

    return evals


@pytest.mark.parametrize("pair", [*permutations(SCALES, 2)], ids=str)
def test_declared_scales_that_differ_are_told_and_nothing_is_judged(
    tmp_path: Path, pair: tuple[str, str]
):
    """Case by case, as a rubric may hang on the case."""
    first, second = (
        run(graded(SCALES[name], declared=True), progress=False, home=tmp_path / name)
        for name in pair
    )
    both = compare(first, second, metric="q")
    assert both.verdict == "undecided"
    assert "scale" in str(both)


EVIDENT = [
    ("shares", "stars"),
    ("shares", "points"),
    ("shares", "per cent"),
    ("stars", "per cent"),
    ("points", "per cent"),
]


@pytest.mark.thorough(after=8)
@pytest.mark.parametrize("less", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("pair", EVIDENT, ids=str)
def test_scales_that_the_values_show_are_told_and_nothing_is_judged(
    tmp_path: Path, pair: tuple[str, str], turned: bool, less: bool
):
    """Where no scorer says its scale, whether more or less is better, and with a margin, too."""
    names = pair[::-1] if turned else pair
    first, second = (
        run(graded(SCALES[name], declared=False, less=less), progress=False, home=tmp_path / name)
        for name in names
    )
    both = compare(first, second, metric="q")
    assert both.verdict == "undecided"
    assert compare(first, second, metric="q", margin=0.05).verdict == "undecided"
    assert "on other scales" in str(both)
    assert both.document()["results"][0]["withheld"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0.2, 0.4, 0.9], [0.8, 0.9, 1.0]),
        ([0.5, 0.7], [0.9, 1.2]),
        ([0, 1, 1, 0], [2, 3, 2, 4]),
        ([0, 0, 1], [0, 1, 1]),
        ([3, 4, 4], [4, 5, 5]),
        ([20, 40, 30], [70, 80, 90]),
        ([120, 150], [900, 1200]),
        ([4.0, 7.5], [9.0, 9.5]),
        ([0, 0, 0], [50, 60, 70]),
        ([-0.5, 0.2], [0.3, 0.9]),
        ([12, 15, 30], [55, 60, 48]),
        ([0.5, 0.8], [1.4, 2.5]),
        ([0.5, 0.8], [0.9, 5.5]),
    ],
)
def test_what_may_be_one_scale_is_compared(first: list[float], second: list[float]):
    """Counts, shares, and large changes."""
    assert not other_scale(first, second, None, None)
    assert not other_scale(second, first, None, None)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0.55, 0.7, 0.6], [2.9, 3.4, 2.2]),
        ([0.9, 0.97, 0.85], [4.6, 4.4, 4.9]),
        ([-0.4, 0.1, -0.2], [1.4, 2.2, 3.1]),
        ([-0.8, -0.1], [3, 4]),
        ([-0.5, 0.5], [40, 60.5]),
    ],
)
def test_scales_that_have_no_value_in_common_are_told(first: list[float], second: list[float]):
    """0 to 1 and −1 to 1, beside 1 to 5 and larger ones that are not rounded."""
    assert "on other scales" in other_scale(first, second, None, None)
    assert "on other scales" in other_scale(second, first, None, None)


def test_a_scale_that_one_side_says_and_the_other_leaves_is_told():
    """And one that holds both isn't."""
    assert "on other scales" in other_scale([0.5, 0.7], [3, 4], (0, 1), None)
    assert "on other scales" in other_scale([3, 4], [0.5, 0.7], None, (0, 1))
    assert not other_scale([3, 4], [4, 5], (1, 5), None)
    assert not other_scale([], [], None, None)


def test_means_over_several_scales_are_told(tmp_path: Path):
    """Below the table, whether they are in one variant or side by side."""
    evals = EvalSet("mixed", data=[{"id": f"c{i}", "input": i} for i in range(6)])

    @evals.eval
    def grades(case: Case, expect: Expect) -> None:
        scale = (0, 10) if int(case.input) % 2 else (0, 100)
        expect("", lambda _: Score(5.0, scale=scale), at_least=1, metric="q", label="q")

    mixed = run(evals, progress=False, home=tmp_path)
    assert "q: its scores are on several scales (0–10, 0–100)" in str(mixed)
    alike = run(graded((0, 10), declared=True), progress=False, home=tmp_path)
    assert "several scales" not in str(alike)


def bounded(value: float, *bounds: dict[str, Any]) -> EvalSet:
    """Twelve cases of one value on a scale from 1 to 5, which have these bounds in turn."""
    evals = EvalSet("tone", data=[{"id": f"c{i}", "input": i} for i in range(12)])

    def formal(output: float) -> Score:
        return Score(output, scale=(1, 5))

    @evals.eval
    def answers(case: Case, expect: Expect) -> None:
        expect(value, formal, metric="formal", **bounds[int(case.input) % len(bounds)])

    return evals


LOWER_BOUND: dict[str, Any] = {"at_least": 1.0}
UPPER_BOUND: dict[str, Any] = {"at_most": 5.0}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([LOWER_BOUND | UPPER_BOUND], [LOWER_BOUND | UPPER_BOUND]),
        ([LOWER_BOUND, UPPER_BOUND], [LOWER_BOUND, UPPER_BOUND]),
        ([LOWER_BOUND], [UPPER_BOUND]),
    ],
    ids=["both", "by case", "changed"],
)
def test_what_has_bounds_on_both_sides_is_neither_better_nor_worse(
    tmp_path: Path, before: list[dict[str, Any]], after: list[dict[str, Any]]
):
    """Neither more nor less of it is better, unless somebody names it; a gate passes by what passed."""
    first = run(bounded(4, *before), progress=False, home=tmp_path / "a")
    second = run(bounded(2, *after), progress=False, home=tmp_path / "b")
    both = compare(first, second)
    assert [one.metric for one in both.results] == ["passed"]
    assert "formal has lower and upper bounds" in str(both)
    assert compare(first, second, metric="formal").verdict == "worse"
    assert compare(first, second, metric="formal", lower="formal").verdict == "better"
    write_baseline(baseline_of(first.file), tmp_path / "b.evn")
    outcome = gate(read_baseline(tmp_path / "b.evn"), second.file, 0.5)
    assert [one.metric for one in outcome.results] == ["passed"]
    assert "formal has lower and upper bounds" in " ".join(outcome.notes)


def timed(*values: float | None) -> EvalSet:
    """A case for each value, which no scale holds; None is an error."""
    evals = EvalSet("slow", data=[{"id": f"c{i}", "input": i} for i in range(len(values))])

    @evals.eval
    def answers(case: Case, expect: Expect) -> None:
        value = values[int(case.input)]
        if value is None:
            raise TimeoutError
        expect(value, "took", at_most=10_000)

    return evals


@pytest.mark.parametrize(
    ("before", "after"),
    [([50] * 24, [50] * 12 + [None] * 12), ([50] * 24, [10] * 12 + [None] * 12)],
    ids=["the others alike", "the others better"],
)
def test_an_error_may_have_been_any_value_where_no_scale_is_known(
    tmp_path: Path, before: list[float | None], after: list[float | None]
):
    """What timed out may be slower than all that came to an end, in either run."""
    first = run(timed(*before), progress=False, home=tmp_path / "a")
    second = run(timed(*after), progress=False, home=tmp_path / "b")
    for sides in ((first, second), (second, first)):
        for margin in (None, 5):
            both = compare(*sides, metric="took", margin=margin)
            assert both.verdict == "undecided"
            assert "took: unknown over 24 cases" in str(both)
            (row,) = both.document()["results"]
            assert (row["difference_least"], row["difference_most"]) == (None, None)
            json.dumps(row, allow_nan=False)


def test_errors_that_may_have_been_any_value_show_no_mean_within_the_margin(tmp_path: Path):
    """What most cases show is said, but the mean could be anything."""
    first = run(timed(*[50] * 24), progress=False, home=tmp_path / "a")
    second = run(timed(*[10] * 20, *[None] * 4), progress=False, home=tmp_path / "b")
    for sides in ((first, second), (second, first)):
        both = compare(*sides, metric="took", margin=5)
        assert both.verdict == "undecided"
        assert "in 20 of 24 cases, p = 0.002" in str(both)
    assert "undecided (4 trials in error could turn it)" in str(
        compare(first, second, metric="took", margin=5)
    ).replace("\n    ", " ")


def test_a_case_that_one_side_did_not_measure_is_not_one_of_errors(tmp_path: Path):
    """Also where one of the other side's repeats is in error."""

    def measured(name: str, cases: list[str]) -> EvalSet:
        evals = EvalSet("grades", data=[{"id": f"c{i}", "input": f"c{i}"} for i in range(6)])
        failed = set[str]()

        @evals.eval
        def grades(case: Case, expect: Expect) -> None:
            if name == "first" and case.id == "c0" and "c0" not in failed:
                failed.add("c0")
                raise ConnectionError("away")
            if case.id in cases:
                expect(0.5, "q", at_least=0)

        return evals

    everything = [f"c{i}" for i in range(6)]
    first, second = (
        run(measured(name, cases), repeats=2, progress=False, home=tmp_path / name)
        for name, cases in (("first", everything), ("second", everything[1:]))
    )
    (result,) = compare(first, second, metric="q").document()["results"]
    left_out = result["left_out"]
    assert (result["n"], left_out["errors"], left_out["not_applicable"]) == (5, [], ["c0"])
