"""`evenhand runs history`: how the runs of a folder went over time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from evenhand.cli.completing import complete_paths
from evenhand.cli.exits import PASSED
from evenhand.cli.options import flag, number_option
from evenhand.cli.remote_run_names import runs_elsewhere
from evenhand.cli.streams import say_json, say_lines
from evenhand.core.ranges import Range

LAST = Range(1, 10**6, whole=True)


@click.command(short_help="Show pass rate, cost and latency over time, run by run.")
@click.argument("path", required=False, metavar="[PATH]", shell_complete=complete_paths)
@number_option(
    "--last",
    within=LAST,
    default=20,
    show_default=True,
    metavar="N",
    help="At most so many runs of each config or set, the newest.",
)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def history(path: str | None, last: int, as_json: bool) -> int:
    """Show the runs of PATH, oldest first: pass rate with its 95 % interval, cost and latency.

    PATH is a folder, a config or a remote. Default: all runs of this folder and of the folders above and below it.
    Lines between the runs say where the judge, the data, the prompt, the model or your code changed. Probes and checks
    of canaries are left out.
    """
    from evenhand.analysis.history.history import history as read_history
    from evenhand.core.errors import UsageError
    from evenhand.core.wording.ink import Ink, takes_colors, width_of
    from evenhand.core.wording.words import safe
    from evenhand.render.history_text import document, lines
    from evenhand.store.run_lookup import files

    elsewhere = runs_elsewhere(path)
    within = Path(os.path.abspath(path)) if path and elsewhere is None else None  # noqa: PTH100 (links stay as they are)
    if within is not None and not within.exists():
        raise UsageError(
            f"{safe(str(path))}: there is no such file or folder",
            hint="Name the folder or config whose runs to show; `evenhand show` shows one run.",
        )
    start = Path.cwd() if within is None else within if within.is_dir() else within.parent
    runs = read_history(files(start) if elsewhere is None else elsewhere, within, last)
    if as_json:
        say_json(document(runs))
        return PASSED
    text = lines(runs, Ink(takes_colors(sys.stdout)), width_of(sys.stdout)) or [
        f"there are no runs of {safe(path)}"
        if path
        else "there are no runs yet: `evenhand run` makes one"
    ]
    say_lines(text)
    return PASSED
