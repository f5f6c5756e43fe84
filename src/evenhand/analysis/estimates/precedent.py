"""What an earlier run of the same plan asked and cost: for plans whose calls are known only when they have run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from evenhand.analysis.estimates.waves import waves_of_run
from evenhand.core.errors import StoreError
from evenhand.core.plan import CallEstimate, Plan
from evenhand.core.record import Record
from evenhand.store.catalogue import paths
from evenhand.store.counted import ModelUsage
from evenhand.store.runfile import RunFile

LOOKED_AT = 100
"""Runs, newest first, among which an earlier one is looked for."""


class Precedent(Record, frozen=True):
    """An earlier run, and what a plan would ask and cost if its trials were like those.

    Attributes:
        run: The run's id.
        trials: How many of its trials were settled.
        estimates: The calls of the whole plan. A cost is what to expect, not a bound; it leaves the cache out.
        waves: The waves that its trials took in batches, or would have taken.
    """

    run: str
    trials: int
    estimates: tuple[CallEstimate, ...]
    waves: int = 0


def precedent_of(plan: Plan, home: Path) -> Precedent | None:
    """The latest run of the plan's file or folder and title that settled a trial; None where there is none.

    Args:
        home: Where runs are kept.
    """
    for path in paths(home)[:LOOKED_AT]:
        try:
            with RunFile.open(path) as run:
                if (run.meta.title, run.meta.source) != (plan.title, plan.source):
                    continue
                trials = run.totals().trials
                if trials:
                    estimates = tuple(_scaled(run.usage(), run.batched_usd(), plan.size / trials))
                    return Precedent(run.meta.id, trials, estimates, waves_of_run(run))
        except StoreError:
            continue
    return None


def _scaled(
    usage: list[ModelUsage], batched_usd: Mapping[tuple[str, str], float], times: float
) -> Iterator[CallEstimate]:
    from evenhand.providers.batches.places import batch_share_of  # noqa: PLC0415 (only before a run)

    for one in usage:
        cost, paid = one.cost_usd, one.calls - one.cached
        if cost is not None:
            half, share = batched_usd.get((one.role, one.model), 0.0), batch_share_of(one.model)
            if share:  # what it would have cost live
                cost += half / share - half
            # What the cache answered would have cost as much as what was paid for; of nothing paid, nothing is known.
            cost = cost / paid * one.calls * times if paid else None
        calls, tokens = round(one.calls * times), round(one.tokens_in * times)
        yield CallEstimate(one.model, one.role, calls, tokens, cost)
