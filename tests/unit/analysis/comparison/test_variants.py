"""Which columns are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from tests.runs import Make, result

from evenhand.analysis.comparison.comparison_sides import Column
from evenhand.analysis.comparison.variants import point_range, sentences
from evenhand.analysis.summaries.grid import Grid
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.render.comparing import compare
from evenhand.stats.tallies import Tally


async def test_columns_of_different_evals_are_not_compared(make_run: Make):
    """Each eval's own columns are, and no others: they ask the same question."""
    variants = [
        Variant(i, f"{name} · {prompt}", "m", eval=name)
        for i, (name, prompt) in enumerate(
            [("short", "plain"), ("short", "strict"), ("polite", "plain")]
        )
    ]
    trials = [
        result(3 * case + v, variant=v, case=f"c{case}", ok=v != 0)
        for case in range(8)
        for v in range(3)
    ]
    (said,) = sentences(Grid(await make_run(trials, variants)))
    assert said.startswith("short · strict beats short · plain: +100 points")


TWO = (Variant(0, "plain", "m"), Variant(1, "strict", "m"))


def columns(outcomes: Sequence[Sequence[bool | None]], repeats: int = 1) -> list[TrialResult]:
    """Trials of columns: for each its outcomes, case by case, None in error."""
    return [
        result(v + 2 * i, variant=v, case=f"c{i // repeats}", repeat=i % repeats, ok=ok)
        for v, column in enumerate(outcomes)
        for i, ok in enumerate(column)
    ]


async def test_errors_are_not_left_out_of_who_beats_whom(make_run: Make):
    """Six failures of one and six errors of the other, which may have been failures: not a win."""
    run = await make_run(columns([[False] * 6 + [True] * 6, [True] * 6 + [None] * 6]), TWO)
    (said,) = sentences(Grid(run))
    assert said == "strict and plain: undecided (6 trials in error could turn it)"


async def test_errors_among_repeats_are_not_left_out_of_who_beats_whom(make_run: Make):
    """Equally good, and one raises in half of its failures."""
    plain = ([True] * 5 + [False] * 5) * 20
    strict = ([True] * 5 + [None] * 3 + [False] * 2) * 20
    run = await make_run(columns([plain, strict], 10), TWO, repeats=10)
    (said,) = sentences(Grid(run))
    assert said == "strict and plain: undecided (60 trials in error could turn it)"


async def test_a_win_that_errors_cannot_take_back_is_one(make_run: Make):
    """Had all of them failed it would still be one: between which numbers is said."""
    run = await make_run(columns([[False] * 12, [True] * 10 + [None] * 2]), TWO)
    (said,) = sentences(Grid(run))
    assert said == "strict beats plain: +83 to +100 points [+39, +100] over 12 cases (paired)"


async def test_the_best_is_the_one_that_passes_most_for_certain(make_run: Make):
    """A column of errors alone could be better than any other, and is not held against them for it."""
    three = (*TWO, Variant(2, "broken", "m"))
    outcomes = [[False] * 12, [True] * 12, [None] * 12]
    trials = [
        result(3 * i + v, variant=v, case=f"c{i}", ok=ok)
        for v, column in enumerate(outcomes)
        for i, ok in enumerate(column)
    ]
    said = sentences(Grid(await make_run(trials, three)))
    assert said[0].startswith("strict beats plain: +100 points")
    assert (
        said[1] == "strict and broken: undecided (no case has a value in both: 12 trials in error)"
    )


@pytest.mark.parametrize("seed", range(20))
async def test_the_sentences_and_compare_say_the_same(make_run: Make, seed: int):
    """Over random outcomes with errors among repeats: who beats whom, the difference, the interval."""
    random = Random(seed)
    good = random.choice([(0.1, 0.9), (0.5, 0.5), (0.3, 0.8)])
    outcomes = [
        [None if random.random() < 0.1 else random.random() < p for _ in range(60)] for p in good
    ]
    run = await make_run(columns(outcomes, 3), TWO, repeats=3)
    (said,) = sentences(Grid(run))
    (found,) = compare(Column(run, 0), Column(run, 1), metric="passed").results
    if " beats " in said:
        winner = "better" if said.startswith("strict beats") else "worse"
        assert found.verdict == winner
        ends = sorted(map(abs, found.difference_range or ()))
        assert said.split(": ")[1].startswith(point_range(*ends))
    else:
        assert found.verdict in ("undecided", "no detectable difference")
        assert ("undecided" in said) == found.open


@pytest.mark.thorough
def test_what_is_said_of_the_best_holds_for_all_pairs_at_once():
    """Of six columns the best was picked: the interval of what it is said to win by holds the truth all the same.

    True pass rates go up in equal steps, by 15 points in all; 50 cases, 120 runs, seed 6. With an interval of 95 % for
    each pair alone about half of the printed ones would lie above the truth.
    """
    random, rates = Random(6), [0.55 + 0.03 * v for v in range(6)]
    variants = [Variant(v, f"p{v}", "m") for v in range(6)]
    printed = held = 0
    for _ in range(120):
        hard = [random.random() for _ in range(50)]
        drawn = [
            [(0.5 * h + 0.5 * random.random()) < rate for h in hard] for rate in map(_cut, rates)
        ]
        tallies = [{i: Tally(int(ok), int(not ok)) for i, ok in enumerate(each)} for each in drawn]
        for said in _said(tallies, variants):
            best, other, low, high = said
            printed += 1
            held += low - 0.5 <= 100 * (rates[best] - rates[other]) <= high + 0.5
    assert printed >= 10
    assert held / printed >= 0.9


def _cut(rate: float) -> float:
    """Where to cut the mean of two uniform numbers, so that it is below with this chance."""
    return (rate / 2) ** 0.5 if rate <= 0.5 else 1 - ((1 - rate) / 2) ** 0.5


def _said(
    tallies: Sequence[Mapping[int, Tally]], variants: Sequence[Variant]
) -> Iterator[tuple[int, int, float, float]]:
    """Who is said to beat whom, and the ends of the interval in points."""
    grid = SimpleNamespace(
        evals=[""] * len(variants),
        names=[variant.prompt for variant in variants],
        tallies=tallies,
        groups=[{} for _ in variants],
        meet=lambda *_: True,
    )
    for line in sentences(cast("Grid", grid)):
        found = re.match(r"p(\d) beats p(\d): .* \[([+-]?\d+), ([+-]?\d+)\]", line)
        if found:
            yield int(found[1]), int(found[2]), float(found[3]), float(found[4])


async def test_no_difference_has_no_sign_where_shares_are_thirds(make_run: Make):
    """The sum of the cases' differences is 0 but for rounding: neither +0.0 nor -0.0."""
    passes = ((1, 2, 0, 2, 1, 3, 2), (2, 1, 1, 2, 0, 3, 2))
    outcomes = [[repeat < n for n in column for repeat in range(3)] for column in passes]
    run = await make_run(columns(outcomes, 3), TWO, repeats=3)
    for first, second in ((0, 1), (1, 0)):
        found = compare(Column(run, first), Column(run, second), metric="passed")
        assert "passed: 0 points [" in str(found)
    assert point_range(-1e-17, 1e-17) == "0"


@pytest.mark.parametrize(("cases", "repeats"), [(3, 1), (4, 3), (5, 1), (6, 1), (12, 2)])
async def test_where_nothing_beats_anything_the_words_are_those_of_the_comparison(
    make_run: Make, cases: int, repeats: int
):
    """Too few cases to say anything are undecided in both, and never *no detectable difference*."""
    alike = [i % 2 == 0 for i in range(cases * repeats)]
    run = await make_run(columns([alike, alike[::-1]], repeats), TWO, repeats=repeats)
    (said,) = sentences(Grid(run))
    (passed,) = compare(Column(run, 0), Column(run, 1), metric="passed").results
    assert passed.verdict == ("undecided" if cases <= 5 else "no detectable difference")
    assert said.split(": ")[1].startswith(f"{passed.verdict} (")
    assert ("too few to say anything" in said) is (cases < 5)
