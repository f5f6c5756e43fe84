"""Writes a run to a file for other programs: JSON, JSON lines, CSV, promptfoo's results, JUnit or Markdown.

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
from evenhand.report.document import json_text, trial_row, write_document, writer
from evenhand.report.junit import write_junit
from evenhand.report.markdown import write_markdown
from evenhand.report.promptfoo import write_promptfoo
from evenhand.store.runfile import RunFile

# What spreadsheets take for a formula at the start of a cell, in full width too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_FIXED = "case description prompt model repeat outcome score output reason error latency_s cost_usd"


def export(run: RunFile, to: Path, format_: str | None = None) -> int:
    """Writes a run's results; how many trials.

    Args:
        run: The run, as far as it has come.
        to: The file; `-` for stdout.
        format_: json, jsonl, csv, promptfoo, junit or markdown; by default as the file's ending says.

    Raises:
        UsageError: No format can be made out, or there is no file of this name to write.
        StoreError: The file cannot be written.
    """
    known = ", ".join(_WRITERS)
    name = (format_ or to.suffix.removeprefix(".")).lower()
    name = name if format_ else _ENDINGS.get(name, name)
    write = _WRITERS.get(name)
    if write is None and format_:
        raise UsageError(f"--format {format_!r} is not known", hint=f"There are: {known}.")
    if write is None and str(to) == "-":
        raise UsageError("--to - does not say in which format", hint=f"Add --format: {known}.")
    if to.is_dir():
        example = to / f"results.{name if write else 'json'}"
        raise UsageError(f"--to {to} is a folder", hint=f"Name a file in it: {example}")
    if write is None:
        what = f"the ending {to.suffix!r} says no format" if name else "it has no ending to go by"
        raise UsageError(f"--to {to}: {what}", hint=f"Add --format: {known}.")
    if str(to) == "-":
        return write(run, sys.stdout)
    target = to.resolve()  # what a link points to is replaced, not the link
    if not target.parent.is_dir():
        raise UsageError(
            f"--to {to}: there is no folder {to.parent}", hint=f"Make it: mkdir -p {to.parent}"
        )
    with _through(to) if target.exists() and not target.is_file() else _replaced(target) as out:
        return write(run, out)


def _jsonl(run: RunFile, out: TextIO) -> int:
    line = writer(out)
    count = 0
    for trial in run.trials():
        line(json_text(trial_row(trial, run.meta.variants)) + "\n")
        count += 1
    return count


def _csv(run: RunFile, out: TextIO) -> int:
    """One row a trial: what it was, what came out, and each named score and each variable in a column of its own."""
    names: dict[str, None] = {}
    metrics: dict[str, None] = {}
    for trial in run.trials():  # a first time, for the columns: nothing is held
        names.update(dict.fromkeys(trial.vars))
        metrics.update(dict.fromkeys(trial.named_scores))
    table = csv.writer(
        out
    )  # RFC 4180: lines end in \r\n, so that a lone one of either inside a cell is quoted
    table.writerow(
        [
            *_FIXED.split(),
            *(f"score:{name}" for name in metrics),
            *(f"var:{name}" for name in names),
        ]
    )
    count = 0
    for trial in run.trials():
        variant = run.meta.variants[trial.variant]
        error = trial.error
        row = [
            trial.case,
            trial.description,
            variant.prompt,
            variant.model,
            trial.repeat,
            trial.outcome,
            trial.score,
            trial.output,
            trial.reason,
            f"{error.slug}: {error.message}" if error else None,
            trial.latency_s,
            trial.cost_usd,
            *(trial.named_scores.get(name) for name in metrics),
            *(trial.vars.get(name) for name in names),
        ]
        table.writerow([_cell(value) for value in row])
        count += 1
    return count


def _cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula; lists and dicts as JSON, nothing as an empty cell."""
    if value is None or isinstance(value, (int, float)):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode()
    return "'" + text if text.startswith(_FORMULA) else text


_WRITERS: dict[str, Callable[[RunFile, TextIO], int]] = {
    "json": write_document,
    "jsonl": _jsonl,
    "csv": _csv,
    "promptfoo": write_promptfoo,
    "junit": write_junit,
    "markdown": write_markdown,
}
_ENDINGS = {"xml": "junit", "md": "markdown"}


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    """A file to write to that takes the place of `path` when it is done, and is gone when it is not."""
    name = ""
    try:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        with os.fdopen(fd, "w", encoding="utf-8", newline="") as out:
            yield out
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())  # noqa: PTH101 (from mkstemp)
        os.replace(name, path)  # noqa: PTH105 (see above)
    except OSError as error:
        _forget(name)
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    except BaseException:
        _forget(name)
        raise


@contextlib.contextmanager
def _through(path: Path) -> Iterator[TextIO]:
    """A pipe or a device, written as it is: it cannot be replaced, and must not be."""
    try:
        with path.open("w", encoding="utf-8", newline="") as out:
            yield out
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


def _forget(name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name)  # noqa: PTH108 (a name from mkstemp)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
