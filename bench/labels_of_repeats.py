"""How often the corrected rate of repeated cases holds.

    python bench/labels_of_repeats.py [DRAWS]

Cases are alike to some degree: people's verdicts on repeats of a case, and the judge's errors, have a correlation of
0.3, 0.65 or 1. What people would say of all cases there could be has to lie in the interval. Seeded; 500 draws of all
settings take about half an hour.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product
from random import Random
from statistics import fmean
from typing import NamedTuple

from evenhand.stats.correction import Verdicts, corrected_rate
from evenhand.stats.design_effect import CaseLabel, design_effects

SIZES = ((40, 100), (60, 50), (200, 35))  # cases and labels: 32 to 40 cases are labelled
REPEATS = (3, 5)
ALIKE = (0.3, 0.65, 1.0)
RATES = (0.5, 0.8, 0.95)
JUDGES = ((0.95, 0.6), (0.8, 0.9))  # TPR and TNR
CELLS = tuple(product((True, False), repeat=2))


class Setting(NamedTuple):
    """What is simulated."""

    size: tuple[int, int]
    repeats: int
    alike: float
    rate: float
    judge: tuple[float, float]


def of_case(random: Random, chance: float, alike: float) -> float:
    """A case's own chance: beta-binomial, so that two trials of it have this correlation."""
    if alike == 1:
        return float(random.random() < chance)
    size = (1 - alike) / alike
    return random.betavariate(chance * size, (1 - chance) * size)


def run_of(random: Random, setting: Setting) -> list[CaseLabel]:
    """All trials, as people and the judge find them."""
    trials: list[CaseLabel] = []
    for case in range(setting.size[0]):
        rate, tpr, tnr = (of_case(random, p, setting.alike) for p in (setting.rate, *setting.judge))
        for _ in range(setting.repeats):
            people = random.random() < rate
            judge = random.random() < tpr if people else random.random() >= tnr
            trials.append(CaseLabel(str(case), people, judge))
    return trials


def measured(setting: Setting, seed: int, draws: int) -> list[tuple[float, float]]:
    """The coverage and the mean width: with each trial a case of its own, and with cases as they are."""
    random = Random(seed)
    held: list[list[float]] = [[], []]
    widths: list[list[float]] = [[], []]
    for _ in range(draws):
        trials = run_of(random, setting)
        labels = random.sample(trials, setting.size[1])
        counts = Counter((one.people, one.judge) for one in labels)
        passed = sum(one.judge for one in trials)
        verdicts = Verdicts(*(counts[cell] for cell in CELLS), passed, len(trials))
        judged = [(one.case, one.judge) for one in trials]
        effects = design_effects(judged, labels, same_trials=True)
        for i, result in enumerate(
            (corrected_rate(verdicts), corrected_rate(verdicts, effects=effects))
        ):
            assert result is not None
            held[i].append(result.low <= setting.rate <= result.high)
            widths[i].append(result.high - result.low)
    return [(fmean(held[i]), fmean(widths[i])) for i in (0, 1)]


def main() -> None:
    """Prints a line for each setting, then means and the worst."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    results: list[list[tuple[float, float]]] = []
    print("cases labels repeats alike rate  TPR  TNR   trials as cases   cases")
    for seed, each in enumerate(product(SIZES, REPEATS, ALIKE, RATES, JUDGES)):
        setting = Setting(*each)
        before, now = measured(setting, seed, draws)
        results.append([before, now])
        (cases, labels), (tpr, tnr) = setting.size, setting.judge
        print(
            f"{cases:>5} {labels:>6} {setting.repeats:>7} {setting.alike:>5} {setting.rate:>4} {tpr:>4} {tnr:>4}"
            f"   {before[0]:.1%} ±{before[1] / 2:.3f}   {now[0]:.1%} ±{now[1] / 2:.3f}",
            flush=True,
        )
    for i, name in enumerate(("trials as cases", "cases")):
        coverage = [one[i][0] for one in results]
        width = fmean(one[i][1] for one in results)
        print(f"{name}: {fmean(coverage):.1%}, worst {min(coverage):.1%}, ±{width / 2:.3f}")


if __name__ == "__main__":
    main()
