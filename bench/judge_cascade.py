"""How often more of a cascade's verdicts are wrong than agreed, and what it saves. Simulated.

What the first judge sees of an output is normal, and a good one lies higher (a binormal judge). It says how likely a
pass is, sharpened or blunted: so it is too sure or too modest. The second judge errs on 5 % and says how sure it is in
three steps. The limits are those that `evenhand calibrate` chooses of 1,000 outputs, half of them good; their risk is
that among 100,000 others. `could` is what the first judge could decide at most, if the truth were known.

    python bench/judge_cascade.py        # a quarter of an hour
    python bench/judge_cascade.py 50
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np

from evenhand.analysis.trust.agreement import tells_apart
from evenhand.stats.cascading import JudgedTwice, Limits, limits_of

ITEMS = 1000
NEW = 100_000
Columns = dict[str, Any]


def outputs(rng: np.random.Generator, size: int, auc: float, sharpness: float) -> Columns:
    """Outputs: what the first judge says, how sure each is, and whether it is right."""
    apart = 2**0.5 * NormalDist().inv_cdf(auc)
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
    nobody = np.zeros(NEW, bool)
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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
