"""How often a gate of a part of its cases is right: intervals, false alarms, and what earlier runs save.

`python bench/control_variates.py --draws 400` prints a line for each setting: how often the 95 % interval holds the
true difference; how often an unchanged system is called worse; how often one that is worse by the margin passes; and
the spread as a share of that of plain differences from one baseline run, which is the share of calls for the same
power.

`--llmbar FILE` instead takes pairs of recorded systems from a CSV with the columns subset, item, gold, judge, prompt
and winner_original_order: one is the baseline, the other is run on 60, 100 and 150 of the items that all systems have.

`--rates` prints for `run --at-least --sample` how often the 95 % interval of the pass rate holds what all cases would
have come to, how often a bound is missed that all cases keep, or kept that they miss, where the bound is the rate
itself, and how wide the interval is, as a share of that of the drawn cases alone.

`--stopping` prints for gates that end as soon as they are decided how many of their cases they ran.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean, pvariance

from evenhand.analysis.gates.early_stopping import LOOKS
from evenhand.analysis.gates.gate_rule import gate_rule
from evenhand.stats.control_variates import Adjusted, Ran, Unit, adjusted_differences, whole_rate
from evenhand.stats.extremes import Extremes, certain
from evenhand.stats.looks import look_levels
from evenhand.stats.paired_difference import LEVEL, Differences

SEED = 20_261_129
MARGIN = 0.05


@dataclass(frozen=True)
class Setting:
    """A simulated suite, its history, and what a gate runs of it."""

    units: int
    run: int
    repeats: int  # of the run
    pool: int  # runs of the baseline
    systems: int
    history: str  # fair, noise, reversed, judge: what earlier systems say
    cluster: int = 1
    errors: float = 0.0
    shape: tuple[float, float] = (1.0, 0.3)

    def __str__(self) -> str:
        extra = f" clusters of {self.cluster}" if self.cluster > 1 else ""
        extra += f" errors {self.errors:g}" if self.errors else ""
        return (
            f"{self.run:>4} of {self.units:<4} repeats {self.repeats} baseline {self.pool:<2} systems"
            f" {self.systems:<2} {self.history:<8} beta{self.shape}{extra}"
        )


def settings() -> Iterator[Setting]:
    """Those that the documentation's figures are of."""
    for units, pool, (systems, history) in product(
        (40, 120, 500), (1, 3, 10), ((0, "fair"), (5, "fair"), (5, "noise"), (5, "reversed"))
    ):
        yield Setting(units, round(0.45 * units), 1, pool, systems, history)
    for units in (5, 10, 20, 60):
        yield Setting(units, units, 1, 1, 0, "fair")
        yield Setting(units, units, 5, 5, 0, "fair")
        yield Setting(units, max(5, units // 2), 3, 2, 4, "fair")
    for shape in ((19.0, 1.0), (1.0, 19.0), (0.3, 0.1)):
        yield Setting(200, 90, 1, 5, 5, "fair", shape=shape)
        yield Setting(200, 90, 1, 1, 5, "judge", shape=shape)
        yield Setting(200, 200, 1, 5, 0, "fair", shape=shape)
    for cluster, errors in ((4, 0.0), (1, 0.04), (4, 0.04)):
        yield Setting(120, 60, 1, 1, 5, "fair", cluster=cluster, errors=errors)
        yield Setting(120, 60, 2, 5, 5, "judge", cluster=cluster, errors=errors)


def flips(random: Random, chance: float, number: int) -> float:
    """The share of so many draws that come out 1."""
    return sum(random.random() < chance for _ in range(number)) / number


def drawn(random: Random, one: Setting, drop: float) -> tuple[list[Unit], list[Ran], list[Unit]]:
    """A suite with its history, what a gate ran of it, and the same suite from one run without history."""
    suite: list[Unit] = []
    alone: list[Unit] = []
    now: list[tuple[float, float]] = []
    for _ in range(one.units):
        centre = random.betavariate(*one.shape)
        # The cases of a cluster are alike, and each is as hard as it is.
        chances = [
            drop
            + (1 - drop)
            * (centre if one.cluster == 1 else (centre + random.betavariate(*one.shape)) / 2)
            for _ in range(one.cluster)
        ]
        before = [[flips(random, c, one.repeats) for c in chances] for _ in range(one.pool)]
        earlier = [fmean(_earlier(random, one, c) for c in chances) for _ in range(one.systems)]
        mean = fmean(map(fmean, before))
        suite.append(Unit(mean, mean, earlier))
        alone.append(Unit(fmean(before[0]), fmean(before[0])))
        least: list[float] = []
        most: list[float] = []
        for chance in chances:
            value = flips(random, chance - drop, one.repeats)
            broken = random.random() < one.errors
            least.append(0.0 if broken else value)
            most.append(1.0 if broken else value)
        now.append((fmean(least), fmean(most)))
    chance = one.run / one.units
    run = [Ran(i, *now[i], chance) for i in random.sample(range(one.units), one.run)]
    return suite, run, alone


def _earlier(random: Random, one: Setting, chance: float) -> float:
    if one.history == "noise":
        return flips(random, 0.5, 1)
    if one.history == "reversed":
        return flips(random, 1 - chance, 1)
    if one.history == "judge":  # a judge that passed much of what today's fails
        return flips(random, 0.5 + chance / 2, 1)
    return flips(random, min(1.0, max(0.0, chance + random.gauss(0, 0.1))), 1)


def data_of(adjusted: Adjusted, *, rates: bool = True) -> Extremes:
    """The adjusted differences as a gate has them."""
    least, most = (
        Differences([(v,) for v in values], rates, 1.0, adjusted.scale)
        for values in (adjusted.least, adjusted.most)
    )
    return certain(least) if adjusted.least == adjusted.most else Extremes(least, most)


def plainly(suite: Sequence[Unit], run: Sequence[Ran], one: Setting) -> Extremes:
    """The plain differences, as a gate has them that ran all."""
    scale = (-1.0, 1.0) if one.pool > 1 else None
    least, most = (
        Differences([(v,) for v in values], rates=True, repeats=one.repeats, scale=scale)
        for values in (
            [r.least - suite[r.place].most for r in run],
            [r.most - suite[r.place].least for r in run],
        )
    )
    return certain(least) if least.units == most.units else Extremes(least, most)


def measured(random: Random, one: Setting, draws: int) -> tuple[float, float, float, float]:
    """Coverage, false *worse*, false *not worse* at the margin, and the share of the plain spread."""
    hits = worse = passes = 0
    spread: list[float] = []
    plain: list[float] = []
    for i in range(draws):
        drop = MARGIN if i % 2 else 0.0
        suite, run, alone = drawn(random, one, drop)
        adjusted = adjusted_differences(suite, run, (0, 1))
        data = data_of(adjusted) if adjusted.fitted else plainly(suite, run, one)
        low, high = data.interval()
        hits += low <= -drop <= high
        word, _ = data.verdict(lambda p: p, margin=MARGIN, rule=gate_rule)
        if drop:
            passes += word in ("non-inferior", "better")
        else:
            worse += word == "worse"
            spread.append(pvariance(data.least.units))
            plain.append(pvariance([r.least - alone[r.place].most for r in run]))
    half = draws / 2
    return hits / draws, worse / half, passes / half, fmean(spread) / (fmean(plain) or math.nan)


def simulate(draws: int) -> None:
    """Prints a line for each setting, and the means and the worst."""
    rows: list[tuple[float, float, float, float]] = []
    print(f"seed {SEED}; {'setting':<70} cover  worse  passes  calls")
    for number, one in enumerate(settings()):
        row = measured(Random(f"{SEED} {number}"), one, draws)
        rows.append(row)
        print(f"{one!s:<80} {row[0]:.3f}  {row[1]:.3f}  {row[2]:.3f}  {row[3]:.2f}", flush=True)
    cover, worse, passes, _ = zip(*rows, strict=True)
    print(f"{len(rows)} settings: coverage {fmean(cover):.3f}, at worst {min(cover):.3f}")
    print(f"unchanged called worse {fmean(worse):.3f}, at worst {max(worse):.3f}")
    print(f"worse by the margin passes {fmean(passes):.3f}, at worst {max(passes):.3f}")


def rate_settings() -> Iterator[Setting]:
    """Those of `--rates`."""
    for units, run in ((40, 5), (40, 20), (120, 30), (120, 110), (500, 60), (500, 200)):
        for pool, (systems, history) in product(
            (1, 5), ((0, "fair"), (5, "fair"), (5, "noise"), (5, "reversed"))
        ):
            yield Setting(units, run, 1, pool, systems, history)
    for shape in ((19.0, 1.0), (1.0, 19.0), (0.3, 0.1)):
        for run in (10, 60, 150):
            yield Setting(200, run, 1, 1, 0, "fair", shape=shape)
            yield Setting(200, run, 3, 5, 5, "judge", shape=shape)
    for cluster, errors, run in product((1, 4), (0.0, 0.04), (12, 40)):
        yield Setting(80, run, 1, 1, 5, "fair", cluster=cluster, errors=errors)
        yield Setting(80, run, 2, 5, 5, "reversed", cluster=cluster, errors=errors)


def rates(draws: int) -> None:
    """Prints a line for each setting of `run --at-least --sample`, and the means and the worst."""
    rows: list[tuple[float, float, float, float]] = []
    print(f"seed {SEED}; {'setting':<70} cover  missed  kept  width")
    for number, one in enumerate(rate_settings()):
        row = rate_measured(Random(f"{SEED} rates {number}"), one, draws)
        rows.append(row)
        print(f"{one!s:<80} {row[0]:.3f}  {row[1]:.3f}  {row[2]:.3f}  {row[3]:.2f}", flush=True)
    cover, missed, kept, _ = zip(*rows, strict=True)
    print(f"{len(rows)} settings: coverage {fmean(cover):.3f}, at worst {min(cover):.3f}")
    print(f"a bound at the rate itself missed {fmean(missed):.3f}, at worst {max(missed):.3f}")
    print(f"and kept, just above it, {fmean(kept):.3f}, at worst {max(kept):.3f}")


def rate_measured(random: Random, one: Setting, draws: int) -> tuple[float, float, float, float]:
    """Coverage, false *missed*, false *kept*, and the width as a share of that without a history.

    All cases are run, and the interval of a part has to hold what they came to. Errors had a value, which nobody saw.
    """
    hits = missed = kept = 0
    widths: list[float] = []
    for _ in range(draws):
        suite, whole, _ = drawn(random, replace(one, run=one.units), 0.0)
        # What errors would have come to: anything in between.
        truth = fmean(r.least + random.random() * (r.most - r.least) for r in whole)
        run = [replace(r, chance=one.run / one.units) for r in random.sample(whole, one.run)]
        rate = whole_rate([(unit.least, *unit.earlier) for unit in suite], run)
        alone = whole_rate([()] * one.units, run)
        assert rate is not None
        assert alone is not None
        hits += rate.low - 1e-9 <= truth <= rate.high + 1e-9
        missed += rate.high < truth - 1e-9
        kept += rate.low > truth + 1e-9
        widths.append((rate.high - rate.low) / ((alone.high - alone.low) or 1.0))
    return hits / draws, missed / draws, kept / draws, fmean(widths)


def recorded(path: Path) -> list[list[float]]:
    """For each recorded system its verdicts on the items that all have: 1 where it is right."""
    systems: dict[tuple[str, str], dict[tuple[str, str], float]] = defaultdict(dict)
    with gzip.open(path, "rt", newline="") as lines:
        for row in csv.DictReader(lines):
            right = float(row["winner_original_order"] == row["gold"])
            systems[row["judge"], row["prompt"]][row["subset"], row["item"]] = right
    items = sorted(set.intersection(*map(set, systems.values())))
    return [[verdicts[item] for item in items] for verdicts in systems.values()]


def llmbar(path: Path, pairs: int) -> None:
    """Prints what earlier systems save on recorded pairs of systems."""
    systems, random = recorded(path), Random(SEED)
    items = len(systems[0])
    print(f"{len(systems)} systems, {items} items; seed {SEED}")
    for n, earlier in product((60, 100, 150), (0, 1, 4, 9, 50)):
        adjusted: list[float] = []
        plain: list[float] = []
        for _ in range(pairs):
            before, now, *others = random.sample(systems, earlier + 2)
            suite = [Unit(b, b, [s[i] for s in others]) for i, b in enumerate(before)]
            truth = fmean(now) - fmean(before)
            for _ in range(10):
                run = [Ran(i, now[i], now[i], n / items) for i in random.sample(range(items), n)]
                values = adjusted_differences(suite, run, (0, 1)).least
                adjusted.append((fmean(values) - truth) ** 2)
                plain.append((fmean(now[r.place] - before[r.place] for r in run) - truth) ** 2)
        share = fmean(adjusted) / fmean(plain)
        print(
            f"{n:>4} items run, {earlier + 1:>2} earlier runs: {share:.2f} of the calls", flush=True
        )


def stopping(draws: int) -> None:
    """Prints how much is run of a suite of which nothing has changed, and what gates that stop say."""
    print(
        f"margin {MARGIN:g}, {LOOKS} looks, seed {SEED}: cases  baseline  differing  passed  worse  run"
    )
    for units, shape, pool in product((500,), ((0.3, 0.1), (1.0, 0.3)), (1, 5)):
        for drop in (0.0, MARGIN):
            random = Random(f"{SEED} {units} {shape} {pool}")
            words: list[str] = []
            shares: list[float] = []
            differing: list[float] = []
            for _ in range(draws):
                one = Setting(units, units, 1, pool, 0, "fair", shape=shape)
                suite, run, alone = drawn(random, one, drop)
                word, share = _stopped(suite, run, one)
                words.append(word)
                shares.append(share)
                differing.append(fmean(r.least != alone[r.place].least for r in run))
            passed = fmean(word in ("non-inferior", "better") for word in words)
            print(
                f"true {-drop:+.2f} {units:>6} {pool:>3} {fmean(differing):.2f} {passed:.3f}"
                f" {fmean(word == 'worse' for word in words):.3f} {fmean(shares):.3f}",
                flush=True,
            )


def _stopped(suite: Sequence[Unit], run: Sequence[Ran], one: Setting) -> tuple[str, float]:
    looks = [math.ceil(len(run) * k / LOOKS) for k in range(1, LOOKS + 1)]
    levels = look_levels([n / len(run) for n in looks], LEVEL)
    word = "undecided"
    for n, level in zip(looks, levels, strict=True):
        part = [Ran(r.place, r.least, r.most, n / len(suite)) for r in run[:n]]
        adjusted = adjusted_differences(suite, part, (0, 1))
        data = data_of(adjusted) if adjusted.fitted else plainly(suite, part, one)

        def rule(differences: Differences, p: float, level: float = level, **more: object) -> str:
            del more
            return gate_rule(differences, p, margin=MARGIN, level=level)

        word, _ = data.verdict(lambda p: p, margin=MARGIN, rule=rule)  # pyright: ignore[reportArgumentType]
        if word != "undecided":
            return word, n / len(run)
    return word, 1.0


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--llmbar", type=Path)
    parser.add_argument("--stopping", action="store_true")
    parser.add_argument("--rates", action="store_true")
    arguments = parser.parse_args()
    if arguments.llmbar:
        llmbar(arguments.llmbar, arguments.draws)
    elif arguments.rates:
        rates(arguments.draws)
    elif arguments.stopping:
        stopping(arguments.draws)
    else:
        simulate(arguments.draws)


if __name__ == "__main__":
    main()
