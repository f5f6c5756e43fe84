"""What a run can and cannot say about which of its columns is better, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.report.grid import Grid
from evenhand.report.words import count
from evenhand.stats.compare import PairedRates, paired_rates, smallest_shown

MOST_COLUMNS = 6


def sentences(grid: Grid) -> list[str]:
    """The best column against each of the others, on the cases that both have a verdict on.

    Columns of different evals ask different questions, and are not compared. More than MOST_COLUMNS columns are not
    either: nobody reads so many sentences, and one in twenty would be wrong.
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
    lines: list[str] = []
    alike: dict[int, list[str]] = {}
    for other in order[:-1]:
        pair = compared(grid, best, other)
        if pair.detected:
            lines.append(
                f"{grid.names[best]} beats {grid.names[other]}: {points(pair.difference)} points "
                f"[{points(pair.low)}, {points(pair.high)}] over {count(pair.n, 'case')} (paired)"
            )
        else:
            alike.setdefault(pair.n, []).append(grid.names[other])
    for n, names in alike.items():
        smallest = smallest_shown(n)
        if not n:
            can = "no case has a verdict on both"
        elif smallest is None:
            can = f"{count(n, 'case')} can show no difference, however large"
        else:
            can = f"{count(n, 'case')} could show {smallest * 100:.{0 if n < 500 else 1}f} points or more"
        lines.append(f"{grid.names[best]} and {_listed(names)}: no detectable difference ({can})")
    return lines


def compared(grid: Grid, first: int, second: int) -> PairedRates:
    """Two columns on the cases that both have a verdict on; a case with repeats counts once, with its own pass rate."""
    ahead = behind = 0.0
    n = 0
    theirs = grid.passed[second]
    for case, (passed, size) in grid.passed[first].items():
        other = theirs.get(case)
        if other is None:
            continue
        n += 1
        difference = passed / size - other[0] / other[1]
        if difference > 0:
            ahead += difference
        else:
            behind -= difference
    return paired_rates(n, ahead, behind)


def points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    text = f"{share * 100:+.0f}"
    return f"{share * 100:+.1f}" if text in ("+0", "-0") and share else "0" if not share else text


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
