"""How often intervals of rates and scores by tag hold when these are drawn towards all tags; and the worst tag's error.

    python bench/slices.py                       # some minutes
    python bench/slices.py --draws 400           # quicker, and rougher

Tags have true rates of their own, drawn anew each time. Coverage is over all tags of all draws: that is what the
intervals promise. For the worst tag it says by how many points its rate is too low, as it is and when it is drawn
towards the others; and of all errors, squared, which part is left. Seed 20261129.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from evenhand.analysis.summaries.clusters import clusters_among, rate_in
from evenhand.analysis.summaries.rates import Rate
from evenhand.analysis.summaries.slices import pooled_scores, pooled_slices
from evenhand.stats.multiple import benjamini_hochberg
from evenhand.stats.standouts import group_p
from evenhand.stats.tallies import Tally

SEED = 20_261_129


class Setting(NamedTuple):
    """Tags, and what is drawn of them.

    Attributes:
        tags: How many.
        sizes: Numbers of cases, of which each tag has one at random.
        rate: The mean of the tags' true rates.
        spread: Their standard deviation; `spread` of a rate that half of the tags have above, half below if `two`.
        two: Whether tags have one of two rates.
        repeats: Trials of a case.
        own: The standard deviation of the rates of a tag's cases.
        cluster: Cases that always come out alike.
        errors: The chance that a trial is in error; of failures, if `of_failures`.
        of_failures: Whether only failures are.
        outliers: Tags of which nothing passes, beside the others.
    """

    tags: int
    sizes: tuple[int, ...]
    rate: float
    spread: float
    two: bool = False
    repeats: int = 1
    own: float = 0.0
    cluster: int = 1
    errors: float = 0.0
    of_failures: bool = False
    outliers: int = 0


RATES = (
    *(
        Setting(tags, sizes, rate, spread)
        for tags in (4, 10, 40)
        for sizes in ((3,), (10,), (50,), (2, 5, 10, 50))
        for rate, spread in ((0.7, 0.0), (0.7, 0.1), (0.7, 0.2), (0.9, 0.05))
    ),
    Setting(10, (10,), 0.7, 0.15, two=True),
    Setting(40, (5, 20), 0.7, 0.15, two=True),
    Setting(10, (10,), 0.7, 0.1, repeats=3, own=0.25),
    Setting(10, (10,), 0.7, 0.1, repeats=5),
    Setting(40, (3, 10), 0.8, 0.1, repeats=3, own=0.2),
    Setting(10, (12,), 0.7, 0.1, cluster=3),
    Setting(40, (12, 30), 0.8, 0.0, cluster=3),
    Setting(10, (10,), 0.7, 0.1, errors=0.1),
    Setting(10, (10,), 0.7, 0.1, errors=0.5, of_failures=True),
    Setting(40, (5, 20), 0.9, 0.05, errors=0.05),
    Setting(40, (10,), 0.7, 0.05, outliers=2),
    Setting(10, (20,), 0.9, 0.03, outliers=1),
)


class Measured(NamedTuple):
    """What was measured: shares from 0 to 1, and points of a rate from 0 to 1."""

    covered: float
    raw_worst: float
    pooled_worst: float
    error_left: float


def true_rate(random: Random, setting: Setting) -> float:
    """A tag's true rate."""
    if not setting.spread:
        return setting.rate
    if setting.two:
        return setting.rate + random.choice((-1, 1)) * setting.spread
    return within(random, setting.rate, setting.spread)


def within(random: Random, mean: float, spread: float) -> float:
    """A rate from a beta distribution with this mean and standard deviation, or one as wide as can be."""
    size = mean * (1 - mean) / spread**2 - 1 if spread else 0.0
    return random.betavariate(mean * size, (1 - mean) * size) if size > 0 else mean


def tally(random: Random, rate: float, setting: Setting) -> Tally:
    """A case's trials."""
    own = within(random, rate, min(setting.own, 0.99 * (rate * (1 - rate)) ** 0.5))
    passed = failed = errors = 0
    for _ in range(setting.repeats):
        good = random.random() < own
        lost = random.random() < setting.errors and not (setting.of_failures and good)
        passed += good and not lost
        failed += not good and not lost
        errors += lost
    return Tally(passed, failed, errors)


def measure_rates(setting: Setting, draws: int) -> Measured:
    """Draws lists of tags, and counts."""
    random = Random(f"{SEED} {setting}")
    held = number = 0
    raw_worst = pooled_worst = raw_squares = pooled_squares = 0.0
    for _ in range(draws):
        truth = [true_rate(random, setting) for _ in range(setting.tags)]
        truth += [0.0] * setting.outliers
        column: dict[str, Tally] = {}
        groups: dict[str, int] = {}
        rates: list[Rate] = []
        for tag, rate in enumerate(truth):
            own: dict[str, Tally] = {}
            for i in range(random.choice(setting.sizes) // setting.cluster):
                trials = tally(random, rate, setting)
                for j in range(setting.cluster):
                    own[f"{tag} {i} {j}"] = trials
                    if setting.cluster > 1:
                        groups[f"{tag} {i} {j}"] = tag * 1000 + i
            column |= own
            clusters = clusters_among(own, groups)
            rates.append(
                Rate(
                    variant=0, passed=0, trials=0, errors=0, cases=len(own), clusters=clusters,
                    share=rate_in(own, groups),
                )
            )  # fmt: skip
        pooled = pooled_slices(rates, column, groups) or []
        raw = [(r.share.least + r.share.most) / 2 for r in rates if r.share]
        drawn = [(one.least + one.most) / 2 for one in pooled]
        held += sum(p.low <= t <= p.high for p, t in zip(pooled, truth, strict=True))
        number += len(truth)
        for values, worst in ((raw, "raw"), (drawn, "pooled")):
            least = min(range(len(truth)), key=values.__getitem__)
            off = truth[least] - values[least]
            squares = sum((v - t) ** 2 for v, t in zip(values, truth, strict=True))
            if worst == "raw":
                raw_worst, raw_squares = raw_worst + off, raw_squares + squares
            else:
                pooled_worst, pooled_squares = pooled_worst + off, pooled_squares + squares
    return Measured(
        held / number, raw_worst / draws, pooled_worst / draws, pooled_squares / raw_squares
    )


OVERLAPPING = ((12, 100, 0.0), (12, 300, 0.0), (12, 100, 0.1), (12, 300, 0.1), (30, 600, 0.1))
"""Tags, cases, and how far a tag moves the rate of its cases. Each case has two tags."""


def measure_overlapping(tags: int, cases: int, spread: float, draws: int) -> float:
    """How often the intervals of tags hold that have cases in common, from 0 to 1."""
    random = Random(f"{SEED} {tags} {cases} {spread}")
    held = number = 0
    for _ in range(draws):
        moves = [random.uniform(-1, 1) * spread * 3**0.5 for _ in range(tags)]
        usual = sum(moves) / tags
        column: dict[str, Tally] = {}
        own: list[dict[str, Tally]] = [{} for _ in range(tags)]
        for i in range(cases):
            first, second = random.sample(range(tags), 2)
            good = random.random() < 0.6 + moves[first] + moves[second] - 2 * usual
            column[str(i)] = Tally(int(good), int(not good), 0)
            own[first][str(i)] = own[second][str(i)] = column[str(i)]
        # The other tag of a case is any of the others, all equally likely.
        truth = [0.6 + (m - usual) * (tags - 2) / (tags - 1) for m in moves]
        known = [(t, cases_of) for t, cases_of in zip(truth, own, strict=True) if cases_of]
        rates = [
            Rate(
                variant=0, passed=0, trials=0, errors=0, cases=len(one), clusters=len(one),
                share=rate_in(one, {}),
            )
            for _, one in known
        ]  # fmt: skip
        pooled = pooled_slices(rates, column, {}) or []
        held += sum(p.low <= t <= p.high for p, (t, _) in zip(pooled, known, strict=True))
        number += len(known)
    return held / number


SCORES = tuple(
    (tags, sizes, spread)
    for tags in (4, 10, 40)
    for sizes in ((5,), (20,), (3, 10, 40))
    for spread in (0.0, 0.3, 1.0)
)
"""Tags, their sizes, and the standard deviation of their means where a case's score has 1; scores are from 1 to 9."""


def measure_scores(
    tags: int, sizes: Sequence[int], spread: float, draws: int, errors: float = 0.0
) -> float:
    """How often the intervals of mean scores hold, from 0 to 1."""
    random = Random(f"{SEED} {tags} {sizes} {spread} {errors}")
    held = number = 0
    for _ in range(draws):
        truth = [random.gauss(5, spread) for _ in range(tags)]
        sums: dict[str, tuple[float, int, int]] = {}
        members: list[list[str]] = []
        for tag, mean in enumerate(truth):
            members.append([f"{tag} {i}" for i in range(random.choice(sizes))])
            for case in members[-1]:
                score = min(9.0, max(1.0, random.gauss(mean, 1)))
                sums[case] = (0.0, 0, 1) if random.random() < errors else (score, 1, 0)
        pooled = pooled_scores(members, sums.items(), {}, (1.0, 9.0)) or []
        held += sum(p.low <= t <= p.high for p, t in zip(pooled, truth, strict=True))
        number += tags
    return held / number


def false_alarms(tags: int, cases: int, rate: float, draws: int) -> tuple[float, float]:
    """How often a tag of equal ones is found to stand out, without a correction and with Benjamini and Hochberg's."""
    random = Random(f"{SEED} {tags} {cases} {rate}")
    alone = corrected = 0
    for _ in range(draws):
        passed = [[float(random.random() < rate) for _ in range(cases)] for _ in range(tags)]
        ps = [
            group_p(own, [x for j, other in enumerate(passed) if j != i for x in other])
            for i, own in enumerate(passed)
        ]
        alone += min(ps) <= 0.05
        corrected += min(benjamini_hochberg(ps)) <= 0.05
    return alone / draws, corrected / draws


def main(put: Callable[[str], object] = print) -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000, help="tags that are drawn for a setting")
    draws = parser.parse_args().draws
    put(f"rates, {draws} tags each, seed {SEED}: coverage, worst tag raw and drawn, squared error")
    covered: list[float] = []
    for setting in RATES:
        one = measure_rates(setting, max(10, draws // setting.tags))
        covered.append(one.covered)
        put(
            f"{_words(setting)}: {100 * one.covered:.1f} %, {100 * one.raw_worst:+.1f} and "
            f"{100 * one.pooled_worst:+.1f} points, {one.error_left:.2f}"
        )
    for tags, cases, spread in OVERLAPPING:
        covered.append(measure_overlapping(tags, cases, spread, max(10, draws // tags)))
        put(f"{cases} cases of 2 of {tags} tags, ±{spread}: {100 * covered[-1]:.1f} %")
    put(f"{len(covered)} settings: {_summary(covered)}")
    covered = []
    for tags, sizes, spread in SCORES:
        covered.append(measure_scores(tags, sizes, spread, max(10, draws // tags)))
        put(f"scores, {tags} tags of {sizes}, ±{spread}: {100 * covered[-1]:.1f} %")
    put(f"{len(covered)} settings: {_summary(covered)}")
    alone, corrected = false_alarms(40, 10, 0.7, max(10, draws // 10))
    put(
        f"40 equal tags: one stands out in {100 * alone:.0f} %, corrected in {100 * corrected:.1f} %"
    )


def _words(setting: Setting) -> str:
    usual = Setting(0, (), 0.0, -1.0)
    return ", ".join(
        f"{name}={value}"
        for name, value in setting._asdict().items()
        if value != getattr(usual, name)
    )


def _summary(covered: Sequence[float]) -> str:
    return f"{100 * sum(covered) / len(covered):.1f} % on average, {100 * min(covered):.1f} % worst"


if __name__ == "__main__":
    main()
