"""Whether corrected numbers of judges hold what they promise, on people's recorded verdicts.

    python bench/judge_trust.py FOLDER              # some minutes; the folder has the recorded tables
    python bench/judge_trust.py                     # made-up judges, and the counts of Arena votes
    python bench/judge_trust.py FOLDER --draws 100  # quicker, and rougher

In each draw, people's verdicts on some items are the labels, and the judge's verdicts on all items are known. The truth
is what people say of all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean

from judge_draws import refusals
from judge_intervals import LABELS, Held, labelled, of_cases, of_rate, of_rates, resampled
from judge_lines import SEED, Line, print_lines, seeded
from judge_published import published
from judge_tables import (
    FILES,
    SYSTEMS,
    Table,
    counted,
    parts_of_llmbar,
    recorded,
    simulated,
    two_sides,
    two_systems,
)

WORTH = 0.4


def intervals(what: str, results: Sequence[Held], *, worst: float = 0.92) -> Iterator[Line]:
    """How often they hold, and how wide they are."""
    mean = fmean(one.coverage for one in results)
    least = min(results, key=lambda one: one.coverage)
    yield Line(
        f"{what}: holds the truth",
        f"mean {mean:.3f}, worst {least.coverage:.3f} ({least.name})",
        f"mean .94, worst {worst:.2f}".replace(" 0.", " ."),
        mean >= 0.94 and least.coverage >= worst,
    )
    widest = max(one.widest for one in results)
    ratios = [one.ratio for one in results]
    yield Line(
        f"{what}: width, labels alone = 1",
        f"mean {fmean(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}; of one draw at most {widest:.4f}",
        "at most 1, of one draw 1.25",
        max(ratios) <= 1 and widest <= 1.25,
    )
    good = [one.ratio for one in results if one.rho2 >= WORTH]
    if good:
        yield Line(
            f"{what}: the same where ρ² is {WORTH} or more",
            f"mean {fmean(good):.3f}, {min(good):.3f} to {max(good):.3f} ({len(good)} of them)",
            "mean at most .8",
            fmean(good) <= 0.8,
        )


def of_tables(tables: Sequence[Table], parts: Sequence[Table], draws: int) -> Iterator[Line]:
    """Rates and differences."""
    verdicts = {table: labelled(seeded("rate", table), table, draws) for table in (*tables, *parts)}
    rates = [of_rate(table, verdicts[table]) for table in tables]
    yield from intervals(f"rate, {len(rates)} judges × data", rates)
    clear = [t for t, rate in zip(tables, rates, strict=True) if rate.rho2 >= WORTH]
    others = [t for t in tables if t.source.startswith(("Arena", "PandaLM")) and t not in clear]
    kinds = [*clear, *others]
    few = max(1, draws // 8)
    again = [of_rate(t, resampled(seeded("kind", t), t, 1000, few)) for t in kinds]
    yield from intervals(f"rate of 1,000 new items, {len(kinds)} judges × data", again, worst=0.9)
    pairs = [
        (a, b)
        for group in (parts, [t for t in tables if t.source.startswith(("Arena", "outputs"))])
        for a, b in combinations(group, 2)
        if a.judge == b.judge
    ]
    apart = [of_rates((a, b), (verdicts[a], verdicts[b])) for a, b in pairs]
    yield from intervals(f"difference of two rates, {len(apart)}", apart)
    sides = [t for t in tables if t.source.startswith(("Arena", "PandaLM"))]
    paired = [of_cases(str(t), two_sides(t), seeded("sides", t), draws) for t in sides]
    yield from intervals(
        f"wins minus losses on the same cases, {len(paired)} judges × data", paired
    )
    made_up = [of_new_cases(system, few) for system in SYSTEMS]
    yield from intervals(f"difference on the same cases, {len(made_up)} made-up systems", made_up)


def of_new_cases(system: tuple[float, ...], draws: int) -> Held:
    """Two made-up systems, on other cases in each draw."""
    random = seeded(*system)
    name, truth = f"{system[0]:.0%} and {system[1]:.0%} pass", system[1] - system[0]
    held = [of_cases(name, two_systems(random, system), random, 1, truth) for _ in range(draws)]
    return Held(
        name,
        fmean(one.coverage for one in held),
        fmean(one.ratio for one in held),
        max(one.widest for one in held),
        0.0,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="with the recorded tables")
    parser.add_argument("--draws", type=int, default=1000, help="for each judge and data; 1,000")
    arguments = parser.parse_args()
    folder: Path | None = arguments.folder
    draws: int = arguments.draws
    missing = [name for name in FILES if folder is None or not (folder / name).is_file()]
    start = time.process_time()
    print(f"{draws:,} draws, {LABELS} labels; all random numbers come from the seed {SEED}")
    if folder is None or missing:
        where = "no folder was named" if folder is None else f"{folder} has no {missing[0]}"
        print(
            f"{where}: made-up judges, and the counts of Arena votes, stand in for recorded tables"
        )
        folder = None
        tables, parts = [*counted(), *simulated(seeded("tables"))], []
    else:
        tables, parts = recorded(folder), parts_of_llmbar(folder)
    if folder:
        lines = [
            Line(figure.what, figure.here, figure.published, figure.here == figure.published)
            for figure in published(folder)
        ]
        print_lines("Published figures", lines)
    print_lines("Corrected numbers", list(of_tables(tables, parts, draws)))
    print_lines("Labels that are no random draw", list(refusals(tables, draws)))
    print(f"\n{time.process_time() - start:.0f} s of one processor")


if __name__ == "__main__":
    main()
