"""How often labels that are no random draw are refused, and ones that are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from statistics import fmean

from judge_lines import Line, seeded
from judge_tables import Table

from evenhand.analysis.trust.calibration import UNLIKELY
from evenhand.stats.correction import drawn_at_random

LEANING = 3
DRAWN = 100

unlikely = cache(lambda *counts: drawn_at_random(*counts) < UNLIKELY)


def leaning(random: Random, passed: int, items: int) -> int:
    """How many of the labelled items the judge passes if its passes are taken with odds of LEANING to 1."""
    left, drawn = passed, 0
    for taken in range(DRAWN):
        fails = items - passed - (taken - drawn)
        if random.random() * (LEANING * left + fails) < LEANING * left:
            left, drawn = left - 1, drawn + 1
    return drawn


def refused_by_chance(passed: int, items: int) -> float:
    """How often a random draw is refused. Exact."""
    every = math.comb(items, DRAWN)
    return math.fsum(
        math.comb(passed, k) * math.comb(items - passed, DRAWN - k) / every
        for k in range(max(0, DRAWN - items + passed), min(DRAWN, passed) + 1)
        if unlikely((k, DRAWN), (passed, items))
    )


def refusals(tables: Sequence[Table], draws: int) -> Iterator[Line]:
    """How often labels are refused that lean to the judge's passes, and ones that don't."""
    rows: list[tuple[float, float, float, str]] = []
    for table in tables:
        passed, items = sum(judge == 1 for _, judge in table.passes), len(table.pairs)
        random = seeded("leaning", table)
        lean = fmean(
            unlikely((leaning(random, passed, items), DRAWN), (passed, items)) for _ in range(draws)
        )
        rows.append((lean, refused_by_chance(passed, items), passed / items, str(table)))
    shares = [lean for lean, *_ in rows]
    worst, _, share, name = min(rows)
    yield Line(
        f"{DRAWN} labels, odds {LEANING}:1 to a pass: refused",
        f"mean {fmean(shares):.3f}, worst {worst:.3f} ({name} passes {share:.0%})",
        "mean .9",
        fmean(shares) >= 0.9,
    )
    even = [lean for lean, _, share, _ in rows if 0.25 <= share <= 0.75]
    if even:
        yield Line(
            f"  where the judge passes 25 to 75 % ({len(even)})",
            f"worst {min(even):.3f}",
            "worst .9",
            min(even) >= 0.9,
        )
    most = max(chance for _, chance, *_ in rows)
    yield Line(
        f"{DRAWN} labels at random: refused (exact)",
        f"at most {most:.4f}",
        "at most .01",
        most <= 0.01,
    )
