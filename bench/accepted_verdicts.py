"""How often more verdicts than agreed are wrong among those that `--accept-risk` accepts, with repeats and with looks.

    python bench/accepted_verdicts.py [DRAWS]

The judge is as sure of a case as it is likely to be right, from a half to one, and right or wrong on repeats of a case
with a correlation of 0.3 or 1. Counted are draws in which more are wrong than agreed: of the run's accepted verdicts,
which is what is promised, and of verdicts on other cases with the same threshold, which is not. Then somebody looks
after every few labels, and takes the first threshold there is, of judges that err a little too often. 300 draws of all
settings take five minutes.
"""

from __future__ import annotations

import sys
from random import Random

from evenhand.stats.selective import DELTA, acceptable

SIZES = ((40, 5, 100), (60, 5, 100), (200, 5, 100), (40, 5, 50), (20, 10, 100), (100, 3, 150))
"""Cases, repeats and labels."""
ALIKE = (0.3, 1.0)
RISKS = (0.1, 0.2)


def chance_of(random: Random, sure: float, alike: float) -> float:
    """How likely the judge is to be right on the repeats of a case of which it is so sure."""
    if alike == 1:
        return float(random.random() < sure)
    size = (1 - alike) / alike
    return random.betavariate(sure * size, (1 - sure) * size)


def run_of(random: Random, cases: int, repeats: int, alike: float) -> list[tuple[float, bool]]:
    """How sure the judge is of each output, and whether people agree."""
    items: list[tuple[float, bool]] = []
    for _ in range(cases):
        sure = random.uniform(0.5, 0.999)
        chance = chance_of(random, sure, alike)
        items += [(sure, random.random() < chance) for _ in range(repeats)]
    return items


def looks(draws: int) -> float:
    """The worst share of draws in which a judge that errs a little too often is accepted, whenever somebody looks."""
    worst = 0.0
    print(
        "outputs risk  looks after every   accepted though too many are wrong: equally sure, sure at random"
    )
    for outputs, risk in ((400, 0.1), (1000, 0.1), (400, 0.2)):
        for every in (1, 10, 20, 200):
            random = Random(f"{outputs} {risk} {every}")
            shares: list[float] = []
            for alike in (True, False):
                broken = 0
                for _ in range(draws if every > 1 else draws // 4):
                    wrong = int(risk * outputs) + 1
                    items = [
                        (1.0 if alike else random.random(), n >= wrong) for n in range(outputs)
                    ]
                    random.shuffle(items)
                    broken += too_many(items, risk, every)
                shares.append(broken / (draws if every > 1 else draws // 4))
            worst = max(worst, *shares)
            print(
                f"{outputs:>7} {risk:>4} {every:>18}   {shares[0]:.1%}, {shares[1]:.1%}", flush=True
            )
    return worst


def too_many(items: list[tuple[float, bool]], risk: float, every: int) -> bool:
    """Whether the first threshold that there is lets too many wrong verdicts through."""
    sure = [one for one, _ in items]
    for looked in range(every, 201, every):
        accepted = acceptable(items[:looked], sure, risk)
        if accepted is not None:
            agrees = [right for one, right in items if one >= accepted.threshold]
            return agrees.count(False) > risk * len(agrees)
    return False


def main() -> None:
    """Prints a line for each setting, then the worst."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    worst = [0.0, 0.0]
    print("cases repeats labels alike risk   accepts  too many wrong: in the run, on other cases")
    for cases, repeats, labels in SIZES:
        for alike in ALIKE:
            for risk in RISKS:
                random = Random(f"{cases} {repeats} {labels} {alike} {risk}")
                accepts = in_run = elsewhere = 0
                for _ in range(draws):
                    items = run_of(random, cases, repeats, alike)
                    labelled = random.sample(items, labels)
                    accepted = acceptable(labelled, [sure for sure, _ in items], risk)
                    if accepted is None:
                        continue
                    accepts += 1
                    agrees = [right for sure, right in items if sure >= accepted.threshold]
                    in_run += len(agrees) - sum(agrees) > risk * len(agrees)
                    elsewhere += (0.999 - accepted.threshold) / 2 + 0.001 > risk
                shares = in_run / draws, elsewhere / draws
                worst = [max(pair) for pair in zip(worst, shares, strict=True)]
                print(
                    f"{cases:>5} {repeats:>7} {labels:>6} {alike:>5} {risk:>4}   {accepts / draws:>7.0%}"
                    f"  {shares[0]:.1%}, {shares[1]:.1%}",
                    flush=True,
                )
    print(f"worst, whenever somebody looks: {looks(draws):.1%}")
    print(f"worst: {worst[0]:.1%}, {worst[1]:.1%}; promised of the run: at most {DELTA:.0%}")


if __name__ == "__main__":
    main()
