"""What errors do to the numbers: false alarms and coverage where trials that would have failed raise instead.

    python bench/errors.py                  # some minutes
    python bench/errors.py --draws 300      # quicker, and rougher

Two columns are equally good. Each trial of the second that would have failed is in error with some probability. How
often is one of them said to be better, by `compare` and by the sentence below a run's table? And how often does the
interval of the second column's rate hold the rate that it really has?
"""

from __future__ import annotations

import argparse
from random import Random
from types import SimpleNamespace
from typing import cast

from evenhand.analysis.comparison.case_values import PASSED, CaseIds, ColumnCases, Measured, Seen
from evenhand.analysis.comparison.pairing import paired, with_verdicts
from evenhand.analysis.comparison.variants import sentences
from evenhand.analysis.summaries.grid import Grid
from evenhand.stats.tallies import Tally, rate_of

SEED = 20_240_229
LOST = (0.0, 0.1, 0.5, 1.0)
"""How likely a trial that would have failed is to be in error."""
REPEATS = {"5 each": lambda _: 5, "10 or 1": lambda i: 10 if i % 5 == 0 else 1}


def tallies(random: Random, rates: list[float], repeats: str, lost: float) -> dict[str, Tally]:
    """What each case comes to in a column."""
    tallies: dict[str, Tally] = {}
    for i, rate in enumerate(rates):
        n = REPEATS[repeats](i)
        passed = sum(random.random() < rate for _ in range(n))
        errors = sum(random.random() < lost for _ in range(n - passed))
        tallies[f"c{i}"] = Tally(passed, n - passed - errors, errors)
    return tallies


def seen(column: dict[str, Tally], ids: CaseIds) -> Seen:
    """A column as `compare` sees it."""
    cases, values = ColumnCases(ids), Measured()
    for case, tally in column.items():
        place = cases.place(case, case)
        for value, times in ((1.0, tally.passed), (0.0, tally.failed), ("error", tally.errors)):
            for _ in range(times):
                values.add(place, value)
    return Seen(cases=cases, metrics={PASSED: values})


def alarms(first: dict[str, Tally], second: dict[str, Tally]) -> tuple[bool, bool]:
    """Whether `compare` and the sentences find a difference."""
    ids = CaseIds()
    pair = paired(PASSED, ("a", "b"), seen(first, ids), seen(second, ids), False, several=False)
    (result,) = with_verdicts([pair], None)
    grid = SimpleNamespace(
        names=["a", "b"],
        evals=["", ""],
        tallies=[first, second],
        groups=[{}, {}],
        meet=lambda *_: True,
    )
    (sentence,) = sentences(cast("Grid", grid))
    return result.verdict in ("better", "worse"), " beats " in sentence


def row(
    draws: int, cases: int, rate: float, lost: float, repeats: str, *, varied: bool
) -> list[str]:
    """A line of the table: shares in per cent."""
    random = Random(f"{SEED} {cases} {rate} {lost} {repeats} {varied}")
    compared = differing = held = errors = trials = 0
    for _ in range(draws):
        rates = [
            random.betavariate(2 * rate, 2 * (1 - rate)) if varied else rate for _ in range(cases)
        ]
        first, second = (tallies(random, rates, repeats, q) for q in (0.0, lost))
        pair = alarms(first, second)
        share = rate_of(second.values())
        assert share is not None
        compared, differing = compared + pair[0], differing + pair[1]
        held += share.low <= rate <= share.high
        errors += sum(tally.errors for tally in second.values())
        trials += sum(tally.n for tally in second.values())
    shares = (errors / trials, compared / draws, differing / draws, held / draws)
    kind = "varied" if varied else "alike"
    return [
        str(cases),
        repeats,
        kind,
        f"{rate:g}",
        f"{lost:g}",
        *(f"{100 * s:.1f}" for s in shares),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1_000, help="for each line; 1,000")
    draws = parser.parse_args().draws
    heads = [
        "cases",
        "trials",
        "cases are",
        "rate",
        "lost",
        "in error",
        "compare",
        "beats",
        "holds",
    ]
    print(f"| {' | '.join(heads)} |\n|{' ---: |' * len(heads)}", flush=True)
    for repeats in REPEATS:
        for varied in (False, True):
            for cases in (20, 50):
                for rate in (0.5, 0.9):
                    for lost in LOST:
                        cells = row(draws, cases, rate, lost, repeats, varied=varied)
                        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
