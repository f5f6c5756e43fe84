"""Writes the intervals that the viewer's page has to compute alike: `python tests/vectors/intervals.py`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from evenhand.stats.distributions import t_quantile
from evenhand.stats.interval import CONFIDENCE, mean_of_sums, wilson
from evenhand.stats.paired_difference import FEWEST, Differences, sign_flip
from evenhand.stats.sequential import share_sequence

FILE = Path(__file__).with_name("intervals.json")


def vectors() -> dict[str, list[dict[str, Any]]]:
    """Each function's arguments, and what comes out; an infinite end is null."""
    draw = random.Random(7)
    pairs = [(0, 0), (0, 1), (1, 1), (8, 10), (7, 8), (999, 1000), (2.5, 6.25), (50_000, 100_000)]
    sums: list[list[tuple[float, int]]] = [
        [],
        [(0.0, 0)],
        [(2.5, 3)],
        [(3.0, 2), (3.0, 1), (5.0, 1)],
    ]
    rates: list[tuple[float, list[float]]] = [  # repeats, and each case's difference of its shares
        (1, []),
        (1, [1, 0, 0, -1, 1, 1, 0, 1]),
        (1, [0, 0, 0, 0, 0]),
        (3, [0.5]),
        (2, [0.5, 0.5, 0.5, 0.5]),
        (2.5, [1, -0.5, 1 / 3, 0, 0.5, -0.2, 1]),
        (3, [1, 1, 1, 1, 1, 1]),
    ]
    for cases in (1, 2, 3, 4, 5, 12, 40, 300):
        sizes = [draw.randint(1, 6) for _ in range(cases)]
        sums.append([(sum(draw.random() for _ in range(size)), size) for size in sizes])
        sums.append([(1.0 * size, size) for size in sizes])
        shares = [draw.randint(0, 4) / 4 - draw.randint(0, 4) / 4 for _ in range(cases)]
        rates.append((4, shares))
        rates.append((1, [float(draw.choice((-1, 0, 0, 1, 1))) for _ in range(cases)]))
    degrees = (1, 2, 3, 4, 5, 7, 10, 19, 29, 30, 99, 333, 999, 9_999, 99_999)
    return {
        "t_quantile": [{"df": df, "is": t_quantile(CONFIDENCE, df)} for df in degrees],
        "wilson": [{"of": pair, "is": wilson(*pair)} for pair in pairs],
        "share_sequence": [
            {"of": [yes, n - yes], "is": share_sequence(yes, n - yes)} for yes, n in pairs
        ],
        "mean_of": [{"of": each, "is": _mean(each)} for each in sums],
        "differences_of_rates": [
            {"repeats": repeats, "of": each, "is": _difference(each, repeats)}
            for repeats, each in rates
        ],
        # Of so few, all signs are counted.
        "sign_flip": [{"of": each, "is": sign_flip(each)} for _, each in rates if len(each) <= 40],
    }


def _mean(sums: list[tuple[float, int]]) -> list[float | None] | None:
    found = mean_of_sums(sums)
    if found is None:
        return None
    few = sum(size > 0 for _, size in sums) < FEWEST
    return [found[0], *(None if few else end for end in found[1:])]


def _difference(cases: list[float], repeats: float) -> tuple[float, float]:
    return Differences([(each,) for each in cases], rates=True, repeats=repeats).interval()


def main() -> None:
    """Writes the file."""
    blocks = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(each)}" for each in found) + "\n ]"
        for name, found in vectors().items()
    ]
    FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
