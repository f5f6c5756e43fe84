"""How many cases a gate has to run: an unchanged system passes with them four times in five."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.runs import baseline_of

from evenhand import EvalSet, run
from evenhand.analysis.comparison.case_values import PASSED
from evenhand.analysis.comparison.drawn_part import DrawnPart
from evenhand.analysis.gates.baseline import Baseline, result_of
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.gates.gate_comparison import GateSides, judged
from evenhand.analysis.gates.sample_size import sample_size
from evenhand.core.errors import UsageError
from evenhand.render.run import Run

CHANCES = (0.02, 0.97, 0.97, 0.99, 0.9, 0.5, 0.99, 0.96)
MARGIN = 0.15


def passes(case: int, draw: object) -> bool:
    """Whether a case passes in a draw; each has a chance of its own."""
    return random.Random(f"{case} {draw}").random() < CHANCES[case % len(CHANCES)]


def suite(home: Path, *, cases: int = 120, repeats: int = 4, together: int = 1) -> Run:
    """A run of cases, of which so many one after the other belong together, and come out alike."""
    data = [
        {"id": f"c{i}", "input": f"question {i}", "metadata": {"document": i // together}}
        for i in range(cases)
    ]
    evals = EvalSet("suite", data=data, repeats=repeats, cluster="document" if together > 1 else "")
    asked: dict[str, int] = {}

    @evals.eval
    def right(case, expect) -> None:
        number = int(case.id[1:]) // together
        asked[case.id] = asked.get(case.id, 0) + 1
        expect(passes(number, asked[case.id]), "right")

    return run(evals, home=home, progress=False, concurrency=1)


def baseline(result: Run, folder: Path) -> Baseline:
    """The run as a baseline."""
    write_baseline(baseline_of(result.file), folder / "b.evn")
    return read_baseline(folder / "b.evn")


def verdict(base: Baseline, count: int, draw: int) -> str:
    """What a gate says of a new run of the same system, of so many cases drawn at random."""
    sides = GateSides(base, base.variants, metrics=(PASSED,))
    firsts = {trial.case: trial for trial in base.trials if trial.repeat == 0}
    order = sorted(firsts)
    random.Random(draw).shuffle(order)
    like = {trial.outcome: trial for trial in base.trials}
    trials = []
    for place, case in enumerate(order[:count]):
        source = like["pass" if passes(int(case[1:]), f"new {draw}") else "fail"]
        kept = {"case": case, "repeat": 0, "content": firsts[case].content}
        trials.append(result_of(replace(source, **kept), place, 0))
    numbers = {case: place for place, case in enumerate(order)}
    part = DrawnPart(unit_of=numbers.get, units=len(order), chances=[count / len(order)] * count)
    theirs = sides.read(trials, base.scales)
    results = [one for _, one in sides.compared(theirs, ["right"], drawn=part)]
    return next(iter(judged(results, MARGIN))).verdict


@pytest.mark.thorough
def test_an_unchanged_system_passes_with_so_many_cases_four_times_in_five(tmp_path: Path) -> None:
    """Of 60 runs drawn anew, at least 42 pass (80 % less three standard errors); with a third of the cases fewer do."""
    result = suite(tmp_path)
    base = baseline(result, tmp_path)
    sample = sample_size(base, result.file, MARGIN)
    assert sample.of == 120
    assert sample.cases is not None
    assert 20 < sample.cases < 100
    passed = sum(verdict(base, sample.cases, n) in ("not worse", "better") for n in range(60))
    few = sum(verdict(base, sample.cases // 3, n) in ("not worse", "better") for n in range(60))
    assert passed >= 42
    assert few < passed


def test_a_smaller_margin_takes_more_cases_until_not_even_all_are_enough(tmp_path: Path) -> None:
    """And then the smallest margin is said for which all of them are."""
    result = suite(tmp_path)
    base = baseline(result, tmp_path)
    wide, narrow, none = (sample_size(base, result.file, m) for m in (0.2, 0.12, 0.01))
    assert wide.cases is not None
    assert narrow.cases is not None
    assert wide.cases < narrow.cases
    assert none.cases is None
    assert 0.01 < none.least_margin < 0.12


def test_cases_that_belong_together_take_more_of_them(tmp_path: Path) -> None:
    """Three cases of one document say what one of them does."""
    alone = suite(tmp_path / "alone")
    triples = suite(tmp_path / "triples", cases=120, together=3)
    one = sample_size(baseline(alone, tmp_path), alone.file, MARGIN)
    three = sample_size(baseline(triples, tmp_path), triples.file, MARGIN)
    assert three.least_margin > 1.3 * one.least_margin


@pytest.mark.parametrize(
    ("cases", "repeats", "says"),
    [(60, 1, "one result for each"), (12, 3, "predicts nothing from fewer than 20 cases")],
)
def test_a_baseline_that_cannot_tell_is_refused(
    tmp_path: Path, cases: int, repeats: int, says: str
) -> None:
    """With what to do."""
    result = suite(tmp_path, cases=cases, repeats=repeats)
    with pytest.raises(UsageError, match=says):
        sample_size(baseline(result, tmp_path), result.file, MARGIN)
