"""Writes a run to a file for other programs: JSON, JSON lines, CSV, or promptfoo's results.

A file appears whole or not at all: it is written beside its place and moved there when it is done.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from evenhand.core.errors import StoreError, UsageError
from evenhand.report.document import json_text, trial_row, write_document
from evenhand.report.promptfoo import write_promptfoo
from evenhand.store.runfile import RunFile

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(run: RunFile, to: Path, format_: str | None = None) -> int:
    """Writes a run's results; how many trials.

    Args:
        to: The file; `-` for stdout.
        format_: json, jsonl, csv or promptfoo; by default as the file's ending says.

    Raises:
        UsageError: No format can be made out, or `to` is a folder.
        StoreError: The file cannot be written.
    """
    write = _WRITERS.get(format_ or to.suffix.removeprefix("."))
    if write is None:
        raise UsageError(
            f"--to {to}: the ending '{to.suffix}' says no format", hint=f"Add --format: {', '.join(_WRITERS)}."
        )
    if str(to) == "-":
        return write(run, sys.stdout)
    if to.is_dir():
        raise UsageError(f"--to {to} is a folder", hint=f"Name a file in it: {to / 'results.json'}")
    with _replaced(to) as out:
        return write(run, out)


def _jsonl(run: RunFile, out: TextIO) -> int:
    count = 0
    for trial in run.trials():
        out.write(json_text(trial_row(trial, run.meta.variants)) + "\n")
        count += 1
    return count


def _csv(run: RunFile, out: TextIO) -> int:
    """One row a trial: what it was, what came out, and the variables, each in a column of its own."""
    names: dict[str, None] = {}
    metrics: dict[str, None] = {}
    for trial in run.trials():
        names.update(dict.fromkeys(trial.vars))
        metrics.update(dict.fromkeys(trial.named_scores))
    fixed = ("case", "description", "prompt", "model", "repeat", "outcome", "score", "output", "reason", "error")
    head = [*fixed, "latency_s", "cost_usd", *(f"score:{m}" for m in metrics), *(f"var:{n}" for n in names)]
    table = csv.writer(out)
    table.writerow(head)
    count = 0
    for trial in run.trials():
        variant = run.meta.variants[trial.variant]
        row: list[object] = [trial.case, trial.description, variant.prompt, variant.model, trial.repeat, trial.outcome]
        row += [trial.score, _text(trial.output), trial.reason, trial.error.slug if trial.error else ""]
        row += [trial.latency_s, trial.cost_usd]
        row += [trial.named_scores.get(metric) for metric in metrics]
        row += [_text(trial.vars.get(name)) for name in names]
        table.writerow([_cell(value) for value in row])
        count += 1
    return count


def _cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    if isinstance(value, str):
        value = value.encode("utf-8", "backslashreplace").decode()
        return "'" + value if value.startswith(_FORMULA) else value
    return value


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_WRITERS: dict[str, Callable[[RunFile, TextIO], int]] = {
    "json": write_document,
    "jsonl": _jsonl,
    "csv": _csv,
    "promptfoo": write_promptfoo,
}


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    """A file to write to that takes the place of `path` when it is done."""
    name = ""
    try:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(fd, "w", encoding="utf-8", newline="") as out:
            yield out
        mode = 0o666 & ~_umask()
        os.chmod(name, mode)  # noqa: PTH101 (a name from mkstemp)
        os.replace(name, path)  # noqa: PTH105 (see above)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108 (see above)
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108 (see above)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
