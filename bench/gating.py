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
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from evenhand.analysis.gates.early_stopping import BETS, LAST
from evenhand.analysis.gates.gate_rule import gate_rule
from evenhand.stats.paired_difference import LEVEL, Differences
from evenhand.stats.sequential import MarginWatch

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


def pull_request(random: Random, n: int, differing: float, difference: float) -> list[float]:
    """The differences of its cases, now minus before, in random order."""
    ahead, behind = (differing + difference) / 2, (differing - difference) / 2
    signs: list[float] = []
    for _ in range(n):
        draw = random.random()
        signs.append(1.0 if draw < ahead else -1.0 if draw < ahead + behind else 0.0)
    return signs


def gate(signs: Sequence[float], margin: float, level: float = LEVEL) -> str:
    """What the gate says of all cases."""
    data = Differences([(sign,) for sign in signs], rates=True)
    return gate_rule(data, data.p(), margin=margin, level=level)


def stopping(signs: Sequence[float], margin: float) -> tuple[str, int]:
    """What a gate says that stops as soon as it is decided, and after how many cases."""
    watch = MarginWatch(margin, BETS)
    for n, sign in enumerate(signs, 1):
        watch.add(sign)
        if watch.decides("worse"):
            return "worse", n
        if watch.decides("not worse"):
            return "non-inferior", n
    return gate(signs, margin, LAST), len(signs)


def recorded(path: Path) -> dict[str, list[float]]:
    """The differences of the recorded cases of each pair of systems."""
    pairs = defaultdict[str, list[float]](list)
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            pairs[row["pair"]].append(float(row["after"]) - float(row["before"]))
    return pairs


def drawn(random: Random, signs: Sequence[float], n: int, *, same: bool) -> list[float]:
    """The differences of `n` recorded cases, drawn with replacement."""
    return [sign * random.choice((1, -1)) if same else sign for sign in random.choices(signs, k=n)]


def shares(draw: Callable[[], list[float]], margin: float, draws: int) -> list[list[float]]:
    """Shares that were blocked, passed and undecided, and of cases run: of a whole gate, and of one that stops."""
    whole, early, used, cases = Counter[str](), Counter[str](), 0, 0
    for _ in range(draws):
        signs = draw()
        whole[gate(signs, margin)] += 1
        word, n = stopping(signs, margin)
        early[word] += 1
        used += n
        cases += len(signs)
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
        draw: Callable[[], list[float]], n: int, of: tuple[float, float, float], name: str = ""
    ) -> None:
        differing, difference, margin = of
        for row in shares(draw, margin, flags.draws):
            print(
                f"{n:5}  {differing:9.2f}  {difference:15.2f}  {margin:6.2f}  "
                + "  ".join(f"{one:7.3f}" for one in row)
                + f"  {name}".rstrip()
            )

    if flags.recorded:
        for name, signs in recorded(flags.recorded).items():
            same, n = name.startswith("same"), flags.cases
            differing = sum(map(abs, signs)) / len(signs)
            difference = 0.0 if same else sum(signs) / len(signs)
            show(
                lambda signs=signs, n=n, same=same: drawn(random, signs, n, same=same),
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
