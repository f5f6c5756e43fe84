"""`evenhand runs push --to mlflow`: runs in an MLflow tracking server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.streams import tell

if TYPE_CHECKING:
    from evenhand.wings.remotes.mlflow.server import MlflowServer

TARGET = "mlflow"


def is_mlflow(to: str) -> bool:
    """Whether runs are to go to MLflow."""
    return to == TARGET


def push_runs_to_mlflow(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Writes runs to a tracking server, and says on stderr where they are.

    Args:
        files: The runs' files.

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
