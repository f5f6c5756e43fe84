"""What a run can and cannot say about which of its columns is better, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from evenhand.analysis.comparison.pairing import unmeasured
from evenhand.analysis.summaries.clusters import rate_in
from evenhand.analysis.summaries.column_names import in_ranges
from evenhand.analysis.summaries.grid import Grid, compared
from evenhand.core.wording.words import count, in_points, points, rounded
from evenhand.stats.extremes import Extremes
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.paired_difference import FEWEST, Word
from evenhand.stats.tallies import OpenNumber

MOST_VARIANTS = 6


def sentences(grid: Grid, apart: Callable[[int, int], str] | None = None) -> list[str]:
    """The best column against each of the others, on the cases that both have.

    What is said holds whatever became of trials in error. Columns of different evals ask different questions, and so
    do columns that share no case: they are not compared. Of more than MOST_VARIANTS columns one sentence says what the
    first place is worth: of many equal ones, some column is always ahead.

    Args:
        grid: The run's cells.
        apart: Why two columns can't be compared, as their tests differ, in words; empty where they can.
    """
    lines: list[str] = []
    for name in dict.fromkeys(grid.evals):
        places = [i for i, other in enumerate(grid.evals) if other == name]
        if len(places) > 1:
            describe = _compared if len(places) <= MOST_VARIANTS else _first_of_many
            lines += describe(grid, places, apart or (lambda *_: ""))
    return lines


def _ranked(
    grid: Grid, places: Sequence[int]
) -> tuple[list[int], int, Mapping[int, tuple[float, float]]]:
    """The columns that have a pass rate, the best last, how many pairs they make, and their rates.

    The best is the one that passes most for certain: had one that beats all others whatever became of errors. It was
    picked after a look at all of them: it has been compared with each, as each has with the others.
    """
    shares = {i: rate_in(grid.tallies[i], grid.groups[i]) for i in places}
    rates = {i: (share.least, share.most) for i, share in shares.items() if share}
    return sorted(rates, key=lambda i: (*rates[i], i)), math.comb(len(rates), 2), rates


def _first_of_many(
    grid: Grid, places: Sequence[int], apart: Callable[[int, int], str]
) -> list[str]:
    order, pairs, rates = _ranked(grid, places)
    if len(order) < 2:
        return []
    best = order[-1]
    others = [i for i in order[:-1] if grid.meet(best, i) and not apart(best, i)]
    # Bonferroni's correction: simple, and each pair's interval can be widened to match.
    beaten = sum(
        compared(grid, best, other).verdict(lambda p: min(1.0, p * pairs), of=pairs)[0] == "better"
        for other in others
    )
    if not others:
        return []
    how = f"paired{corrected_for(pairs)}"
    alike = sum(rate == rates[best] for rate in rates.values())
    if alike == len(order):
        return [f"none of {len(order):,} variants is shown to beat another ({how})"]
    first = f"{grid.names[best]} passes most of {len(order):,} variants"
    who = "" if alike == 1 else f"{grid.names[best]} "
    if alike > 1:
        first = f"{grid.names[best]} and {count(alike - 1, 'other')} pass most of {len(order):,} variants"
    if not beaten:
        by_chance = ": of so many, one is ahead by chance" if alike == 1 else ""
        return [f"{first}, and {who}is not shown to beat any{by_chance} ({how})"]
    return [f"{first}, and {who}beats {beaten:,} of {count(len(others), 'other')} ({how})"]


def _compared(grid: Grid, places: Sequence[int], apart: Callable[[int, int], str]) -> list[str]:
    order, pairs, _ = _ranked(grid, places)
    if len(order) < 2:
        return []
    best = order[-1]
    lines: list[str] = []
    alike: dict[str, list[str]] = {}
    for other in order[:-1]:
        if not grid.meet(best, other):
            continue
        why = apart(best, other)
        if why:
            alike.setdefault(f"undecided ({why})", []).append(grid.names[other])
            continue
        data = compared(grid, best, other)
        word, open_ = data.verdict(lambda p: min(1.0, p * pairs), of=pairs)
        if word in ("better", "worse"):
            lines.append(_beats(grid, best, other, data, pairs, turned=word == "worse"))
        else:
            alike.setdefault(
                _why_not(grid, best, second=other, data=data, word=word, open_=open_, pairs=pairs),
                [],
            ).append(grid.names[other])
    lines += [f"{grid.names[best]} and {_listed(names)}: {why}" for why, names in alike.items()]
    return lines


def _beats(grid: Grid, first: int, second: int, data: Extremes, pairs: int, *, turned: bool) -> str:
    """That one column beats another, with an interval that holds for all pairs at once.

    The pair was picked because its difference is large: an interval of 95 % for each pair alone would too often lie
    above the true difference.
    """
    mean = data.mean or OpenNumber(0.0, 0.0)
    ends = (*mean, *data.interval(1 - (1 - CONFIDENCE) / pairs))
    # The other one is better: the same interval, seen from its side.
    if turned:
        first, second, ends = second, first, (-ends[1], -ends[0], -ends[3], -ends[2])
    least, most, low, high = ends
    how = f"paired, corrected for {pairs} comparisons" if pairs > 1 else "paired"
    return (
        f"{grid.names[first]} beats {grid.names[second]}: {in_points(point_range(least, most))} "
        f"[{points(low)}, {points(high)}] over {over(data)} ({how})"
    )


def _why_not(
    grid: Grid, first: int, second: int, data: Extremes, word: Word, open_: bool, pairs: int
) -> str:
    """What two columns come to of which none beats the other, in words: those of `evenhand compare`."""
    one, two = grid.tallies[first], grid.tallies[second]
    both = one.keys() & two.keys()
    errors = sum(one[case].errors + two[case].errors for case in both)
    if errors and not any(one[case].known and two[case].known for case in both):
        return f"undecided ({unmeasured(errors)})"
    if open_:
        return f"undecided ({could_turn(errors)})"
    groups = len(data.clusters)
    if groups < FEWEST:
        return f"{word} ({too_few(count(groups, 'case' if groups == data.n else 'cluster'))})"
    return f"{word} ({could_show(data, data.smallest((1 - CONFIDENCE) / pairs), pairs)})"


def over(data: Extremes) -> str:
    """Over what a difference is: cases, and the clusters that they are in."""
    groups = len(data.clusters)
    cases = count(data.n, "case")
    return cases if groups == data.n else f"{cases} in {count(groups, 'cluster')}"


def could_turn(errors: int) -> str:
    """That trials in error leave open what is better, in words."""
    return f"{count(errors, 'trial')} in error could turn it"


def too_few(cases: str) -> str:
    """That so many cases, or clusters, are too few for any verdict, in words."""
    return f"{cases}: too few to say anything, as {FEWEST} are needed"


def could_show(data: Extremes, smallest: float | None, tests: int) -> str:
    """What so many cases could have shown of two pass rates, in words, and for how many tests that is corrected."""
    if not data.n:
        return "no case has a verdict on both"
    if smallest is None:
        return f"{over(data)} can show no difference, however large{corrected_for(tests)}"
    least = rounded(smallest * 100, 0 if data.n < 500 else 1)
    return f"{over(data)} can only show differences of {in_points(least)} or more{corrected_for(tests)}"


def corrected_for(tests: int) -> str:
    """Why so many cases show less than they would in a single comparison, in words; empty for a single one."""
    return f", corrected for {tests:,} comparisons" if tests > 1 else ""


def point_range(least: float, most: float) -> str:
    """A difference of shares that errors may leave open, in percentage points."""
    low, high = points(least), points(most)
    return low if low == high else f"{low} to {high}"


def _listed(names: list[str]) -> str:
    names = in_ranges(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
