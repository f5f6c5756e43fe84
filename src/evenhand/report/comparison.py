"""What a run can and cannot say about which of its columns is better, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.report.grid import Grid
from evenhand.report.words import count
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.paired import Differences, verdict

MOST_COLUMNS = 6


def sentences(grid: Grid) -> list[str]:
    """The best column against each of the others, on the cases that both have a verdict on.

    Columns of different evals ask different questions, and so do columns that share no case: they are not compared.
    More than MOST_COLUMNS columns are not either: nobody reads so many sentences.
    """
    found: list[str] = []
    for name in dict.fromkeys(grid.evals):
        places = [i for i, other in enumerate(grid.evals) if other == name]
        if 1 < len(places) <= MOST_COLUMNS:
            found += _compared(grid, places)
    return found


def _compared(grid: Grid, places: Sequence[int]) -> list[str]:
    rates = {
        i: sum(passed / n for passed, n in grid.passed[i].values()) / len(grid.passed[i])
        for i in places
        if grid.passed[i]
    }
    if len(rates) < 2:
        return []
    order = sorted(rates, key=lambda i: (rates[i], i))
    best = order[-1]
    # The best was picked after a look at all of them: it has been compared with each, as each has with the others.
    pairs = math.comb(len(rates), 2)
    lines: list[str] = []
    alike: dict[str, list[str]] = {}
    for other in order[:-1]:
        if not grid.meet(best, other):
            continue
        found = compared(grid, best, other)
        low, high = found.interval()
        if verdict(found, min(1.0, found.p() * pairs), of=pairs) == "better":
            lines.append(
                f"{grid.names[best]} beats {grid.names[other]}: {points(found.mean or 0)} points "
                f"[{points(low)}, {points(high)}] over {count(found.n, 'case')} (paired)"
            )
        else:
            can = could_show(found.n, found.smallest((1 - CONFIDENCE) / pairs))
            alike.setdefault(can, []).append(grid.names[other])
    for can, names in alike.items():
        lines.append(f"{grid.names[best]} and {_listed(names)}: no detectable difference ({can})")
    return lines


def could_show(n: int, smallest: float | None) -> str:
    """What so many cases could have shown of two pass rates, in words."""
    if not n:
        return "no case has a verdict on both"
    if smallest is None:
        return f"{count(n, 'case')} can show no difference, however large"
    return f"{count(n, 'case')} could show {smallest * 100:.{0 if n < 500 else 1}f} points or more"


def compared(grid: Grid, first: int, second: int) -> Differences:
    """How much more often each case passed in the first column, for the cases that both have a verdict on."""
    theirs = grid.passed[second]
    both = [(*pair, *theirs[case]) for case, pair in grid.passed[first].items() if case in theirs]
    repeats = sum(n + m for _, n, _, m in both) / 2 / len(both) if both else 1.0
    return Differences([(won / n - lost / m,) for won, n, lost, m in both], True, repeats)


def points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    text = f"{share * 100:+.0f}"
    return f"{share * 100:+.1f}" if text in ("+0", "-0") and share else "0" if not share else text


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
