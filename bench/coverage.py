"""How often intervals hold the truth, and how often a comparison finds a difference that is not there.

    python bench/coverage.py                     # every table, some minutes
    python bench/coverage.py --draws 1000        # quicker, and rougher

Where few outcomes are possible (a rate of n cases, a table of pairs) every one is weighed by its probability, and the
number is exact; the rest is drawn with a fixed seed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from evenhand.stats.bounded import p_on_scale
from evenhand.stats.interval import clopper_pearson, mean_of_sums, wilson
from evenhand.stats.multiple import holm
from evenhand.stats.paired_difference import Differences, verdict
from evenhand.stats.tallies import Tally, of_tries, rate_of

SIZES = (10, 20, 50, 200)
RATES = (0.5, 0.9, 0.95)
SEED = 20_240_229
METRICS = 3
REPEATS = 5
MEANS = (5, 8, 20, 50, 200)

Interval = tuple[float, float]


def of_a_rate(interval: Callable[[int, int], Interval], n: int, p: float) -> float:
    """How often an interval of a pass rate holds it, for n cases that pass with probability p. Exact."""
    return math.fsum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        for low, high in [interval(k, n)]
        if low - 1e-12 <= p <= high + 1e-12
    )


def discordant(p: float, gain: float, together: float) -> tuple[float, float]:
    """The shares of cases that only the second, and only the first, passes.

    The first passes with probability p, the second with p + gain; `together` is how much of what independence would
    make them differ is left.
    """
    apart = together * p * (1 - p - gain)
    return apart + max(0.0, gain), apart + max(0.0, -gain)


def tables(n: int, ahead: float, behind: float) -> Iterator[tuple[int, int, float]]:
    """The tables of n pairs: how many only the second passed, only the first, and how likely that is."""
    same = 1 - ahead - behind
    for b in range(n + 1):
        for c in range(n - b + 1):
            logs = math.lgamma(n + 1) - sum(math.lgamma(k + 1) for k in (b, c, n - b - c))
            for count, share in ((b, ahead), (c, behind), (n - b - c, same)):
                if count:
                    logs += count * math.log(share) if share > 0 else -math.inf
            if logs > -16:  # the rest is one in a million
                yield b, c, math.exp(logs)


@cache
def paired(n: int, b: int, c: int) -> tuple[float, float, bool]:
    """What a table of pairs comes to: the ends of its interval, and whether a difference is found."""
    data = Differences([(1,)] * b + [(-1,)] * c + [(0,)] * (n - b - c), rates=True)
    return *data.interval(), verdict(data, data.p()) in ("better", "worse")


def tango(n: int, p: float, gain: float, together: float = 0.6) -> float:
    """How often Tango's interval holds the difference. Exact."""
    held = total = 0.0
    for b, c, weight in tables(n, *discordant(p, gain, together)):
        low, high, _ = paired(n, b, c)
        held += weight * (low - 1e-9 <= gain <= high + 1e-9)
        total += weight
    return held / total


def false_alarms_of_rates(n: int, p: float, together: float = 0.6) -> float:
    """How often equal pass rates are found to be different. Exact."""
    weighed = [
        (weight, paired(n, b, c)[2]) for b, c, weight in tables(n, *discordant(p, 0, together))
    ]
    return sum(weight for weight, found in weighed if found) / sum(weight for weight, _ in weighed)


def case_rate(random: Random, p: float) -> float:
    """How likely one case is to pass: some are hard, some easy, p on average."""
    return random.betavariate(2 * p, 2 * (1 - p))


def passed(random: Random, rate: float, times: int) -> int:
    """How many of so many repeats pass."""
    return sum(random.random() < rate for _ in range(times))


def of_repeats(random: Random, n: int, p: float) -> tuple[bool, bool, bool]:
    """Whether the intervals of a rate, of pass^3 and of a difference hold, for n cases with REPEATS repeats."""
    rates = [case_rate(random, p) for _ in range(n)]
    first = [passed(random, rate, REPEATS) for rate in rates]
    second = [passed(random, rate, REPEATS) for rate in rates]
    tallies = [Tally(k, REPEATS - k) for k in first]
    rate, tries = rate_of(tallies), of_tries([[tally] for tally in tallies], 3)
    assert rate is not None
    assert tries is not None
    always = math.prod(
        (2 * p + i) / (2 + i) for i in range(3)
    )  # the third moment of the beta distribution
    differences = [((b - a) / REPEATS,) for a, b in zip(first, second, strict=True)]
    start, end = Differences(differences, rates=True, repeats=REPEATS).interval()
    return (
        rate.low <= p <= rate.high,
        tries.always.low <= always <= tries.always.high,
        start <= 0 <= end,
    )


def of_scores(random: Random, clusters: int, size: int) -> bool:
    """Whether the clustered t interval holds the mean, for scores of which those of a cluster go together."""
    drawn: list[list[float]] = []
    for _ in range(clusters):
        common = random.gauss(0, 1)
        drawn.append([common + random.gauss(0, 1) for _ in range(size)])
    _, low, high = mean_of_sums((math.fsum(scores), len(scores)) for scores in drawn) or (0, 0, 0)
    return low <= 0 <= high


def clipped(value: float) -> float:
    return min(1.0, max(0.0, value))


def rating(random: Random, *weights: float) -> float:
    """A rating from 1 to 5."""
    return random.choices((1, 2, 3, 4, 5), weights)[0]


class Shape(NamedTuple):
    """A distribution of scores as judges and metrics give them.

    Attributes:
        draw: One score.
        mean: Of the distribution.
        scale: The lowest and the highest score there can be.
    """

    draw: Callable[[Random], float]
    mean: float
    scale: tuple[float, float] = (0, 1)


SHAPES = {
    "normal": Shape(lambda r: clipped(r.gauss(0.5, 0.15)), 0.5),
    "narrow": Shape(lambda r: clipped(r.gauss(0.8, 0.03)), 0.8),
    "beta(8, 1)": Shape(lambda r: r.betavariate(8, 1), 8 / 9),
    "lognormal": Shape(lambda r: clipped(0.1 * math.exp(r.gauss(0, 1))), 0.159_636),
    "1 nine times in ten": Shape(lambda r: 1.0 if r.random() < 0.9 else r.random(), 0.95),
    "0 once in twenty": Shape(
        lambda r: 0.0 if r.random() < 0.05 else clipped(r.gauss(0.85, 0.03)), 0.8075
    ),
    "5, once in ten 1": Shape(lambda r: rating(r, 10, 0, 0, 0, 90), 4.6, (1, 5)),
    "5, once in twenty 4": Shape(lambda r: rating(r, 0, 0, 0, 5, 95), 4.95, (1, 5)),
    "ratings": Shape(lambda r: rating(r, 2, 3, 5, 20, 70), 4.53, (1, 5)),
}


def of_shape(random: Random, shape: str, n: int) -> bool:
    """Whether the interval of n scores of a shape holds their true mean."""
    draw, mean, scale = SHAPES[shape]
    units = [(draw(random), 1) for _ in range(n)]
    if scale == (0, 1) and all(score in scale for score, _ in units):
        low, high = wilson(sum(score for score, _ in units), n)
        return low <= mean <= high
    return p_on_scale(units, scale, mean) > 0.05  # quicker than the interval, and the same


def alarm_of_unlike(random: Random, shape: str, n: int, *, still: bool) -> bool:
    """Whether n scores of a shape are found to differ from ones with the same mean that keep close to it.

    Args:
        still: Those are all alike; otherwise normal, and narrow.
    """
    draw, mean, (low, high) = SHAPES[shape]
    spread = 0 if still else min(0.03 * (high - low), (high - mean) / 3)
    close = [min(high, max(low, random.gauss(mean, spread))) for _ in range(n)]
    units = [(score - draw(random), 1) for score in close]
    return p_on_scale(units, (low - high, high - low)) <= 0.05


def shown(random: Random, n: int, spread: float) -> tuple[float, Callable[[float], bool]]:
    """What n scores could show, and a draw that says whether a difference of that size was shown."""

    def drawn(mean: float) -> Differences:
        return Differences([(random.gauss(mean, spread),) for _ in range(n)], scale=(-3, 3))

    def is_shown(mean: float) -> bool:
        data = drawn(mean)
        return verdict(data, data.p()) == "better"

    return drawn(0).smallest() or math.inf, is_shown


def false_alarm(random: Random, n: int, kind: str) -> bool:
    """Whether METRICS comparisons of what is equal find any difference."""
    data = [equal(random, n, kind) for _ in range(METRICS)]
    if all(low <= 0 <= high for low, high in (one.interval() for one in data)):
        return False  # a difference takes the interval's word, too; the test is slow
    corrected = holm([one.p() for one in data])
    words = [verdict(one, p, of=METRICS) for one, p in zip(data, corrected, strict=True)]
    return any(word in ("better", "worse") for word in words)


def equal(random: Random, n: int, kind: str) -> Differences:
    """Differences of two that are equally good, of n cases."""
    if kind == "ratings":
        ratings = [(random.choice((-2, -1, -1, 0, 0, 0, 1, 1, 2)),) for _ in range(n)]
        return Differences(ratings, scale=(-4, 4))
    if kind == "scores":
        return Differences([(random.gauss(0, 1),) for _ in range(n)], scale=(-9, 9))
    if kind == "clusters":
        groups = [[random.gauss(0, 1)] * 5 for _ in range(n // 5)]
        return Differences(
            [[g + random.gauss(0, 1) for g in group] for group in groups], scale=(-12, 12)
        )
    draws_: list[tuple[float]] = []
    for _ in range(n):
        rate = case_rate(random, 0.8)
        gain = passed(random, rate, REPEATS) - passed(random, rate, REPEATS)
        draws_.append((gain / REPEATS,))
    return Differences(draws_, rates=True, repeats=REPEATS)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def table(title: str, heads: list[str], rows: Iterator[list[str]]) -> None:
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{' ---: |' * len(heads)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2_000, help="for what is drawn; 2,000")
    draws = parser.parse_args().draws
    random = Random(SEED)

    def share(outcome: Callable[[], bool]) -> str:
        return percent(sum(outcome() for _ in range(draws)) / draws)

    cells = [(n, p) for n in SIZES for p in RATES]
    table(
        "Intervals of one pass rate and of a difference: how often they hold the truth, in per cent. Exact.",
        [
            "cases",
            "rate",
            "Wilson",
            "Clopper–Pearson",
            "Tango, no difference",
            "Tango, a drop of 5 points",
        ],
        (
            [
                str(n),
                f"{p:g}",
                percent(of_a_rate(wilson, n, p)),
                percent(of_a_rate(clopper_pearson, n, p)),
                percent(tango(n, p, 0)),
                percent(tango(n, p, -0.05)),
            ]
            for n, p in cells
        ),
    )
    table(
        f"The same with {REPEATS} repeats a case, some cases harder than others, {draws:,} draws.",
        ["cases", "rate", "over cases", "pass^3", "difference"],
        (
            [
                str(n),
                f"{p:g}",
                *(percent(sum(column) / draws) for column in zip(*drawn, strict=True)),
            ]
            for n, p in cells
            for drawn in [[of_repeats(random, n, p) for _ in range(draws)]]
        ),
    )
    table(
        f"Mean scores by Student's t over clusters, {draws:,} draws.",
        ["clusters", "of 1", "of 4"],
        (
            [str(n), *(share(lambda n=n, size=size: of_scores(random, n, size)) for size in (1, 4))]
            for n in SIZES
        ),
    )
    table(
        f"Mean scores on a known scale, by their shape, {draws:,} draws.",
        ["shape", *map(str, MEANS)],
        (
            [shape, *(share(lambda n=n, shape=shape: of_shape(random, shape, n)) for n in MEANS)]
            for shape in SHAPES
        ),
    )
    table(
        f"False alarms of `compare` on scores of unlike shapes with equal means, {draws:,} draws.",
        ["columns", *map(str, MEANS)],
        (
            [
                f"{shape} or {'always its mean' if still else 'close to its mean'}",
                *(
                    share(lambda n=n: alarm_of_unlike(random, shape, n, still=still))  # noqa: B023 (called at once)
                    for n in MEANS
                ),
            ]
            for shape in SHAPES
            for still in (False, True)
        ),
    )
    table(
        "False alarms of `compare`, in per cent. One pass rate: exact; "
        f"{METRICS} metrics at once, corrected: {draws:,} draws.",
        [
            "cases",
            *(f"rate {p:g}" for p in RATES),
            *(kinds := ["ratings", "scores", "clusters", "repeats"]),
        ],
        (
            [
                str(n),
                *(percent(false_alarms_of_rates(n, p)) for p in RATES),
                *(share(lambda n=n, kind=kind: false_alarm(random, n, kind)) for kind in kinds),
            ]
            for n in SIZES
        ),
    )


if __name__ == "__main__":
    main()
