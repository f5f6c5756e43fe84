"""`evenhand runs status`: how far a run is, and what of it vendors have in batches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from evenhand.cli.completing import complete_runs


@click.command(short_help="Say how far a run is, and which of its batches are out.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
def status(run: str | None, as_json: bool) -> int:
    """Say how far RUN is: trials settled, batches out and since when, and what they cost at most.

    RUN is an id, the start of one, or a file. Default: the latest run. No model is called; `evenhand resume` asks
    for the batches.
    """
    from evenhand.cli.batch_status import status_document, status_lines
    from evenhand.core.wording.words import put
    from evenhand.store.catalogue import find
    from evenhand.store.runfile import RunFile

    with RunFile.open(find(Path.cwd(), run)) as run_file:
        if as_json:
            put(sys.stdout, json.dumps(status_document(run_file), indent=2) + "\n")
        else:
            put(sys.stdout, "\n".join(status_lines(run_file)) + "\n")
    return 0
