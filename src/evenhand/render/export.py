"""Writes a run to a file: JSON, JSON lines, CSV, promptfoo's formats, a log of Inspect's, HTML, JUnit or Markdown.

A file appears whole or not at all: it is written beside its place and moved there when it is done.
"""

from __future__ import annotations

import contextlib
import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO, cast

from evenhand.analysis.trust.beside_people import every_label
from evenhand.core.errors import EvenhandError, StoreError, UsageError, first_line
from evenhand.core.variant import Variant
from evenhand.core.wing import exporter_of, format_of, imported, part, parts
from evenhand.core.wording.json_text import json_text, writer
from evenhand.core.wording.spreadsheet_cells import cell
from evenhand.render.document import trial_row, write_document
from evenhand.render.inspect_log import write_log
from evenhand.render.junit import write_junit
from evenhand.render.markdown import write_markdown
from evenhand.render.own_files import look_for_folder, refuse_own
from evenhand.render.promptfoo.writing import (
    write_promptfoo,
    write_promptfoo_csv,
    write_promptfoo_lines,
    write_promptfoo_xml,
    write_promptfoo_yaml,
)
from evenhand.render.trial_steps import bounded_steps, call_rows
from evenhand.store.labels.label import FIELDS, by_name, standing
from evenhand.store.replacing import replaced
from evenhand.store.runfile import RunFile


def export(
    run: RunFile,
    to: Path,
    format_: str | None = None,
    *,
    before: RunFile | None = None,
    calls: bool = False,
) -> int:
    """Writes a run's results; how many trials.

    Args:
        run: The run, as far as it has come.
        to: The file; `-` for stdout.
        format_: One of `formats()`; by default as the file's ending says.
        calls: With the model calls of each trial, in json and jsonl.
        before: The run that a page holds it against; formats that compare nothing leave it aside.

    Raises:
        UsageError: No format can be made out, it has no room for calls, there is no file of this name to write, or it
            is one that the run was made of.
        StoreError: The file cannot be written.
    """
    name = format_.lower() if format_ else _by_ending(run.meta.variants, to)
    write = _WRITERS.get(name) or _brought(name, before)
    known = "" if write else ", ".join(formats())
    if write is None and format_:
        raise UsageError(f"--format {format_!r} is not known", hint=f"There are: {known}.")
    if write is None and str(to) == "-":
        raise UsageError("--to - does not say in which format", hint=f"Add --format: {known}.")
    if to.is_dir():
        example = to / f"results.{name if write else 'json'}"
        raise UsageError(f"--to {to} is a folder", hint=f"Name a file in it: {example}")
    if write is None:
        what = f"the ending {to.suffix!r} names no format" if name else "the name has no ending"
        raise UsageError(f"--to {to}: {what}", hint=f"Add --format: {known}.")
    if calls and name not in _WITH_CALLS:
        raise UsageError(
            f"--calls has no effect in the format {name}",
            hint="Add --format json or --format jsonl, which have them.",
        )
    if calls:
        write = _WITH_CALLS[name]
    if str(to) == "-":
        return write(run, sys.stdout)
    target = to.resolve()  # what a link points to is replaced, not the link
    look_for_folder(to.parent, f"--to {to}")
    target.parent.mkdir(parents=True, exist_ok=True)
    refuse_own("--to", to, run.meta.source, run.meta.config)
    with _through(to) if target.exists() and not target.is_file() else _replaced(target) as out:
        return write(run, out)


def _jsonl(run: RunFile, out: TextIO, *, calls: bool = False) -> int:
    line, labels = writer(out), standing(every_label(run))
    count, stepped = 0, run.stepped()
    for trial in run.trials():
        parts = bounded_steps(run, trial, stepped)
        if calls:
            parts["calls"] = call_rows(run, trial)
        row = trial_row(trial, run.meta.variants, labels.get(trial.index, ()), **parts)
        line(json_text(row) + "\n")
        count += 1
    return count


def _inspect(run: RunFile, out: TextIO) -> int:
    return write_log(run, out.buffer)  # it is an archive: bytes, not text


_FIXED = "case description prompt model repeat outcome score output reason error latency_s cost_usd"


def write_csv(run: RunFile, out: TextIO) -> int:
    """One row a trial; each named score, each variable and each kind of label has a column of its own."""
    names: dict[str, None] = {}
    metrics: dict[str, None] = {}
    for trial in run.trials():  # a first time, for the columns: nothing is held
        names.update(dict.fromkeys(trial.vars))
        metrics.update(dict.fromkeys(trial.named_scores))
    labels = standing(every_label(run))
    columns = {label.name: None for each in labels.values() for label in each}
    trials_own = FIELDS if columns.keys() & set(FIELDS) else ()
    fields = dict.fromkeys([*trials_own, *(name for name in columns if "@" in name)])
    table = csv.writer(
        out
    )  # RFC 4180: lines end in \r\n, so that a lone one of either inside a cell is quoted
    table.writerow(
        [
            *_FIXED.split(),
            *(f"score:{name}" for name in metrics),
            *(f"var:{name}" for name in names),
            *(f"label:{field}" for field in fields),
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
            *(by_name(labels.get(trial.index, ())).get(field) for field in fields),
        ]
        table.writerow([cell(value) for value in row])
        count += 1
    return count


Writer = Callable[[RunFile, TextIO], int]

_WRITERS: dict[str, Writer] = {
    "json": write_document,
    "jsonl": _jsonl,
    "csv": write_csv,
    "promptfoo": write_promptfoo,
    "promptfoo-jsonl": write_promptfoo_lines,
    "promptfoo-csv": write_promptfoo_csv,
    "promptfoo-yaml": write_promptfoo_yaml,
    "promptfoo-xml": write_promptfoo_xml,
    "junit": write_junit,
    "markdown": write_markdown,
    "inspect": _inspect,
}
_WITH_CALLS: dict[str, Writer] = {
    "json": partial(write_document, calls=True),
    "jsonl": partial(_jsonl, calls=True),
}
_LONG = frozenset(
    {
        "promptfoo",
        "promptfoo-jsonl",
        "promptfoo-csv",
        "promptfoo-yaml",
        "promptfoo-xml",
        "junit",
        "markdown",
        "inspect",
    }
)
_ENDINGS = {"xml": "junit", "junit.xml": "junit", "md": "markdown", "eval": "inspect"}
_ENDINGS_OF_CONFIGS = {
    **_ENDINGS,
    "json": "promptfoo",
    "jsonl": "promptfoo-jsonl",
    "csv": "promptfoo-csv",
    "yaml": "promptfoo-yaml",
    "yml": "promptfoo-yaml",
    "txt": "promptfoo-yaml",
    "xml": "promptfoo-xml",
}
"""A run of a promptfoo config is written as promptfoo would, so that what reads its files reads these."""


def formats() -> tuple[str, ...]:
    """What `--format` may be: ours, and those that wings bring."""
    return (*_WRITERS, *(name for name in parts("exporters") if name not in _WRITERS))


def _brought(name: str, before: RunFile | None) -> Writer | None:
    """What writes a format that a wing brings; None where none does."""
    one, brought = exporter_of(name), part("exporters", name)
    if one is None or brought is None:
        return None
    write = cast("Callable[..., int]", brought.load())
    more = (before,) if one.compares else ()

    def writes(run: RunFile, out: TextIO) -> int:
        try:
            return write(run, out, *more)
        except (EvenhandError, OSError):
            raise
        except Exception as error:
            if brought.ours:
                raise
            raise brought.broken(f"raised {first_line(error)}") from error

    return writes


def check_endings(files: Iterable[str], variants: Sequence[Variant], named_by: str) -> None:
    """Looks at the files that a run of these variants is to be written to, before anything is paid for.

    Args:
        named_by: The option or the key that names them.

    Raises:
        UsageError: The ending of one of them says no format, or the format cannot be written here.
    """
    for name in files:
        format_ = _by_ending(variants, Path(name))
        one = None if format_ in _WRITERS else exporter_of(format_)
        if one is not None and one.ready:
            cast("Callable[[], None]", imported(one.ready))()
        if one is None and format_ not in _WRITERS:
            what = (
                f"the ending '.{format_}' names no format" if format_ else "the name has no ending"
            )
            known = ", ".join(
                f".{ending}" for ending in sorted({*formats(), *_endings(variants)} - _LONG)
            )
            raise UsageError(f"{named_by} {name}: {what}", hint=f"There are: {known}.")


def has_calls(file: str, variants: Sequence[Variant]) -> bool:
    """Whether a file of this name has room for the model calls of a run of these variants."""
    return _by_ending(variants, Path(file)) in _WITH_CALLS


def _endings(variants: Sequence[Variant]) -> Mapping[str, str]:
    return _ENDINGS if any(v.eval for v in variants) else _ENDINGS_OF_CONFIGS


def _by_ending(variants: Sequence[Variant], to: Path) -> str:
    """The format that a file's ending says; the ending itself where it says none."""
    name = to.name.lower()
    ending = "junit.xml" if name.endswith(".junit.xml") else to.suffix.lower().removeprefix(".")
    known = _endings(variants).get(ending)
    return known or (ending if ending in _WRITERS else format_of(ending)) or ending


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    """A file to write to that takes the place of `path` when it is done, and is gone when it is not."""
    try:
        # Writers end their lines themselves: those of CSV end in \r\n.
        with replaced(path) as file, file.open("w", encoding="utf-8", newline="") as out:
            yield out
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def _through(path: Path) -> Iterator[TextIO]:
    """A pipe or a device, written as it is: it cannot be replaced, and must not be."""
    try:
        with path.open("w", encoding="utf-8", newline="") as out:
            yield out
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
