"""How often a gate blocks and passes: simulated pull requests on paired cases, with the rule that `evenhand gate` has.

`python bench/gating.py --draws 2000` prints two lines for each true difference: of a gate that runs all cases, and of
one that stops as soon as it is decided, with the share of the cases that it ran.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from random import Random

from evenhand.report.gate_deciding import BETS, LAST
from evenhand.stats.gating import gate_rule
from evenhand.stats.paired import LEVEL, Differences
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


def main() -> None:
    """Prints the shares of each verdict."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=2000)
    draws: int = parser.parse_args().draws
    random = Random(SEED)
    print("cases  differing  true difference  margin  blocked  passed  undecided  run")
    for n, differing, difference, margin in CELLS:
        whole, early, used = Counter[str](), Counter[str](), 0
        for _ in range(draws):
            signs = pull_request(random, n, differing, difference)
            whole[gate(signs, margin)] += 1
            word, cases = stopping(signs, margin)
            early[word] += 1
            used += cases
        for words, share in ((whole, 1.0), (early, used / n / draws)):
            passed = words["better"] + words["non-inferior"]
            shares = [count / draws for count in (words["worse"], passed, words["undecided"])]
            print(
                f"{n:5}  {differing:9.2f}  {difference:15.2f}  {margin:6.2f}  "
                + "  ".join(f"{one:7.3f}" for one in (*shares, share))
            )


if __name__ == "__main__":
    main()
