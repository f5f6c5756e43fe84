"""How often more of a cascade's verdicts are wrong than agreed, and what it saves. Simulated.

What the first judge sees of an output is normal, and a good one lies higher (a binormal judge). It says how likely a
pass is, sharpened or blunted: so it is too sure or too modest. The second judge errs on 5 % and says how sure it is in
three steps. The limits are those that `evenhand calibrate` chooses of 1,000 outputs, half of them good; their risk is
that among 100,000 others. `could` is what the first judge could decide at most, if the truth were known.

    python bench/judge_cascade.py        # a quarter of an hour
    python bench/judge_cascade.py 50
    python bench/judge_cascade.py 300 one
    python bench/judge_cascade.py 1000 FOLDER

`one` is a judge by itself, as `evenhand calibrate --accept-risk` has it: how often more of its accepted verdicts are
wrong than agreed, at any of the looks after 50, 75 and 100 labels of a draw of 100, and the share that is accepted in
the end. The promise is about verdicts like these; counted are those of the run.

With a folder, the second judge is a recorded one, beside people's recorded verdicts: every fourth table. The labels of
a split are drawn from the table with replacement, so the risk among verdicts like these is known: that of the table.
The first judge is simulated, and how sure the second one is.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Any

import numpy as np
from judge_tables import Table, recorded

from evenhand.analysis.trust.agreement import tells_apart
from evenhand.stats.cascading import JudgedTwice, Limits, limits_of

ITEMS = 1000
NEW = 100_000
Columns = dict[str, Any]


def outputs(
    rng: np.random.Generator,
    size: int,
    auc: float,
    sharpness: float,
    *,
    good: np.ndarray[Any, np.dtype[np.bool_]] | None = None,
) -> Columns:
    """Outputs: what the first judge says, how sure each is, and whether it is right."""
    apart = 2**0.5 * NormalDist().inv_cdf(auc)
    if good is None:
        good = rng.random(size) < 0.5
    logit = (
        apart * (rng.normal(0, 1, size) + apart * (good - 0.5)) if apart else rng.normal(0, 1, size)
    )
    stated = 1 / (1 + np.exp(-sharpness * logit))
    step = rng.integers(0, 3, size)
    return {
        "good": good,
        "passed": stated > 0.5,
        "first": np.round(np.maximum(stated, 1 - stated), 3),
        "first_right": (stated > 0.5) == good,
        "then": np.array([0.5, 0.8, 0.95])[step],
        "then_right": rng.random(size) < np.array([0.88, 0.96, 0.99])[step],
    }


def could(one: Columns, risk: float) -> float:
    """The share of outputs that the first judge could decide at this risk, if the truth were known."""
    order = np.argsort(-one["first"], kind="stable")
    size = len(order)
    wrong = np.cumsum(~one["first_right"][order])
    rest = (~one["then_right"]).mean() * (size - np.arange(1, size + 1))
    return float(np.flatnonzero((wrong + rest) / size <= risk).max(initial=-1) + 1) / size


def chosen(run: Columns, labels: int, risk: float) -> Limits | None:
    """The limits by labels of a run's first outputs."""
    pairs = zip(run["passed"][:labels].tolist(), run["good"][:labels].tolist(), strict=True)
    tells = tells_apart(list(pairs))
    columns = (run[name].tolist() for name in ("first", "then", "first_right", "then_right"))
    rows = [
        JudgedTwice(
            first=first if tells else None, then=then, first_right=right, then_right=then_right
        )
        for first, then, right, then_right in zip(*columns, strict=True)
    ]
    return limits_of([rows[:labels]], rows, risk)


def later(limits: Limits | None, new: Columns) -> tuple[float, float, float]:
    """What each judge decides of new outputs, and the share of their verdicts that is wrong."""
    nobody = np.zeros(len(new["first"]), bool)
    if limits is None:
        return 0.0, 0.0, 0.0
    first = nobody if limits.first is None else new["first"] >= limits.first
    then = nobody if limits.then is None else ~first & (new["then"] >= limits.then)
    wrong = (first & ~new["first_right"]).sum() + (then & ~new["then_right"]).sum()
    return float(first.mean()), float(then.mean()), float(wrong / max(1, (first | then).sum()))


def settings() -> Iterator[tuple[float, float, float, int]]:
    """The AUC of the first judge, its sharpness, the risk, and the number of labels."""
    yield from itertools.product((0.5, 0.85, 0.9, 0.95), (0.6, 1.0, 2.0), (0.1,), (100, 300))
    yield from itertools.product((0.85, 0.9, 0.95), (1.0,), (0.1,), (1000,))
    yield from itertools.product((0.85, 0.9, 0.95), (1.0,), (0.15, 0.2), (100, 200, 300))


Verdicts = list[tuple[float, bool]]
"""How sure a judge is of each output, and whether it is right."""


def of_one() -> Iterator[tuple[str, Callable[[Random, float], Verdicts]]]:
    """Judges by themselves, each with how its 600 verdicts are made at a risk."""
    size = range(600)

    def at_the_edge(random: Random, risk: float) -> Verdicts:
        right = [place > int(600 * risk) for place in size]
        random.shuffle(right)
        return [(random.random(), one) for one in right]

    def from_certainty(
        chance: Callable[[float], float], low: float = 0.0
    ) -> Callable[..., Verdicts]:
        def verdicts(random: Random, risk: float) -> Verdicts:
            del risk
            sure = [random.uniform(low, 1) for _ in size]
            return [(one, random.random() < chance(one)) for one in sure]

        return verdicts

    def steps(random: Random, risk: float) -> Verdicts:
        del risk
        three = ((0.5, 0.8), (0.8, 0.93), (0.95, 0.985))
        return [
            (sure, random.random() < right) for sure, right in (random.choice(three) for _ in size)
        ]

    yield "as sure as right", from_certainty(lambda sure: sure, 0.5)
    yield "sure of little", from_certainty(lambda sure: 0.75 + 0.2 * (sure - 0.75), 0.5)
    yield "errs on 5 %", from_certainty(lambda _: 0.95)
    yield "errs on 2 %", from_certainty(lambda _: 0.98)
    yield "three steps", steps
    yield "wrong where sure", from_certainty(lambda sure: 0.75 if sure > 0.5 else 0.95)
    yield "wrong where unsure", from_certainty(lambda sure: 0.5 + 0.5 * sure**0.3)
    yield "errs a little too often", at_the_edge


def one_judge(splits: int) -> None:
    """Prints a line for each setting of a judge by itself, and the worst and the mean."""
    print("judge  risk  labels  above risk  accepted")
    rows: list[tuple[float, float]] = []
    for risk, labels, (name, verdicts_of) in itertools.product((0.1, 0.2), (100,), of_one()):
        random = Random(f"{risk} {labels} {name}")
        above, accepted = 0, 0.0
        for _ in range(splits):
            items = verdicts_of(random, risk)
            random.shuffle(items)
            thresholds = [accepts(items, n, labels, risk) for n in range(50, labels + 1, 25)]
            standing = [[right for sure, right in items if sure >= one] for one in thresholds]
            above += any(each.count(False) > risk * len(each) + 1e-9 for each in standing)
            accepted += len(standing[-1]) / len(items)
        rows.append((above / splits, accepted / splits))
        print(
            f"{name:<24} {risk:.1f} {labels:>4}  {rows[-1][0]:.3f}  {rows[-1][1]:.3f}", flush=True
        )
    shares = [share for _, share in rows]
    print(
        f"at worst {max(above for above, _ in rows):.3f}; accepted {sum(shares) / len(shares):.3f}"
    )


def recorded_outputs(rng: np.random.Generator, table: Table, auc: float) -> Columns:
    """The outputs of a table: people's verdicts and the second judge's, beside a first judge that is made up."""
    good, passed = (np.array(column) == 1 for column in zip(*table.passes, strict=True))
    made = outputs(rng, len(good), auc, 1.0, good=good)
    right = good == passed
    surely = np.abs(rng.normal(1.0 + 1.5 * right, 0.8))
    return {**made, "then": np.round(1 / (1 + np.exp(-surely)), 3), "then_right": right}


def of_tables(splits: int, folder: Path) -> None:
    """Prints a line for each setting, over the tables."""
    tables = [table for table in recorded(folder)[::4] if len(table.pairs) > 300]
    print(f"{len(tables)} tables")
    print("AUC   risk  above risk, mean and worst  first decides  then decides  none")
    for auc, risk in itertools.product((0.85, 0.9, 0.95), (0.1, 0.2)):
        rows: list[tuple[float, ...]] = []
        for place, table in enumerate(tables):
            rng = np.random.default_rng([43, int(auc * 100), int(risk * 100), place])
            every = recorded_outputs(rng, table, auc)
            splits_of: list[tuple[float, float, float]] = []
            for _ in range(splits):
                drawn = rng.integers(0, len(every["good"]), 300)
                run = {name: column[drawn] for name, column in every.items()}
                splits_of.append(later(chosen(run, 300, risk), every))
            one, two = (float(np.mean([row[i] for row in splits_of])) for i in (0, 1))
            above = float(np.mean([wrong > risk for *_, wrong in splits_of]))
            rows.append((above, one, two))
        above, one, two = (float(np.mean(column)) for column in zip(*rows, strict=True))
        print(
            f"{auc:.2f}  {risk:.2f}  {above:17.3f}  {max(row[0] for row in rows):7.3f}  {one:13.2f}"
            f"  {two:12.2f}  {1 - one - two:6.2f}",
            flush=True,
        )


def accepts(items: Verdicts, labels: int, of: int, risk: float) -> float:
    """From which certainty on verdicts stand by so many labels of a draw; infinite where none may."""
    rows = [
        JudgedTwice(None, sure, then_right=right if place < labels else None)
        for place, (sure, right) in enumerate(items)
    ]
    limits = limits_of([rows[:of]], rows, risk)
    return math.inf if limits is None or limits.then is None else limits.then


def main(splits: int) -> None:
    """Prints a line for each setting."""
    print("AUC   sharp  risk  labels  above risk  first decides  could  then decides  none")
    for auc, sharpness, risk, labels in settings():
        rng = np.random.default_rng(
            [43, int(auc * 100), int(sharpness * 10), int(risk * 100), labels]
        )
        new = outputs(rng, NEW, auc, sharpness)
        splits_of = [
            later(chosen(outputs(rng, ITEMS, auc, sharpness), labels, risk), new)
            for _ in range(splits)
        ]
        one, two = (float(np.mean([row[i] for row in splits_of])) for i in (0, 1))
        above = float(np.mean([wrong > risk for *_, wrong in splits_of]))
        print(
            f"{auc:.2f}  {sharpness:5}  {risk:.2f}  {labels:6}  {above:10.3f}  {one:13.2f}"
            f"  {could(new, risk):5.2f}  {two:12.2f}  {1 - one - two:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    if "one" in sys.argv:
        one_judge(count)
    elif len(sys.argv) > 2:
        of_tables(count, Path(sys.argv[2]))
    else:
        main(count)
