"""`evenhand run`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from evenhand.cli.completing import complete_paths
from evenhand.cli.numbers import Number
from evenhand.cli.selecting import asked_for, selecting
from evenhand.cli.session import Session, run_asked, safe_text, session_options
from evenhand.cli.streams import tell
from evenhand.core.ranges import SHARE
from evenhand.scorers.rag.definitions import SYSTEMS


@click.command(short_help="Run prompts × models × tests, and say what passed.")
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@selecting
@click.option(
    "--strict",
    is_flag=True,
    help="Take warnings for errors: hints about a config, evals that expect nothing.",
)
@click.option(
    "--offline",
    is_flag=True,
    help="Answer from the folder's offline.jsonl instead of asking any model: no key, no network, no cost.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Write the results to this file, too, in the format that its ending says.",
)
@click.option(
    "--no-write", is_flag=True, help="Keep no run: what is not printed or written is gone."
)
@click.option(
    "--fail-on-empty",
    is_flag=True,
    help="Exit with 5 where no test is left, also with --promptfoo-exit-codes.",
)
@click.option(
    "--retry-errors",
    is_flag=True,
    help="Redo the trials in error of the latest run instead, as `evenhand retry` does.",
)
@click.option(
    "--resume",
    "resumed",
    is_flag=False,
    flag_value="latest",
    default="",
    metavar="[RUN]",
    help="Go on with RUN, by default the latest, as `evenhand resume` does.",
)
@click.option(
    "--definitions",
    type=click.Choice(SYSTEMS),
    metavar="TOOL",
    help=f"Whose definitions of RAG metrics count: {', '.join(SYSTEMS)}.",
)
@click.option(
    "--model",
    default="",
    metavar="ID",
    help="Of eval sets: take this model instead of those that they name.",
)
@click.option(
    "--at-least",
    type=Number(SHARE),
    metavar="SHARE",
    help="Pass where this share of trials, 0 to 1, passes in each column.  [default: what the files say, or all]",
)
@session_options
def run(
    paths: tuple[str, ...],
    strict: bool,
    offline: bool,
    no_write: bool,
    fail_on_empty: bool,
    retry_errors: bool,
    resumed: str,
    definitions: str | None,
    at_least: float | None,
    model: str,
    **said: Any,
) -> int:
    """Run the prompts × models × tests of a folder, its eval sets, or the cases of prompt directories.

    PATH is a folder with a promptfooconfig.yaml or the file itself; or any number of eval files (*_evals.py), a line of
    an eval after a colon, and folders of them; or any number of prompt directories, prompts/ID. Without PATH, the
    folder you stand in.

    Every reply is kept the moment it arrives. Stopped with Ctrl-C or killed, a run goes on with `evenhand resume`,
    and what was received is not paid for again.
    """
    from evenhand.core.errors import NothingSelected  # noqa: PLC0415 (see above)
    from evenhand.engine.door import Settings  # noqa: PLC0415 (see above)

    session = Session.of(said)
    if retry_errors or resumed:
        from evenhand.cli.resume import gone_on, redone  # noqa: PLC0415 (seldom)

        return (redone if retry_errors else gone_on)(resumed or None, session)
    asked = replace(
        asked_for(paths, said),
        offline=offline,
        strict=strict,
        definitions=definitions or "",
        at_least=at_least,
        model=model,
    )
    record: dict[str, Any] = {
        "asked": asked.record(),
        "concurrency": session.concurrency,
        "max_cost_usd": session.max_cost,
        "cache": not session.no_cache,
        "time_limit_s": session.time_limit,
        "retries": session.retries,
    }
    with _home(no_write) as home:
        settings = Settings(
            home=home,
            concurrency=session.concurrency,
            cache=False if session.no_cache else None,
            max_cost_usd=session.max_cost,
            time_limit_s=session.time_limit,
            retries=session.retries,
            at_least=at_least,
            record=record,
        )
        try:
            return run_asked(asked, settings, None, session)
        except NothingSelected as error:
            if not session.promptfoo_exit_codes or fail_on_empty:
                raise
            tell(safe_text(str(error)))
            return 0


@contextlib.contextmanager
def _home(no_write: bool) -> Iterator[Path | None]:
    """Where the run is kept: as always, or in a folder that is gone afterwards."""
    if not no_write:
        yield None
        return
    import tempfile  # noqa: PLC0415 (seldom)

    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        yield Path(folder)
