"""Whether rates that are corrected by probabilities hold as often as those by verdicts, and are never wider.

    python bench/judge_graded.py FOLDER              # the folder has the recorded tables; half an hour
    python bench/judge_graded.py FOLDER --draws 60 --every 6
    python bench/judge_graded.py                     # the counts of Arena votes stand in for the tables

People's and judges' verdicts are recorded. The probabilities are simulated beside them, as nobody has recorded any: by
how much surer a judge is where it is right, and by whether its probabilities mean what they say.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from math import exp
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

from judge_intervals import LABELS
from judge_lines import SEED, Line, print_lines, seeded
from judge_tables import Table, counted, recorded

from evenhand.stats.correction import corrected_rate
from evenhand.stats.recalibration import GradedItem, GradedLabel, graded_rate, verdicts_in

KINDS = {
    "sure of anything": (0.0, 1.0),
    "a little surer where right": (0.5, 1.0),
    "surer where right": (1.5, 1.0),
    "surer where right, too sure": (1.5, 3.0),
    "much surer where right, too unsure": (3.0, 0.4),
}
"""By how much log odds are larger where the judge is right, and by what all of them are multiplied."""


class Rows(NamedTuple):
    """A table with simulated probabilities: people's verdicts, and the judge's."""

    name: str
    people: list[bool]
    judged: list[GradedItem]


class Held(NamedTuple):
    """What came of many draws of a table.

    Attributes:
        name: Of what.
        coverage: The share of draws whose interval holds the truth.
        by_verdicts: The same by verdicts alone.
        ratio: The mean width, divided by that by verdicts alone.
        widest: The greatest such ratio of a single draw.
    """

    name: str
    coverage: float
    by_verdicts: float
    ratio: float
    widest: float


def simulated(random: Random, table: Table, ahead: float, stretch: float) -> Rows:
    """The table with probabilities; see KINDS."""
    people: list[bool] = []
    judged: list[GradedItem] = []
    for good, passed in table.passes:
        sure = abs(random.gauss(1.0 + (ahead if good == passed else 0.0), 0.8)) * stretch
        people.append(good == 1)
        judged.append(GradedItem(passed == 1, 1 / (1 + exp(-sure if passed else sure))))
    return Rows(str(table), people, judged)


def of_table(random: Random, rows: Rows, draws: int) -> Held:
    """How often both intervals hold, and how wide they are."""
    truth = fmean(rows.people)
    held, plainly, width, plain_width, widest = 0, 0, 0.0, 0.0, 0.0
    for _ in range(draws):
        labels = [
            GradedLabel(str(i), rows.people[i], *rows.judged[i])
            for i in random.sample(range(len(rows.people)), LABELS)
        ]
        graded = graded_rate(rows.judged, labels)
        plain = corrected_rate(verdicts_in(rows.judged, labels))
        assert graded is not None
        assert plain is not None
        one = graded.estimate
        held += one.low - 1e-12 <= truth <= one.high + 1e-12
        plainly += plain.low - 1e-12 <= truth <= plain.high + 1e-12
        width += one.high - one.low
        plain_width += plain.high - plain.low
        widest = max(widest, (one.high - one.low) / (plain.high - plain.low))
    return Held(rows.name, held / draws, plainly / draws, width / plain_width, widest)


def lines(kind: str, tables: Sequence[Table], draws: int) -> Iterator[Line]:
    """Coverage and width of one kind of probabilities."""
    results = [
        of_table(random, simulated(random, table, *KINDS[kind]), draws)
        for table in tables
        for random in [seeded(kind, table)]
    ]
    worst = min(results, key=lambda one: one.coverage)
    mean = fmean(one.coverage for one in results)
    alone = fmean(one.by_verdicts for one in results)
    yield Line(
        f"{kind}: holds the truth",
        f"mean {mean:.3f}, worst {worst.coverage:.3f} ({worst.name}); by verdicts alone {alone:.3f}",
        "mean .94, worst .92",
        mean >= 0.94 and worst.coverage >= 0.92,
    )
    ratios = [one.ratio for one in results]
    widest = max(one.widest for one in results)
    yield Line(
        f"{kind}: width, verdicts alone = 1",
        f"mean {fmean(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}; of one draw at most {widest:.4f}",
        "at most 1",
        max(ratios) <= 1 and widest <= 1 + 1e-9,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="with the recorded tables")
    parser.add_argument("--draws", type=int, default=1000, help="for each table; 1,000")
    parser.add_argument("--every", type=int, default=1, help="one of so many tables")
    arguments = parser.parse_args()
    folder: Path | None = arguments.folder
    tables = (recorded(folder) if folder else counted())[:: arguments.every]
    tables = [table for table in tables if len(table.pairs) > 2 * LABELS]
    print(f"{len(tables)} tables, {LABELS} labels, {arguments.draws:,} draws, seed {SEED}")
    for kind in KINDS:
        print_lines("Simulated probabilities", list(lines(kind, tables, arguments.draws)))


if __name__ == "__main__":
    main()
