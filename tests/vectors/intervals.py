"""Writes the intervals that the viewer's page has to compute alike: `python tests/vectors/intervals.py`."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

from evenhand.report.rates import mean_of
from evenhand.stats.interval import CONFIDENCE, wilson, wilson_of_clusters
from evenhand.stats.paired import Differences
from evenhand.stats.student import t_quantile

FILE = Path(__file__).with_name("intervals.json")


def vectors() -> dict[str, list[dict[str, Any]]]:
    """Each function's arguments, and what comes out; an infinite end is null."""
    draw = random.Random(7)
    pairs = [(0, 0), (0, 1), (1, 1), (8, 10), (7, 8), (999, 1000), (2.5, 6.25), (50_000, 100_000)]
    clustered: list[list[tuple[int, int]]] = [
        [],
        [(0, 0)],
        [(3, 3)],
        [(2, 3)],
        [(3, 3), (3, 3), (0, 3)],
        [(1, 1), (0, 1), (1, 1), (1, 1)],
        [(5, 5), (5, 5)],
        [(0, 5), (0, 5), (0, 2)],
        [(1, 2), (1, 2), (1, 2), (1, 2)],
    ]
    sums: list[list[tuple[float, int]]] = [
        [],
        [(0.0, 0)],
        [(2.5, 3)],
        [(3.0, 2), (3.0, 1), (5.0, 1)],
    ]
    differences: list[list[float]] = [[0.25] * 4, [0.25] * 5]
    for cases in (1, 2, 3, 4, 5, 12, 40, 300):
        sizes = [draw.randint(1, 6) for _ in range(cases)]
        clustered.append([(draw.randint(0, size), size) for size in sizes])
        sums.append([(sum(draw.random() for _ in range(size)), size) for size in sizes])
        sums.append([(1.0 * size, size) for size in sizes])
        differences.append([draw.uniform(-1, 1) for _ in range(cases)])
    degrees = (1, 2, 3, 4, 5, 7, 10, 19, 29, 30, 99, 333, 999, 9_999, 99_999)
    return {
        "t_quantile": [{"df": df, "is": t_quantile(CONFIDENCE, df)} for df in degrees],
        "wilson": [{"of": pair, "is": wilson(*pair)} for pair in pairs],
        "wilson_of_clusters": [{"of": each, "is": wilson_of_clusters(each)} for each in clustered],
        "mean_of": [{"of": each, "is": _finite(mean_of(each))} for each in sums],
        "differences": [{"of": each, "is": _finite(_difference(each))} for each in differences],
    }


def _difference(cases: list[float]) -> tuple[float, ...]:
    found = Differences([(each,) for each in cases])
    assert found.mean is not None
    return found.mean, *found.interval()


def _finite(found: tuple[float, ...] | None) -> list[float | None] | None:
    return None if found is None else [x if math.isfinite(x) else None for x in found]


def main() -> None:
    """Writes the file."""
    blocks = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(each)}" for each in found) + "\n ]"
        for name, found in vectors().items()
    ]
    FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
