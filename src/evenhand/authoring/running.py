"""`run(evals)`: an eval set, run from a script, a notebook or inside a running loop."""

from __future__ import annotations

import os
from pathlib import Path

from evenhand.authoring.evalset import EvalSet
from evenhand.authoring.plan import plan_of
from evenhand.core.plan import Selection
from evenhand.engine.door import Settings
from evenhand.engine.door import run as settle
from evenhand.store.runfile import RunFile


def run(
    *sets: EvalSet,
    first: int | None = None,
    repeats: int | None = None,
    concurrency: int | None = None,
    cache: bool | None = None,
    max_cost_usd: float | None = None,
    home: Path | None = None,
) -> RunFile:
    """Runs eval sets, and gives the run: its totals, its trials, its file.

    Args:
        *sets: What to run.
        first: Only the first cases.
        repeats: Instead of what the sets say.
        concurrency: Trials and calls in flight.
        cache: Whether replies may come from the cache.
        max_cost_usd: No call is sent that could take the run past this.
        home: The folder that keeps runs; `.evenhand` beside the first set's file by default.

    Raises:
        ConfigError: All that is wrong with the sets.
        NothingSelected: There is nothing to run.
        StoreError: The run cannot be kept.
    """
    plan = plan_of(
        sets,
        Selection(first=first, repeats=repeats),
        env=os.environ,
        source=str(sets[0].path) if sets else "",
    )
    settings = Settings(home=home, concurrency=concurrency, cache=cache, max_cost_usd=max_cost_usd)
    return RunFile.open(settle(plan, settings).path)
