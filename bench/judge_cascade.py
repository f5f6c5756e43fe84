"""How often the verdicts of a cascade's judges are wrong more often than `risk`, and what the cascade saves. Simulated.

An output's probability of a pass is drawn, people's verdict by it, and what the first judge says is that probability,
sharpened or blunted: so it is too sure or too modest. The second judge errs on 5 % and says how sure it is in three
steps. The limits are those that `evenhand calibrate` chooses; their risk is that among 100,000 other outputs.

    python bench/judge_cascade.py        # a minute
    python bench/judge_cascade.py 50
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np

from evenhand.stats.selective import DELTA, acceptable

RISK = 0.1
ITEMS = 1000
NEW = 100_000
Columns = dict[str, Any]


def outputs(rng: np.random.Generator, size: int, spread: float, sharpness: float) -> Columns:
    """Outputs: what each judge says, how sure it is, and whether it is right."""
    logit = rng.normal(0.5, spread, size)
    good = rng.random(size) < 1 / (1 + np.exp(-logit))
    said = 1 / (1 + np.exp(-sharpness * logit))
    step = rng.integers(0, 3, size)
    return {
        "good": good,
        "said": said,
        "first": np.round(np.maximum(said, 1 - said), 3),
        "first_right": (said >= 0.5) == good,
        "then": np.array([0.5, 0.8, 0.95])[step],
        "then_right": rng.random(size) < np.array([0.88, 0.96, 0.99])[step],
    }


def auc(one: Columns) -> float:
    """How well the first judge tells good outputs from bad ones."""
    order = np.argsort(np.argsort(one["said"])) + 1
    passes = int(one["good"].sum())
    fails = len(order) - passes
    return float((order[one["good"]].sum() - passes * (passes + 1) / 2) / (passes * fails))


def possible(one: Columns) -> float:
    """The share of outputs that the first judge could decide at this risk, if the truth were known."""
    order = np.argsort(-one["first"], kind="stable")
    risks = np.cumsum(~one["first_right"][order]) / np.arange(1, len(order) + 1)
    return float(np.flatnonzero(risks <= RISK).max(initial=-1) + 1) / len(order)


def split(run: Columns, new: Columns, labels: int) -> tuple[list[float], bool]:
    """What each judge decides of new outputs, and whether more than `risk` of either's verdicts is wrong."""
    left, left_new = np.ones(ITEMS, bool), np.ones(NEW, bool)
    shares: list[float] = []
    above = False
    for stage in ("first", "then"):
        right = run[f"{stage}_right"]
        pairs = [(float(run[stage][i]), bool(right[i])) for i in np.flatnonzero(left[:labels])]
        everything = run[stage][left].tolist()
        limit = acceptable(pairs, everything, RISK, DELTA / 2, later=True) if pairs else None
        if limit is None:
            shares.append(0.0)
            continue
        stands = left_new & (new[stage] >= limit.threshold)
        shares.append(float(stands.mean()))
        above |= bool(stands.any() and 1 - new[f"{stage}_right"][stands].mean() > RISK)
        left &= run[stage] < limit.threshold
        left_new &= ~stands
    return shares, above


def main(splits: int) -> None:
    """Prints a line for each first judge and number of labels."""
    print("AUC   sharp labels  either above risk  first decides  it could  then decides  nobody")
    kinds = itertools.product((0.0, 1.0, 2.0, 3.0, 5.0), (0.6, 1.0, 2.0), (100, 300))
    for spread, sharpness, labels in kinds:
        rng = np.random.default_rng([43, int(spread * 10), int(sharpness * 10), labels])
        new = outputs(rng, NEW, spread, sharpness)
        made = [split(outputs(rng, ITEMS, spread, sharpness), new, labels) for _ in range(splits)]
        one, two = (float(np.mean([shares[i] for shares, _ in made])) for i in (0, 1))
        above = float(np.mean([wrong for _, wrong in made]))
        print(
            f"{auc(new):.2f}  {sharpness:4} {labels:6}  {above:17.3f}  {one:13.2f}"
            f"  {possible(new):8.2f}  {two:12.2f}  {1 - one - two:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
