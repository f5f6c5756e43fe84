"""Interval, p-value and verdict of a comparison say the same, however few the cases and many the metrics."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

import pytest

from evenhand import Case, EvalSet, Expect, compare, run
from evenhand.render.run import Run
from evenhand.scorers import Contains
from evenhand.stats.extremes import certain
from evenhand.stats.multiple import holm, holm_factors
from evenhand.stats.paired_difference import LEVEL, Alone, Differences, verdict


def differences(values: list[float], repeats: float = 1.0) -> Differences:
    """Of pass rates, of cases that stand alone."""
    return Differences(Alone(array("d", values)), rates=True, repeats=repeats)


def test_zero_lies_in_the_interval_of_every_small_table_that_shows_nothing() -> None:
    """Tango's interval and McNemar's exact test have formulas of their own: 4 of 10 up gave [+1, +69], p = 0.125."""
    apart = 0
    for n in range(1, 13):
        for ahead in range(n + 1):
            for behind in range(n + 1 - ahead):
                data = differences([1.0] * ahead + [-1.0] * behind + [0.0] * (n - ahead - behind))
                for raised in (1, 3):
                    alone = data.p()
                    p = min(1.0, alone * raised)
                    low, high, same = certain(data).agreeing(p, raised=raised)
                    plain = data.interval(1 - LEVEL / raised)
                    apart += p > LEVEL and (plain[0] > 0 or plain[1] < 0)
                    assert (low <= 0 <= high) is (same > LEVEL), (n, ahead, behind, raised)
                    assert low <= plain[0]  # no interval gets narrower
                    assert plain[1] <= high
                    word = verdict(data, p, raised=raised)
                    assert (word in ("better", "worse")) is (same <= LEVEL)
    assert apart > 10


@pytest.mark.parametrize("raised", [1, 4])
def test_a_p_value_below_the_level_is_raised_where_the_interval_reaches_zero(raised: int) -> None:
    """Throws of signs may show what the interval of repeats does not: nothing is shown then, and p says so."""
    draw, seen = random.Random(11), 0
    for _ in range(3_000):
        values = [draw.choice([-0.2, 0.0, 0.2, 0.4, 0.6, 0.8]) for _ in range(8)]
        data = differences(values, repeats=5.0)
        p = min(1.0, raised * data.p())
        low, high, same = certain(data).agreeing(p, raised=raised)
        if same > p:
            # No more than it takes: at that level, the interval just reaches 0.
            seen += 1
            wide, narrow = (data.interval(1 - same / raised * times) for times in (0.999, 1.001))
            assert wide[0] <= 0 <= wide[1]
            assert narrow[0] > 0 or narrow[1] < 0
        assert same >= p
        assert (low <= 0 <= high) is (same > LEVEL)
        word = verdict(data, p, raised=raised)
        assert (word in ("better", "worse")) is (same <= LEVEL)
    assert seen


def test_factors_are_those_by_which_holm_raises() -> None:
    """Also where a p-value is 0, and where raising ends at 1."""
    draw = random.Random(3)
    for _ in range(200):
        ps = [draw.choice([0.0, 0.001, 0.02, 0.03, 0.4, 1.0]) for _ in range(draw.randint(0, 6))]
        factors = holm_factors(ps)
        assert holm(ps) == pytest.approx(
            [min(1.0, p * f) for p, f in zip(ps, factors, strict=True)]
        )
        assert all(0.999 < factor < len(ps) + 0.001 for factor in factors)


def test_intervals_of_several_metrics_are_corrected_as_their_p_values_are(tmp_path: Path) -> None:
    """Alone a metric is better; among four it isn't, and its interval doesn't say otherwise."""

    def grades(new: bool) -> EvalSet:
        evals = EvalSet("s", data=[{"id": f"c{i}", "input": i} for i in range(20)])

        @evals.eval
        def checks(case: Case, expect: Expect) -> None:
            i = int(str(case.input))
            expect(new or i >= 6, "named", metric="named")
            for k in range(3):
                expect((i + k + new) % 4 < 2, f"other {k}", metric=f"other {k}")

        return evals

    first, second = (
        run(grades(new), progress=False, home=tmp_path / str(new)) for new in (False, True)
    )
    alone = compare(first, second, metric="named").results[0]
    (among,) = (one for one in compare(first, second).results if one.metric == "named")
    assert (alone.verdict, alone.low > 0) == ("better", True)
    assert (among.verdict, among.p > 0.05, among.low <= 0) == (
        "no detectable difference",
        True,
        True,
    )
    assert among.high > alone.high
    assert "p-values and intervals are corrected for 4 comparisons" in str(compare(first, second))
    within = compare(first, second, margin=0.2)
    (among,) = (one for one in within.results if one.metric == "named")
    assert among.high == alone.high, (
        "with a margin all have to hold at once, which corrects nothing"
    )
    assert "p-values are corrected for 4 comparisons" in str(within)


def test_no_case_that_is_left_out_is_said_to_be_compared(tmp_path: Path) -> None:
    """Cases whose expected value was edited; a scorer's argument comes from it, and is no doubt of its own."""

    def made(name: str, edited: int) -> Run:
        words = ["day" if i < edited else f"a{i}" for i in range(12)]
        rows = [{"id": f"c{i}", "input": i, "expected": word} for i, word in enumerate(words)]
        evals = EvalSet("s", data=rows)

        @evals.eval
        def says(case: Case, expect: Expect) -> str:
            text = f"a{case.input} day"
            expect(text, Contains(str(case.expected)), metric="says")
            return text

        return run(evals, progress=False, home=tmp_path / name)

    text = str(compare(made("a", 0), made("b", 3), metric="says"))
    assert "left out: 3 cases with another expected value: c0, c1, c2" in text
    assert "they are compared" not in text
