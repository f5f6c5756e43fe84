"""`evenhand runs push`: runs in a place that a team shares."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.options import flag
from evenhand.cli.streams import printing, tell

if TYPE_CHECKING:
    from evenhand.wings.remotes.mlflow.server import MlflowServer


@click.command(short_help="Push runs to a folder, a bucket or a database.")
@click.argument("runs", nargs=-1, metavar="[RUN...]", shell_complete=complete_runs)
@click.option(
    "--to",
    required=True,
    metavar="REMOTE",
    help="s3://BUCKET/FOLDER, postgresql://HOST/DATABASE, a folder (./team), or mlflow.",
)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def push(runs: tuple[str, ...], to: str, as_json: bool) -> int:
    """Push RUNs, ids or files, to a remote that a team shares. Default: the latest run.

    A run is there whole or not at all; after a stop, push it again. Labels given since go along with the next push.
    `show`, `export`, `view` and `compare` read `REMOTE#RUN`; `history` and `view` read REMOTE. `--to mlflow` writes
    runs to the tracking server at MLFLOW_TRACKING_URI, and nothing reads them from there.
    """
    from evenhand.core.errors import UsageError
    from evenhand.core.wording.json_text import json_text, writer
    from evenhand.core.wording.words import age_in_words, count, safe, short_id
    from evenhand.store.run_lookup import find
    from evenhand.wings.remotes.address import Address
    from evenhand.wings.remotes.opening import remote_at
    from evenhand.wings.remotes.pushing import Pushed, clock_is_off, push_document
    from evenhand.wings.remotes.pushing import push as pushed

    if "#" in to:
        raise UsageError(
            "--to names a remote, not one of its runs", hint="Leave out the # and what follows."
        )
    _refuse_bare_word(to)
    files = [find(Path.cwd(), run) for run in runs or ("latest",)]
    if is_mlflow(to):
        if as_json:
            raise UsageError(
                "--json doesn't go with --to mlflow",
                hint="Where each run is to be found is said on stderr.",
            )
        push_runs_to_mlflow(files)
        return 0
    every: list[Pushed] = []
    with remote_at(Address.of(to)) as remote:
        for file in files:
            done = pushed(file, remote)
            manifest = done.manifest
            what = (
                "pushed"
                if done.new
                else "already there, new labels pushed"
                if done.labelled
                else "already there, missing pieces put back"
                if done.restored
                else "already there, unchanged"
            )
            size = sum(part.size for part in manifest.file) / 1e6
            tell(
                f"{safe(manifest.title) or 'run'} {short_id(manifest.id)}: {what},"
                f" {count(manifest.trials, 'trial')}, {size:,.1f} MB"
                f" · next: evenhand show '{safe(remote.name)}#{short_id(manifest.id)}'"
            )
            every.append(done)
        first = next((one.manifest.id for one in every if one.new), "")
        if first and (off := clock_is_off(remote, first)):
            way = "ahead of" if off > 0 else "behind"
            tell(
                f"this machine's clock is {age_in_words(abs(off))} {way} that of {safe(remote.name)}:"
                " its runs stand in the wrong place there, and 'latest' may mean another one"
            )
        if as_json:
            with printing():
                writer(sys.stdout)(json_text(push_document(remote, every)) + "\n")
    return 0


def _refuse_bare_word(to: str) -> None:
    """Raises a UsageError for a word that is no folder yet: it may be a slip, and nobody would look there for runs."""
    from evenhand.core.errors import UsageError
    from evenhand.core.names import nearest

    if not to or is_mlflow(to) or Path(to).is_dir() or any(one in to for one in ("/", os.sep)):
        return
    near = f"Did you mean '{TARGET}'? " if nearest(to, [TARGET]) else ""
    kinds = "there are also s3://…, postgresql://… and mlflow"
    raise UsageError(f"{to} is not a remote", hint=f"{near}Write ./{to} for a new folder; {kinds}.")


TARGET = "mlflow"


def is_mlflow(to: str) -> bool:
    """Whether runs are to go to MLflow."""
    return to == TARGET


def push_runs_to_mlflow(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Writes runs to a tracking server, and says on stderr where they are.

    Returns:
        What was written, a row each: `run`, `experiment`, `mlflow_run`, `below`, `replaced`, `left_out`, `url`.

    Raises:
        UsageError: There is no server to write to.
        ProviderError: The server does not take it.
        StoreError: A file cannot be read.
    """
    from evenhand.core.wording.words import safe
    from evenhand.wings.remotes.mlflow.server import MlflowServer

    server = MlflowServer.at("", os.environ)
    rows = asyncio.run(_pushed(files, server))
    for row in rows:
        replaced = ", in place of an earlier push" if row["replaced"] else ""
        tell(f"pushed {safe(row['run'])}{replaced}: {safe(row['url'])}")
        for line in row["left_out"]:
            tell(f"  not pushed: {safe(line)}")
    return rows


async def _pushed(files: Sequence[Path], server: MlflowServer) -> list[dict[str, Any]]:
    from evenhand.providers.http import close
    from evenhand.wings.remotes.mlflow.writing import push_to_mlflow

    rows: list[dict[str, Any]] = []
    try:
        for file in files:
            done = await push_to_mlflow(file, server)
            rows.append(
                {
                    "run": file.stem,
                    "experiment": done.experiment,
                    "mlflow_run": done.run,
                    "below": list(done.below),
                    "replaced": done.replaced,
                    "left_out": list(done.left_out),
                    "url": done.url,
                }
            )
    finally:
        await close()
    return rows
