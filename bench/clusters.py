"""How often equal variants are found to differ, and how often intervals hold, where cases belong together.

    python bench/clusters.py                     # some minutes
    python bench/clusters.py --draws 200         # quicker, and rougher

Two variants pass 70 % of all cases. Which of them does better on a document depends on the document, so its cases go
together; documents have as many cases each, or very different numbers. The rest has shapes that are as hard as can be
for a mean over documents: few of them turn it. Seed 20261128.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from evenhand.analysis.gates.gate_rule import gate_rule
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.paired_difference import Differences, verdict

SEED = 20_261_128
RATE = 0.7
CUT = NormalDist().inv_cdf(RATE)
SHAPES: tuple[tuple[int, tuple[int, ...], float], ...] = (
    (50, (1,), 0.3),
    (20, (1,), 0.0),
    (50, (4,), 0.3),
    (12, (4,), 0.3),
    (20, (10,), 0.3),
    (20, (10,), 0.1),
    (10, (20,), 0.3),
    (40, (20,), 0.1),
    (30, (1, 4, 10, 20), 0.3),
    (10, (3, 3, 3, 3, 3, 3, 3, 3, 3, 40), 0.3),
)
"""Documents, the numbers of cases of which each has one at random, and the part of the variance between documents."""


class Drawn(NamedTuple):
    """One draw: the pass rates of the documents' cases under both, and their differences."""

    first: list[list[float]]
    differences: list[list[float]]


class Shares(NamedTuple):
    """In how many of a hundred draws something is said, or holds."""

    shown: float
    gate_worse: float
    difference_held: float
    rate_held: float


def documents(random: Random, number: int, sizes: Sequence[int], icc: float) -> Drawn:
    """Cases that a variant passes or fails, document by document; the two are equally good."""
    own = math.sqrt(max(0.0, 0.7 - icc))
    first: list[list[float]] = []
    differences: list[list[float]] = []
    for _ in range(number):
        luck = [math.sqrt(icc) * random.gauss(0, 1) for _ in "ab"]
        cases: list[tuple[bool, bool]] = []
        for _ in range(random.choice(sizes)):
            shared = math.sqrt(0.3) * random.gauss(0, 1)
            a, b = (shared + one + own * random.gauss(0, 1) < CUT for one in luck)
            cases.append((a, b))
        first.append([float(a) for a, _ in cases])
        differences.append([float(b - a) for a, b in cases])
    return Drawn(first, differences)


def of_documents(
    number: int, sizes: Sequence[int], icc: float, draws: int, seed: int = SEED
) -> Shares:
    """What comes of so many draws of such documents."""
    random = Random(f"{seed} {number} {sizes} {icc}")
    alarms = worse = held = rate = 0
    for _ in range(draws):
        drawn = documents(random, number, sizes, icc)
        data = Differences(drawn.differences, rates=True)
        p = data.p()
        low, high = data.interval()
        alarms += verdict(data, p) in ("better", "worse")
        worse += gate_rule(data, p, margin=0.05) == "worse"
        held += low <= 0 <= high
        units = ((math.fsum(cases) / len(cases), 1) for cases in drawn.first)
        _, least, most = mean_on_scale(units, (0, 1)) or (0.0, 0.0, 1.0)
        rate += least <= RATE <= most
    return Shares(*(100 * n / draws for n in (alarms, worse, held, rate)))


RARE: tuple[tuple[int, int, float, float], ...] = (
    (10, 3, 0.1, 40),
    (20, 10, 0.05, 10),
    (30, 4, 0.1, 20),
    (50, 2, 0.03, 20),
)
"""Documents, their cases, the share of documents that turn the mean, and how many cases those have."""


def of_rare_documents(
    number: int, size: int, rare: float, large: int, draws: int, seed: int = SEED
) -> float:
    """In how many of a hundred draws one is better: a little better in most documents, much worse in a few.

    The mean over documents is equal.
    """
    random = Random(f"{seed} {number} {size} {rare} {large}")
    loss = -0.9
    gain = -loss * rare / (1 - rare)
    alarms = 0
    for _ in range(draws):
        clusters: list[list[float]] = []
        for _ in range(number):
            turned = random.random() < rare
            chance, cases = (-loss, large) if turned else (gain, size)
            step = -1.0 if turned else 1.0
            clusters.append([step * (random.random() < chance) for _ in range(cases)])
        data = Differences(clusters, rates=True)
        alarms += verdict(data, data.p()) in ("better", "worse")
    return 100 * alarms / draws


def rows(draws: int) -> Iterator[str]:
    """All of them."""
    yield "documents × cases, icc: found to differ (≤ 5) · gate says worse (≤ 2.5) · difference held · rate held (≥ 95)"
    for number, sizes, icc in SHAPES:
        each = of_documents(number, sizes, icc, draws)
        size = ", ".join(map(str, dict.fromkeys(sizes)))
        yield f"{number} × {size}, {icc}: " + " · ".join(f"{share:.1f}" for share in each)
    yield "a few documents turn the mean: found to differ (≤ 5)"
    for number, size, rare, large in RARE:
        share = of_rare_documents(number, size, rare, large, draws)
        yield f"{number} × {size}, {rare:.0%} of them × {large}: {share:.1f}"


def main(put: Callable[[str], object] = print) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    put(f"seed {SEED}, {draws:,} draws each")
    for row in rows(draws):
        put(row)


if __name__ == "__main__":
    main()
