"""How often a gate blocks and passes: simulated pull requests on paired cases, with the rule that `evenhand gate` has.

`python bench/gating.py --draws 2000` prints a line for each true difference.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random

from evenhand.stats.gating import gate_rule
from evenhand.stats.paired import Differences

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


def gate(random: Random, n: int, differing: float, difference: float, margin: float) -> str:
    """What the gate says of one simulated pull request."""
    ahead, behind = (differing + difference) / 2, (differing - difference) / 2
    signs: list[float] = []
    for _ in range(n):
        draw = random.random()
        signs.append(1.0 if draw < ahead else -1.0 if draw < ahead + behind else 0.0)
    data = Differences([(sign,) for sign in signs], rates=True)
    return gate_rule(data, data.p(), margin=margin)


def main() -> None:
    """Prints the shares of each verdict."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=2000)
    draws: int = parser.parse_args().draws
    random = Random(SEED)
    print("cases  differing  true difference  margin  blocked  passed  undecided")
    for n, differing, difference, margin in CELLS:
        words = Counter(gate(random, n, differing, difference, margin) for _ in range(draws))
        passed = words["better"] + words["non-inferior"]
        shares = [count / draws for count in (words["worse"], passed, words["undecided"])]
        print(
            f"{n:5}  {differing:9.2f}  {difference:15.2f}  {margin:6.2f}  "
            + "  ".join(f"{share:7.3f}" for share in shares)
        )


if __name__ == "__main__":
    main()
