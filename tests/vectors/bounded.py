"""Writes what the viewer's page has to compute alike on a known scale: `python tests/vectors/bounded.py`.

Rates are of cases [passed, failed, errors]: repeats that are not the same in number, errors among them, cases wholly in
error. An error may have been either, and every case counts once.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from evenhand.stats.bounded import mean_on_scale

FILE = Path(__file__).with_name("bounded.json")


def vectors() -> dict[str, list[dict[str, Any]]]:
    """Each function's arguments, and what comes out."""
    draw = random.Random(11)
    means: list[tuple[list[float], tuple[float, float]]] = [
        ([], (0, 1)),
        ([0.3], (0, 1)),
        ([1, 1, 1, 1, 1], (0, 1)),
        ([0, 1, 1, 1], (0, 1)),
        ([0.5, 1, 1, 1, 1], (0, 1)),
        ([0.2, 0.4, 0.9], (0, 1)),
        ([5, 5, 5, 4.67, 5, 5, 5, 5], (1, 5)),
        ([1 / 3, 2 / 3, 1, 1, 1, 0], (0, 1)),
        ([i / 100 for i in range(101)], (0, 1)),
        ([i * 37 % 1000 / 1000 for i in range(1000)], (0, 1)),
        ([1.0] * 60 + [0.9, 0.5], (0, 1)),
        ([-0.5, 0.25, 0.75, 0, 0.1], (-1, 1)),
        ([4.5] * 100, (1, 5)),
        ([0.5, 1.5], (0, 1)),
    ]
    rates: list[list[tuple[int, int, int]]] = [
        [],
        [(0, 0, 0)],
        [(3, 0, 0)],
        [(0, 0, 3)],
        [(1, 0, 0), (0, 1, 0), (1, 0, 0), (1, 0, 0)],
        [(1, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1)],
        [(3, 0, 0), (3, 0, 0), (2, 0, 1), (0, 0, 3)],
        [(2, 1, 0), (1, 0, 0), (0, 5, 0), (1, 1, 2), (0, 0, 2), (0, 0, 0)],
    ]
    for cases in (2, 5, 12, 60):
        means.append(([draw.random() for _ in range(cases)], (0, 1)))
        means.append(([float(draw.randint(1, 5)) for _ in range(cases)], (1, 5)))
        rates.append([tuple(draw.randint(0, 3) for _ in range(3)) for _ in range(cases)])  # type: ignore[misc]
    return {
        "mean_on_scale": [
            {"of": values, "scale": scale, "is": _mean(values, scale)} for values, scale in means
        ],
        "rate": [{"of": cases, "is": _rate(cases)} for cases in rates],
    }


def _mean(values: list[float], scale: tuple[float, float]) -> tuple[float, ...] | None:
    if any(not scale[0] <= value <= scale[1] for value in values):
        return None
    return mean_on_scale([(value, 1) for value in values], scale)


def _rate(cases: list[tuple[int, int, int]]) -> tuple[float, ...] | None:
    kept = [each for each in cases if sum(each)]
    if not kept:
        return None
    least = _mean([passed / (passed + failed + broken) for passed, failed, broken in kept], (0, 1))
    most = _mean(
        [(passed + broken) / (passed + failed + broken) for passed, failed, broken in kept], (0, 1)
    )
    assert least is not None
    assert most is not None
    return least[0], most[0], least[1], most[2]


def main() -> None:
    """Writes the file."""
    blocks = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(each)}" for each in found) + "\n ]"
        for name, found in vectors().items()
    ]
    FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
