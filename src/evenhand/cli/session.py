"""What `run`, `gate`, `resume` and `retry` have in common: what may be spent, what is printed, how it exits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from evenhand.cli.exits import code_for, failed_code
from evenhand.cli.grouped import OptionSet
from evenhand.cli.notifying import notifying
from evenhand.cli.options import flag, number_option
from evenhand.core.ranges import BUDGET_USD, CONCURRENCY, RETRIES, SECONDS
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked
    from evenhand.core.run import RunStatus, VerdictWord
    from evenhand.engine.door import Settings

spending_options = OptionSet(
    number_option(
        "-j",
        "--concurrency",
        "--max-concurrency",
        "concurrency",
        within=CONCURRENCY,
        help="Number of trials and calls in flight.",
    ),
    number_option(
        "--max-cost",
        within=BUDGET_USD,
        metavar="USD",
        help="Make no call that could take the run's cost past USD.",
    ),
    flag("--no-cache", help="Don't read or write the reply cache."),
    number_option(
        "--retries",
        within=RETRIES,
        metavar="N",
        help="Retry a failed call up to N times; waiting for a rate limit doesn't count.  [default: 5]",
    ),
    number_option(
        "--time-limit",
        within=SECONDS,
        metavar="SECONDS",
        help="Time limit for one call of your own code.  [default: 60; 600 in eval sets]",
    ),
)
"""What may be spent, and how fast."""

_LOOKS = (
    flag("--json", "as_json", help="Print one JSON document to stdout."),
    flag("--calls", help="Include every model call in --json and in -o FILE.json or .jsonl."),
    flag("-v", "--verbose", help="Print every trial with all its expectations as it finishes."),
    click.option("--no-table/--table", "no_table", default=False, help="Print the summary only."),
    flag("--no-progress", "--no-progress-bar", "no_progress", help="Don't print progress."),
    flag("--exit-zero", help="Exit with 0 even if trials failed."),
    flag("--promptfoo-exit-codes", help="Exit with 100 if trials failed, as promptfoo does."),
)

session_options = OptionSet(spending_options, *_LOOKS, notifying)
"""What may be spent, what is printed, and how it exits; `Session.of` understands them."""


class Session(Record, frozen=True, kw_only=True):
    """What these options say.

    Attributes:
        concurrency: Trials and calls in flight; None for as many as the config or the limits allow.
        max_cost: US dollars that the run must not pass.
        no_cache: Neither read nor write the cache.
        time_limit: Seconds for one call of a function of the user's.
        retries: How often a call that failed is tried again.
        fail_on_empty: Exit with 5 where no case is selected, whatever promptfoo would do.
        calls: With the model calls of each trial, where there is room for them.
        outputs: Files to write the results to.
        workers: Processes that settle trials; None for none, or as many as the cluster has room for.
        ray: The address of a Ray cluster; empty for the one in RAY_ADDRESS, or one that is started; None for none.
        cpus_per_trial: CPUs that a trial keeps busy.
        trust: Run what the file of a run that was made elsewhere names.
        notify: Who is told when the run is over: addresses, or `desktop`.
    """

    concurrency: int | None
    max_cost: float | None
    no_cache: bool
    time_limit: float | None
    retries: int | None
    as_json: bool = False
    calls: bool = False
    verbose: bool = False
    no_table: bool = False
    no_progress: bool = False
    exit_zero: bool = False
    promptfoo_exit_codes: bool = False
    fail_on_empty: bool = False
    outputs: tuple[str, ...] = ()
    workers: int | None = None
    ray: str | None = None
    cpus_per_trial: float | None = None
    notify: tuple[str, ...] = ()
    trust: bool = False

    @property
    def is_of_fleet(self) -> bool:
        """Whether anything is said of several processes."""
        return any(one is not None for one in (self.workers, self.ray, self.cpus_per_trial))

    @staticmethod
    def of(options: dict[str, Any]) -> Session:
        """Takes its own out of a command's options, and leaves the others."""
        return Session(
            **{name: options.pop(name) for name in Session.__struct_fields__ if name in options}
        )


def settings_for(
    request: Asked, session: Session, home: Path | None = None, **record: object
) -> Settings:
    """How a new run of this is run, and what its file keeps of that.

    Args:
        session: What may be spent, and how fast.
        home: Where it is kept; None for the usual place.
    """
    from evenhand.cli.offline import script_digest

    # A run that is resumed has to be answered by the same script.
    if request.offline:
        record["script"] = script_digest(request.folder)
    settings = study_settings(home, session, {"asked": request.record(), **record})
    return replace(settings, at_least=request.at_least, record_anew=request.record_anew)


def study_settings(home: Path | None, session: Session, record: Mapping[str, Any]) -> Settings:
    """How a new run is run, of which nothing is asked but that it stays within what may be spent: that of a study.

    Args:
        home: The folder that it is kept in; None for the usual one.
        session: What may be spent. The run's file keeps that too, so that `resume` spends no more.
    """
    from evenhand.engine.door import Settings

    spending = {
        "concurrency": session.concurrency,
        "max_cost_usd": session.max_cost,
        "cache": not session.no_cache,
        "time_limit_s": session.time_limit,
        "retries": session.retries,
    }
    return Settings(
        home=home,
        concurrency=session.concurrency,
        cache=False if session.no_cache else None,
        max_cost_usd=session.max_cost,
        time_limit_s=session.time_limit,
        retries=session.retries,
        record={**record, **spending},
    )


def exit_code(word: VerdictWord, status: RunStatus, signal: int, session: Session) -> int:
    """The exit code of a run with this verdict and ending."""
    return code_for(
        word,
        status,
        signal,
        promptfoo=session.promptfoo_exit_codes,
        failures_are_fine=session.exit_zero,
        failed=failed_code(os.environ),
    )
