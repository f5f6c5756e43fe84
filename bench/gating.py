"""How often a gate blocks and passes: simulated pull requests on paired cases, with the rule that `evenhand gate` has.

`python bench/gating.py --draws 2000` prints two lines for each true difference: of a gate that runs all cases, and of
one that stops as soon as it is decided, with the share of the cases that it ran.

`--recorded FILE` draws the cases from recorded ones instead: a CSV with the columns `pair`, `before` and `after`, a row
for each case, of 0 or 1. Cases of each pair of systems are drawn with replacement; a pair named `same …` has before
and after swapped in half of them by chance, so that nothing has changed but which cases come out otherwise.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from evenhand.analysis.gates.early_stopping import LOOKS
from evenhand.analysis.gates.gate_rule import gate_rule
from evenhand.stats.control_variates import Ran, Unit, adjusted_differences
from evenhand.stats.looks import look_levels
from evenhand.stats.paired_difference import LEVEL, Differences

SEED = 20_240_229
CELLS = (
    # cases, share that differs, true difference, margin
    (500, 0.10, 0.00, 0.05),
    (500, 0.20, 0.00, 0.05),
    (200, 0.10, 0.00, 0.05),
    (500, 0.10, -0.05, 0.05),
    (500, 0.20, -0.15, 0.05),
    (500, 0.20, 0.05, 0.05),
    (1000, 0.10, 0.00, 0.03),
    (1000, 0.20, -0.10, 0.05),
)


Pair = tuple[float, float]
"""What a case came to before, and now."""
PASSING = 0.8
"""The share of the cases that come out alike which pass."""


def pull_request(random: Random, n: int, differing: float, difference: float) -> list[Pair]:
    """What its cases came to, in random order."""
    ahead, behind = (differing + difference) / 2, (differing - difference) / 2
    pairs: list[Pair] = []
    for _ in range(n):
        draw = random.random()
        alike = float(random.random() < PASSING)
        pairs.append(
            (0.0, 1.0) if draw < ahead else (1.0, 0.0) if draw < ahead + behind else (alike, alike)
        )
    return pairs


def gate(pairs: Sequence[Pair], margin: float, level: float = LEVEL) -> str:
    """What the gate says of all cases."""
    data = Differences([(now - before,) for before, now in pairs], rates=True)
    return gate_rule(data, data.p(), margin=margin, level=level)


def stopping(pairs: Sequence[Pair], margin: float) -> tuple[str, int]:
    """What a gate says that stops as soon as it is decided, and after how many cases."""
    of = len(pairs)
    suite = [Unit(before, before) for before, _ in pairs]
    looks = sorted({math.ceil(of * k / LOOKS) for k in range(1, LOOKS + 1)})
    levels = look_levels([n / of for n in looks], LEVEL)
    for n, level in zip(looks[:-1], levels[:-1], strict=True):
        run = [Ran(i, now, now, n / of) for i, (_, now) in enumerate(pairs[:n])]
        adjusted = adjusted_differences(suite, run, (0, 1))
        scale = adjusted.scale if adjusted.fitted else None
        data = Differences([(d,) for d in adjusted.least], rates=True, scale=scale)
        word = gate_rule(data, data.p(), margin=margin, level=level)
        if word != "undecided":
            return word, n
    return gate(pairs, margin, levels[-1]), of


def recorded(path: Path) -> dict[str, list[Pair]]:
    """What the recorded cases of each pair of systems came to."""
    pairs = defaultdict[str, list[Pair]](list)
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            pairs[row["pair"]].append((float(row["before"]), float(row["after"])))
    return pairs


def drawn(random: Random, pairs: Sequence[Pair], n: int, *, same: bool) -> list[Pair]:
    """So many recorded cases, drawn with replacement."""
    return [
        pair[::-1] if same and random.random() < 0.5 else pair
        for pair in random.choices(pairs, k=n)
    ]


def shares(draw: Callable[[], list[Pair]], margin: float, draws: int) -> list[list[float]]:
    """Shares that were blocked, passed and undecided, and of cases run: of a whole gate, and of one that stops."""
    whole, early, used, cases = Counter[str](), Counter[str](), 0, 0
    for _ in range(draws):
        pairs = draw()
        whole[gate(pairs, margin)] += 1
        word, n = stopping(pairs, margin)
        early[word] += 1
        used += n
        cases += len(pairs)
    return [
        [
            words["worse"] / draws,
            (words["better"] + words["non-inferior"]) / draws,
            words["undecided"] / draws,
            run,
        ]
        for words, run in ((whole, 1.0), (early, used / cases))
    ]


def main() -> None:
    """Prints the shares of each verdict."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--recorded", type=Path, help="a CSV with the columns pair, before, after")
    parser.add_argument("--cases", type=int, default=500, help="cases drawn from recorded ones")
    parser.add_argument("--margin", type=float, default=0.05, help="the margin for recorded ones")
    flags = parser.parse_args()
    random = Random(SEED)
    print("cases  differing  true difference  margin  blocked  passed  undecided  run")

    def show(
        draw: Callable[[], list[Pair]], n: int, of: tuple[float, float, float], name: str = ""
    ) -> None:
        differing, difference, margin = of
        for row in shares(draw, margin, flags.draws):
            print(
                f"{n:5}  {differing:9.2f}  {difference:15.2f}  {margin:6.2f}  "
                + "  ".join(f"{one:7.3f}" for one in row)
                + f"  {name}".rstrip()
            )

    if flags.recorded:
        for name, pairs in recorded(flags.recorded).items():
            same, n = name.startswith("same"), flags.cases
            signs = [now - before for before, now in pairs]
            differing = sum(map(abs, signs)) / len(signs)
            difference = 0.0 if same else sum(signs) / len(signs)
            show(
                lambda pairs=pairs, n=n, same=same: drawn(random, pairs, n, same=same),
                n,
                (differing, difference, flags.margin),
                name,
            )
        return
    for n, differing, difference, margin in CELLS:
        show(
            lambda n=n, differing=differing, difference=difference: pull_request(
                random, n, differing, difference
            ),
            n,
            (differing, difference, margin),
        )


if __name__ == "__main__":
    main()
