"""How often the intervals of rankings cover what they should.

python bench/preferences.py [DRAWS]

First in answers that are drawn from a model whose cases have strengths of their own, so that answers about a case
depend on each other; the truth is what 4,000 such cases give. Then in people's votes of PandaLM, where
../shared/data/judges has them: the truth is what all of its 999 pairs give, and each draw takes pairs with replacement.
"""

from __future__ import annotations

import csv
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from evenhand.stats.bradley_terry import Comparison, Strengths, fit

SEED = 7
VOTES = Path(__file__).parents[2] / "shared/data/judges/pandalm_labels__Apache2.csv"
SETTINGS = {
    "2 alike": ((0, 0), 0.3, -0.5),
    "2 far apart": ((1.8, -1.8), 0.3, -3.0),
    "4": ((1, 0.3, -0.3, -1), 0.5, -0.5),
    "4 far apart": ((3, 0.5, -0.5, -3), 1.5, -2.0),
}


def answers(
    draw: random.Random, cases: int, strengths: Sequence[float], place: float, ties: float
) -> list[Comparison]:
    """Every pair of each case in both orders."""
    games: list[Comparison] = []
    for case in range(cases):
        own = [strength + draw.gauss(0, 1) for strength in strengths]
        for pair in combinations(range(len(own)), 2):
            for first, second in (pair, pair[::-1]):
                half = (own[first] - own[second] + place) / 2
                odds = [math.exp(half), math.exp(-half), math.exp(ties)]
                (answer,) = draw.choices(("first", "second", "tie"), odds)
                games.append(Comparison(str(case), first, second, answer))
    return games


def coverage(truth: Strengths, one: Callable[[], Sequence[Comparison]], draws: int) -> str:
    """The shares of intervals that cover: of the chances against the average, of the pairs, and of the place."""
    hits, counts, width = [0, 0, 0], [0, 0, 0], 0.0
    for _ in range(draws):
        fitted = fit(one())
        pairs = [*combinations(fitted.columns, 2)]
        rates = [
            *((0, fitted.chance(c), truth.chance(c)) for c in fitted.columns),
            *((1, fitted.beats(*pair), truth.beats(*pair)) for pair in pairs),
            (2, fitted.first_wins(), truth.first_wins()),
        ]
        for kind, (_, low, high), true in rates:
            hits[kind] += low <= true.value <= high
            counts[kind] += 1
            width += (high - low) * (kind == 0)
    shares = [f"{100 * hit / count:5.1f} %" for hit, count in zip(hits, counts, strict=True)]
    return f"{'  '.join(shares)}   width {100 * width / counts[0]:.0f} points"


def votes() -> dict[str, list[Comparison]]:
    """People's votes on each pair, three of them; 0 is a tie."""
    models: dict[str, int] = {}
    by_pair: dict[str, list[Comparison]] = {}
    with VOTES.open() as lines:
        for row in csv.DictReader(lines):
            one, two = (models.setdefault(name, len(models)) for name in row["pair"].split("_", 1))
            by_pair[row["idx"]] = [
                Comparison(
                    row["idx"], one, two, {"0": "tie", "1": "first", "2": "second"}[row[human]]
                )
                for human in ("human1", "human2", "human3")
            ]
    return by_pair


def resampled(
    draw: random.Random, by_pair: dict[str, list[Comparison]], cases: int
) -> list[Comparison]:
    """Pairs with replacement; one that comes twice is two cases."""
    drawn = draw.choices([*by_pair.values()], k=cases)
    return [vote._replace(cluster=str(i)) for i, pair in enumerate(drawn) for vote in pair]


def main() -> None:
    """Prints a line for each setting and number of cases."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"{draws} draws each, seed {SEED}: against the average, of pairs, of the place")
    draw, start = random.Random(SEED), time.process_time()
    for name, setting in SETTINGS.items():
        truth = fit(answers(draw, 4000, *setting), prior=False)
        for cases in (5, 10, 20, 50):
            line = coverage(truth, lambda: answers(draw, cases, *setting), draws)  # noqa: B023 (used at once)
            print(f"{name:12} {cases:4} cases  {line}", flush=True)
    if VOTES.is_file():
        by_pair = votes()
        truth = fit([vote for pair in by_pair.values() for vote in pair], prior=False)
        for cases in (30, 100, 300):
            line = coverage(truth, lambda: resampled(draw, by_pair, cases), draws)  # noqa: B023 (used at once)
            print(f"{'PandaLM':12} {cases:4} pairs  {line}", flush=True)
    else:
        print(f"there are no votes at {VOTES}")
    print(f"{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
