"""How far the parts of a mean's variance are from the true ones, and how often their intervals hold.

    python bench/variance_parts.py               # two minutes
    python bench/variance_parts.py --draws 300   # quicker, and rougher

Pass rates and scores, one variant or the difference of two, with equal and unequal repeats, missing trials, and cases
in clusters; judges that are asked again; wordings of a prompt. For each part: the mean of its estimates, cut at 0 as
they are shown, the true part, and the coverage of 95 % intervals. The last table foretells the variance of a mean with
other numbers of cases and repeats, and compares it with that of draws. Seed 20261129.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from statistics import fmean, variance
from typing import NamedTuple

from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.variance_parts import (
    CaseSides,
    Part,
    judge_part,
    variance_parts,
    wording_part,
)

SEED = 20_261_129
NAMES = ("clusters", "cases", "repeats")


class Setting(NamedTuple):
    """What is drawn, the true parts (clusters, cases, repeats), and how far apart two scores can be."""

    name: str
    draw: Callable[[Random], list[CaseSides]]
    truth: tuple[float | None, float, float]
    reach: float | None


def rates(
    random: Random, cases: int, repeats: Sequence[int], a: float, b: float
) -> list[CaseSides]:
    """Cases with chances from a beta distribution, each with one of these numbers of trials."""
    chances = [random.betavariate(a, b) for _ in range(cases)]
    return [
        CaseSides(([float(random.random() < p) for _ in range(random.choice(repeats))],))
        for p in chances
    ]


def scores(
    random: Random, cases: int, repeats: Sequence[int], own: float, trial: float
) -> list[CaseSides]:
    """Normal scores with these standard deviations of cases and trials."""
    means = [random.gauss(0, own) for _ in range(cases)]
    return [
        CaseSides(([random.gauss(mean, trial) for _ in range(random.choice(repeats))],))
        for mean in means
    ]


def clusters(random: Random, number: int, sizes: Sequence[int], of: float) -> list[CaseSides]:
    """Clusters of cases, of one to three trials; standard deviations `of`, 1 and 0.7."""
    cases: list[CaseSides] = []
    for cluster in range(number):
        mean = random.gauss(0, of)
        for _ in range(random.choice(sizes)):
            own = random.gauss(mean, 1)
            tries = random.choice((1, 2, 3))
            cases.append(CaseSides(([random.gauss(own, 0.7) for _ in range(tries)],), cluster))
    return cases


def pairs(random: Random, cases: int, repeats: tuple[int, int], missing: float) -> list[CaseSides]:
    """Differences of two variants, of which the second is better on some cases; some trials are missing."""
    drawn: list[CaseSides] = []
    for _ in range(cases):
        first = random.random()
        second = min(1.0, first + random.choice((0, 0.3)))
        sides = tuple(
            [float(random.random() < p) for k in range(n) if not k or random.random() >= missing]
            for p, n in zip((first, second), repeats, strict=True)
        )
        drawn.append(CaseSides(sides))
    return drawn


def of_pairs() -> tuple[None, float, float]:
    """The true parts of `pairs`."""
    chances = [
        (p, min(1.0, p + step))
        for p in [(i + 0.5) / 5000 for i in range(5000)]
        for step in (0, 0.3)
    ]
    moves = [b - a for a, b in chances]
    within = fmean(a * (1 - a) + b * (1 - b) for a, b in chances)
    return None, fmean(m * m for m in moves) - fmean(moves) ** 2, within


def of_rates(a: float, b: float) -> tuple[None, float, float]:
    """The true parts of `rates`."""
    mean = a / (a + b)
    own = mean * (1 - mean) / (a + b + 1)
    return None, own, mean * (1 - mean) - own


def settings() -> list[Setting]:
    """All that is drawn."""
    return [
        *(
            Setting(f"{n} cases, rates, {r} repeats, Beta({a}, {b})",
                    partial(rates, cases=n, repeats=r, a=a, b=b), of_rates(a, b), 1)
            for n in (10, 20, 50, 200)
            for r, a, b in (((2,), 2, 1), ((1, 2, 5), 0.5, 0.3), ((5,), 8, 2))
        ),
        *(
            Setting(f"{n} cases, scores ±{own} ±1, {r} repeats",
                    partial(scores, cases=n, repeats=r, own=own, trial=1), (None, own**2, 1), None)
            for n in (10, 20, 50, 200)
            for r, own in (((3,), 1), ((1, 3), 0.2))
        ),
        *(
            Setting(f"{n} clusters of {sizes} ±{of}",
                    partial(clusters, number=n, sizes=sizes, of=of), (of**2, 1, 0.49), None)
            for n in (10, 20, 50, 200)
            for sizes, of in (((1, 3, 6), 0.5), ((4,), 1))
        ),
        *(
            Setting(f"{n} pairs, {r} repeats, {100 * missing:.0f} % missing",
                    partial(pairs, cases=n, repeats=r, missing=missing), of_pairs(), 1)
            for n in (20, 50, 200)
            for r, missing in (((2, 2), 0.0), ((5, 3), 0.2))
        ),
    ]  # fmt: skip


def measured(setting: Setting, draws: int) -> dict[str, tuple[float, float, float]]:
    """By part the mean of its estimates, the true one, and how often its interval holds."""
    random = Random(f"{SEED} {setting.name}")
    every: dict[str, list[Part]] = {}
    for _ in range(draws):
        parts = variance_parts(setting.draw(random), setting.reach)
        for name, part in zip(NAMES, (parts.clusters, parts.cases, parts.repeats) if parts else (),
                              strict=False):  # fmt: skip
            if part is not None:
                every.setdefault(name, []).append(part)
    return {
        name: (
            fmean(part.value for part in every[name]),
            truth,
            fmean(part.low <= truth <= part.high for part in every[name]),
        )
        for name, truth in zip(NAMES, setting.truth, strict=True)
        if truth is not None
    }


def judges(outputs: int, asked: int, wavering: float, draws: int) -> float:
    """How often the judge's part holds: outputs that are judged several times, some of which it is unsure of."""
    random = Random(f"{SEED} {outputs} {asked} {wavering}")
    held = 0
    for _ in range(draws):
        shares: list[tuple[float, int]] = []
        for _ in range(outputs):
            chance = random.random() if random.random() < wavering else random.choice((0, 1))
            passed = sum(random.random() < chance for _ in range(asked))
            shares.append((1 - 2 * passed * (asked - passed) / (asked * (asked - 1)), 1))
        agreement = mean_on_scale(shares, (0.0, 1.0))
        part = judge_part(agreement or (0.0, 0.0, 1.0))
        held += part.low <= wavering / 6 <= part.high  # p(1 − p) is 1/6 on average
    return held / draws


def wordings(number: int, cases: int, moved: float, draws: int) -> float:
    """How often the wording's part holds: wordings that move the mean, and cases each in its own way."""
    random = Random(f"{SEED} {number} {cases} {moved}")
    held = 0
    for _ in range(draws):
        own = [random.gauss(0, 1) for _ in range(cases)]
        means = [random.gauss(0, moved) for _ in range(number)]
        part, _ = wording_part(
            [[mean + one + random.gauss(0, 0.5) for one in own] for mean in means]
        )
        held += part.low <= moved**2 <= part.high
    return held / draws


def foretold(draws: int) -> list[tuple[int, int, float]]:
    """From 100 cases twice each: the foretold variance of other means over that of draws."""
    random = Random(SEED)
    rows: list[tuple[int, int, float]] = []
    pilots = [variance_parts(rates(random, 100, (2,), 2, 1), 1) for _ in range(40)]
    for cases, repeats in ((40, 1), (100, 5), (300, 1), (300, 3)):
        means = [
            fmean(fmean(one.sides[0]) for one in rates(random, cases, (repeats,), 2, 1))
            for _ in range(draws)
        ]
        value = fmean(parts.of_mean(cases, [repeats]) for parts in pilots if parts)
        rows.append((cases, repeats, value / variance(means)))
    return rows


def main(put: Callable[[str], object] = print) -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    held: list[float] = []
    for setting in settings():
        rows = measured(setting, draws)
        held += [coverage for *_, coverage in rows.values()]
        text = "; ".join(
            f"{name} {mean:.4f} (true {truth:.4f}) {100 * coverage:.1f} %"
            for name, (mean, truth, coverage) in rows.items()
        )
        put(f"{setting.name}: {text}")
    for outputs, asked, wavering in ((20, 2, 0.2), (100, 2, 0.05), (100, 3, 0.2), (20, 5, 0.0)):
        held.append(judges(outputs, asked, wavering, draws))
        put(f"judge, {outputs} outputs {asked} times, unsure of {wavering}: {100 * held[-1]:.1f} %")
    for number, cases, moved in ((2, 50, 0.2), (3, 50, 0.2), (5, 20, 0.5), (8, 100, 0.1)):
        held.append(wordings(number, cases, moved, draws))
        put(f"{number} wordings of {cases} cases, ±{moved}: {100 * held[-1]:.1f} %")
    put(
        f"{len(held)} intervals: {100 * fmean(held):.1f} % on average, {100 * min(held):.1f} % worst"
    )
    for cases, repeats, ratio in foretold(draws):
        put(f"foretold variance of {cases} cases × {repeats}: {ratio:.2f} of that of draws")


if __name__ == "__main__":
    main()
