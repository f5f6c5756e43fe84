"""How likely the number of cases that `evenhand info power` prints is to show the difference: 80 % is promised.

    python bench/power.py                        # a minute
    python bench/power.py --draws 2000           # the simulated rows more exactly

Pass rates, differences and how alike two variants are make a grid of which the power is exact: of all numbers of cases
that may differ, and all ways in which they may divide. With repeats it is drawn. Seed 20261128.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from random import Random

from evenhand.analysis.trust.power import Pilot, Power
from evenhand.stats.paired_difference import Differences, verdict
from evenhand.stats.paired_rates import mcnemar, paired_rates
from evenhand.stats.power import disagreement

SEED = 20_261_128
RATES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
DIFFERENCES = (0.05, 0.1, 0.2, 0.3)
CORRELATIONS = (0.0, 0.3, 0.5, 0.7)


def exact(n: int, difference: float, differing: float) -> float:
    """The chance that `compare` shows a difference of n cases: McNemar's p at most 0.05, Tango's interval without 0."""
    total, log = 0.0, math.lgamma
    up = (differing + difference) / 2 / differing
    for m in range(n + 1):
        of_m = log(n + 1) - log(m + 1) - log(n - m + 1)
        of_m += m * math.log(differing) + ((n - m) * math.log1p(-differing) if m < n else 0.0)
        if of_m < -30:
            continue
        for better in range(m + 1):
            worse = m - better
            if up >= 1 and worse:
                continue
            of_better = log(m + 1) - log(better + 1) - log(worse + 1) + better * math.log(up)
            of_better += worse * math.log1p(-up) if worse else 0.0
            if of_m + of_better < -30 or mcnemar(better, worse) > 0.05:
                continue
            rates = paired_rates(n, better, worse)
            total += math.exp(of_m + of_better) * (rates.low > 0 or rates.high < 0)
    return total


def grid(
    rates: tuple[float, ...] = RATES, differences: tuple[float, ...] = DIFFERENCES
) -> Iterator[tuple[float, float, float, int, float]]:
    """The other rate and how alike the two are, from which rate, with the cases that are printed, and their power."""
    for rate in rates:
        for difference in differences:
            for alike in CORRELATIONS:
                power = Power(Pilot(rate=rate, alike=alike, measured=True), difference, 0.05)
                for change in power.changes():
                    differing = max(difference, disagreement(rate, change.to, alike))
                    reached = exact(power.cases, difference, min(1 - 1e-12, differing))
                    yield rate, change.to, alike, power.cases, reached


def with_repeats(
    rates: tuple[float, float],
    spread: float,
    cases: int,
    repeats: int,
    draws: int,
    seed: int = SEED,
) -> float:
    """The chance that `compare` shows a difference of cases that are repeated, and of which some are hard.

    Args:
        rates: The pass rates of the two.
        spread: How far cases lie from them, up or down, half of them each.
        cases: How many.
        repeats: Of each case.
        draws: So many are drawn.
        seed: Of the draws.
    """
    random = Random(f"{seed} {rates} {spread} {cases} {repeats}")
    alarms = 0
    for _ in range(draws):
        differences: list[list[float]] = []
        for _ in range(cases):
            step = spread * random.choice((-1, 1))
            first, second = (
                sum(random.random() < rate + step for _ in range(repeats)) / repeats
                for rate in rates
            )
            differences.append([second - first])
        data = Differences(differences, rates=True, repeats=repeats)
        alarms += verdict(data, data.p()) in ("better", "worse")
    return alarms / draws


def main(put: Callable[[str], object] = print) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    draws = parser.parse_args().draws
    rows = list(grid())
    put("rate → rate, correlation: cases, exact power in %")
    for rate, to, alike, cases, reached in rows:
        put(f"{rate:.2f} → {to:.2f}, {alike}: {cases}, {100 * reached:.1f}")
    put(f"the least of {len(rows)}: {100 * min(row[-1] for row in rows):.1f}")
    put(f"with repeats, {draws} draws each, seed {SEED}")
    for spread in (0.0, 0.2, 0.3):
        rates = (0.7, 0.6)
        within = sum(r * (1 - r) - spread**2 for r in rates) / 2
        pilot = Pilot(
            rate=0.7, alike=spread**2 / math.sqrt(0.21 * 0.24), within=within, measured=True
        )
        for repeats, cases in Power(pilot, 0.1, 0.05).repeats():
            reached = with_repeats(rates, spread, cases, repeats, draws)
            put(f"cases ±{spread}, {repeats} repeats: {cases} cases, {100 * reached:.1f}")


if __name__ == "__main__":
    main()
