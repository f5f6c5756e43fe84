"""`run(evals)`: eval sets, run from a script, a notebook or inside a running loop; `run_async` for async code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace as record_replace

from evenhand.core.arguments import checked
from evenhand.core.errors import UsageError
from evenhand.core.plan import Plan, Selection, refuse_hints
from evenhand.core.ranges import BUDGET_USD, CONCURRENCY, REPEATS, ROWS
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.models import calls_recorded
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine.door import Settings, settle, waiting
from evenhand.engine.runner import ShowProgress
from evenhand.languages.documents.project import CALIBRATED, Calibrated, calibrated_for
from evenhand.providers.leading import keys_not_needed
from evenhand.render.run import Run

if TYPE_CHECKING:
    from evenhand.render.progress import NotebookProgress, Progress


@checked
async def run_async(
    *sets: EvalSet,
    first: int | None = None,
    repeats: int | None = None,
    concurrency: int | None = None,
    cache: bool | None = None,
    max_cost_usd: float | None = None,
    strict: bool = False,
    progress: bool | None = None,
    home: str | Path | None = None,
    calibrated: Calibrated | None = None,
    cassette: str | Path | None = None,
    record: bool = False,
    record_calls: bool | None = None,
) -> Run:
    """Runs eval sets: `run(…)` waits for them, in a script, a notebook cell and inside a running loop too.

    `await run_async(…)` stays on the running loop, for evals that use what belongs to it: a connection pool, a client,
    a server in the same process.

    Args:
        *sets: What to run.
        first: Only the first cases.
        repeats: Instead of what the sets say.
        concurrency: Trials and calls in flight.
        cache: Whether replies may come from the cache.
        max_cost_usd: No call is sent that could take the run past this.
        strict: A hint about the sets is an error, and so is a trial that expects nothing.
        progress: Whether a line says how far it is, on stderr or below a notebook's cell; by default where that is a
            terminal or a notebook.
        home: The folder that keeps runs; `.evenhand` beside the first set's file by default.
        calibrated: `required`: the run has no verdict while a judge has no calibration that holds. `accepted`: it may
            have one. By default as pyproject.toml says, of the sets' folders.
        cassette: The file that answers all that is asked, instead of what the sets say. Recorded where it isn't there.
        record: Cassettes are recorded again.
        record_calls: Whether the model calls of all clients of this process are recorded. By default they are, but for
            those that can't be, which are sent, and named by the report. True: such a call is an error.

    Returns:
        The run: print it, look at it in a notebook, or take its `rows()`.

    Raises:
        ConfigError: All that is wrong with the sets.
        UsageError: What it was given is no set, or a number is out of its range.
        NothingSelected: There is nothing to run.
        StoreError: The run cannot be kept.
    """
    settings = Settings(
        home=None if home is None else Path(home),
        concurrency=concurrency,
        cache=cache,
        max_cost_usd=max_cost_usd,
        record_anew=record,
    )
    if cassette is not None:
        settings = replace(settings, cassette=Path(cassette))
    selection = Selection(first=first, repeats=repeats)
    plan = _planned(sets, selection, settings, strict, calibrated)
    if record_calls is not None:
        around = partial(calls_recorded, strict=True) if record_calls else None
        plan.options = record_replace(plan.options, around=around)
    needed = calibrated or calibrated_for(map(_folder, sets))
    recorded = _recorded(settings, selection, strict=strict, calibrated=needed)
    with shown(plan, progress) as show:
        finished = await settle(plan, recorded, progress=show)
    return Run.open(finished.path)


run = waiting(run_async)
"""`run_async`, waited for: in a script, in a notebook cell, and inside a running loop too."""


def _planned(
    sets: Sequence[EvalSet],
    selection: Selection,
    settings: Settings,
    strict: bool,
    calibrated: object,
) -> Plan:
    wrong = [
        f"{type(item).__name__} is not an EvalSet"
        for item in cast("Sequence[object]", sets)
        if not isinstance(item, EvalSet)
    ]
    numbers = (
        ROWS.problem("first", selection.first),
        REPEATS.problem("repeats", selection.repeats),
        CONCURRENCY.problem("concurrency", settings.concurrency),
        BUDGET_USD.problem("max_cost_usd", settings.max_cost_usd),
    )
    wrong += filter(None, numbers)
    if calibrated is not None and calibrated not in CALIBRATED:
        wrong.append(f"calibrated is {calibrated!r}; it is one of {', '.join(CALIBRATED)}")
    if wrong:
        raise UsageError(f"run: {'; '.join(wrong)}", hint="Write run(evals, others, first=10).")
    # A set that was typed in a notebook or at a prompt has no file: its runs are kept in the current folder.
    file = next((evals.path for evals in sets if evals.path.is_file()), Path.cwd())
    env: Mapping[str, str] = os.environ
    if settings.cassette is not None and settings.cassette.is_file() and not settings.record_anew:
        # The cassette answers, so that no key is missing.
        env = {**env, **keys_not_needed(env)}
    plan = plan_of(
        sets, selection, env=env, source=str(file), strict=strict, record=settings.record_anew
    )
    if strict:
        refuse_hints(plan)
    return plan


def _folder(evals: EvalSet) -> Path:
    """Where a set stands; the current folder for one that was typed in a notebook or at a prompt."""
    return evals.path.parent if evals.path.is_file() else Path.cwd()


def _recorded(
    settings: Settings, selection: Selection, *, strict: bool, calibrated: str
) -> Settings:
    """The settings, with what is kept of them in the run's file."""
    record: dict[str, object] = {
        "first": selection.first,
        "repeats": selection.repeats,
        "strict": strict,
        "concurrency": settings.concurrency,
        "cache": settings.cache,
        "max_cost_usd": settings.max_cost_usd,
    }
    if calibrated:
        record["calibrated"] = calibrated
    return replace(settings, record=record)


@contextmanager
def shown(plan: Plan, progress: bool | None) -> Iterator[ShowProgress | None]:
    """What is told how far the run is, where somebody looks."""
    # A notebook has loaded IPython already; elsewhere the import of its part would only cost time.
    if progress is not False and "IPython" in sys.modules:
        from evenhand.render.progress import NotebookProgress, in_notebook  # noqa: PLC0415 (only there)

        if in_notebook():
            with _telling(plan, NotebookProgress()) as show:
                yield show
            return
    err = sys.__stderr__ if sys.stderr is None else sys.stderr  # pyright: ignore[reportUnnecessaryComparison] (there may be none)
    live = err is not None and err.isatty()
    if err is None or not (live if progress is None else progress):
        yield None
        return
    from evenhand.render.progress import Progress  # noqa: PLC0415 (imported on use)

    with _telling(plan, Progress(err, live)) as show:
        yield show


@contextmanager
def _telling(plan: Plan, progress: Progress | NotebookProgress) -> Iterator[ShowProgress]:
    from evenhand.render.heading import heading  # noqa: PLC0415 (only where somebody looks)

    progress.start(heading(plan))
    try:
        yield progress.update
    finally:
        progress.stop()
