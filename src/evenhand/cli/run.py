"""`evenhand run`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from evenhand.cli.completing import complete_paths
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.numbers import Number
from evenhand.cli.replaying import ReplayRequest, replaying_options, with_replay
from evenhand.cli.selecting import answering, asked_for, selecting, stop_when_decided
from evenhand.cli.session import Session, session_options, settings_for
from evenhand.cli.settling import run_asked, safe_text
from evenhand.cli.streams import tell
from evenhand.core.ranges import SHARE


@click.command(
    cls=GroupedCommand,
    short_help="Run prompts × models × tests, and say what passed.",
)
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@selecting
@answering
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Also write the results to FILE. Its extension sets the format.",
)
@click.option("--no-write", is_flag=True, help="Don't save this run.")
@click.option(
    "--fail-on-empty",
    is_flag=True,
    help="Exit with 5 if no case is selected, even with --promptfoo-exit-codes.",
)
@click.option(
    "--retry-errors",
    is_flag=True,
    help="Retry the errors of the latest run, like `evenhand retry`.",
)
@click.option(
    "--resume",
    "resumed",
    is_flag=False,
    flag_value="latest",
    default="",
    metavar="[RUN]",
    help="Resume RUN (default: the latest), like `evenhand resume`.",
)
@click.option(
    "--at-least",
    type=Number(SHARE),
    metavar="SHARE",
    help="Pass if this share of trials, 0 to 1, passes for each variant.  [default: as the files say, or all]",
)
@click.option(
    "--calibrated",
    type=click.Choice(["required", "accepted"]),
    metavar="required|accepted",
    help="required: no verdict (exit 3) while a judge has no fresh calibration.  [default: as pyproject.toml says]",
)
@click.option(
    "--record",
    "record_anew",
    is_flag=True,
    help="Eval sets: ask, and record their cassettes again.",
)
@stop_when_decided
@replaying_options
@session_options
def run(
    paths: tuple[str, ...],
    no_write: bool,
    fail_on_empty: bool,
    retry_errors: bool,
    resumed: str,
    at_least: float | None,
    calibrated: str | None,
    stop_when_decided: bool,
    record_anew: bool,
    **options: Any,
) -> int:
    """Run a folder's prompts × models × tests, its eval sets, or its prompt directories.

    PATH is a folder with a promptfooconfig.yaml, or that file; an eval file (*_evals.py), one eval in it (FILE:LINE),
    or a folder of eval files; or a prompt directory (prompts/ID). Several eval files or prompt directories are run
    together. Default: the current folder.

    Every reply is saved as soon as it arrives. After Ctrl-C or a crash, `evenhand resume` continues the run without
    paying again for replies that it has.
    """
    from evenhand.core.errors import NothingSelected
    from evenhand.documents.project import project_for

    session = Session.of(options)
    request = ReplayRequest.of(options)
    if retry_errors or resumed:
        from evenhand.cli.resume import gone_on, redone

        return (redone if retry_errors else gone_on)(resumed or None, session)
    asked = replace(asked_for(paths, options), at_least=at_least, record_anew=record_anew)
    calibrated = calibrated or project_for(asked.folder).calibrated
    record: dict[str, object] = {"calibrated": calibrated} if calibrated else {}
    if stop_when_decided:
        record["stop_when_decided"] = asked.selection.seed
    with _home(no_write) as home, contextlib.ExitStack() as opened:
        replay = opened.enter_context(request.opened()) if request else None
        if replay is not None and request is not None:
            asked = with_replay(asked, replay.header, asks=request.asks)
        settings = settings_for(asked, session, home, **record)
        if replay is not None and request is not None:
            settings = replace(settings, replay=replay, replay_asks=request.asks)
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
    import tempfile

    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        yield Path(folder)
