"""`evenhand import`: runs that other tools recorded, and their datasets."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.exits import PASSED
from evenhand.cli.options import flag, repeatable
from evenhand.cli.streams import print_run, say_json, say_lines, tell
from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.names import nearest

if TYPE_CHECKING:
    from evenhand.doors.importers.import_report import ImportedDataset, ImportedFile
    from evenhand.doors.importers.recorded import RecordedDataset, Recordings


_LONGEST_NAME = 60


@click.command(name="import", short_help="Import another tool's results, datasets and traces.")
@click.argument("words", nargs=-1, required=True, metavar="[TOOL] FILE...")
@click.option(
    "--from", "importer", metavar="TOOL", help="The tool that wrote FILE, the same as TOOL."
)
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Write datasets into FOLDER.  [default: the current one]",
)
@repeatable(
    "--verdict",
    "verdicts",
    metavar="SCORE",
    help="The numbers of SCORE are verdicts: 1 passes, 0 fails. Without it, a number decides nothing. May be repeated.",
)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def import_(
    words: tuple[str, ...],
    importer: str | None,
    folder: Path,
    verdicts: tuple[str, ...],
    as_json: bool,
) -> int:
    """Make runs and datasets from FILE: the results of another tool, or the traces of an application.

    TOOL is promptfoo (the default; a JSON file of results, version 3, as promptfoo or `evenhand export` writes it),
    openai-evals (evals, runs and output items, as OpenAI's API gives them, in files or in a folder), inspect (logs,
    .eval or .json), pydantic-evals, deepeval, ragas, langfuse, langsmith, braintrust, phoenix, lm-eval, traces (OTLP,
    exports of Langfuse and Logfire, ATIF), or the name of an importer that an installed package adds.

    The runs can be shown, compared and exported like any other. The same results aren't imported twice. A dataset is
    written to NAME.jsonl; nothing is overwritten.
    """
    from evenhand.doors.importers.chosen_verdicts import with_verdicts

    tool, files = _meant(words, importer)
    recordings = _read(tool, files, guessed=importer is None and len(files) == len(words))
    recordings = with_verdicts(recordings, verdicts)
    datasets = _written(recordings.datasets, folder, files)
    print_imported(tool, kept(recordings), recordings, datasets, as_json=as_json)
    return PASSED


def _meant(words: Sequence[str], importer: str | None) -> tuple[str, list[Path]]:
    """The tool and the files that somebody means."""
    from evenhand.doors.importers.registry import names

    first, *more = words
    if importer is not None:
        return importer, [Path(word) for word in words]
    # A file may be called like a tool: alone, it is the file.
    if first in names() and (more or not os.path.exists(first)):  # noqa: PTH110 (a word, not yet a path)
        if not more:
            raise UsageError(
                f"import {first}: there is no file to read",
                hint=f"Name one: evenhand import {first} export.json",
            )
        return first, [Path(word) for word in more]
    near = nearest(first, names())
    is_word = first.replace("-", "").isalnum() and not os.path.exists(first)  # noqa: PTH110 (the same)
    if more and is_word:
        hint = f"Did you mean '{near}'?" if near else f"There are: {', '.join(names())}."
        raise UsageError(f"there is no importer '{first}'", hint=hint)
    return "promptfoo", [Path(word) for word in words]


def _read(tool: str, files: Sequence[Path], *, guessed: bool) -> Recordings:
    """What is in the files.

    Args:
        guessed: Nobody named the tool: if it is another's file, the tools are listed.
    """
    from evenhand.doors.importers.recorded import OtherToolError
    from evenhand.doors.importers.registry import names, read_runs

    folder = next((file for file in files if file.is_dir()), None)
    if guessed and folder:
        raise UsageError(
            f"{folder} is a folder: which tool wrote it is not known",
            hint=f"Name the tool: evenhand import openai-evals {shlex.quote(str(folder))}, or name files in it.",
        )
    try:
        return read_runs(files, tool)
    except OtherToolError as error:
        if not guessed:
            raise
        if (config := next((file for file in files if _is_config(file)), None)) is not None:
            raise UsageError(
                f"{config} is a config, and holds no results",
                hint=f"Run it: evenhand run {shlex.quote(str(config))}. Or write the same in Python:"
                f" evenhand init --from {shlex.quote(str(config))}",
            ) from error
        if own := next((kind for kind in map(_kind_of_ours, files) if kind), ""):
            raise UsageError(error.message, hint=own) from error
        likely = "inspect" if any(file.suffix == ".eval" for file in files) else "TOOL"
        command = f"evenhand import {likely} {shlex.join(map(str, files))}"
        tools = f"There are: {', '.join(names())}."
        raise UsageError(
            error.message, hint=f"Name the tool that wrote it: {command}\n  {tools}"
        ) from error


def _kind_of_ours(file: Path) -> str:
    """What a file of Evenhand's own is for; empty for any other."""
    from evenhand.store.run_lookup import SUFFIX, another_kind

    if file.suffix == SUFFIX:
        return f"It is a run of Evenhand's own: evenhand show {shlex.quote(str(file))} opens it."
    return another_kind(file)


def _is_config(file: Path) -> bool:
    """Whether a file is something to run: a promptfoo config by its name, or in YAML with a config's keys."""
    if file.stem == "promptfooconfig":
        return True
    if file.suffix not in (".yaml", ".yml"):
        return False
    with contextlib.suppress(OSError, UnicodeDecodeError):
        keys = {line.partition(":")[0] for line in file.read_text("utf-8").splitlines()}
        return "prompts" in keys and bool(keys & {"providers", "targets", "tests"})
    return False


def _written(
    datasets: Sequence[RecordedDataset], folder: Path, sources: Sequence[Path]
) -> list[ImportedDataset]:
    """The files of these datasets, `NAME.jsonl` each. One with the same cases stays; with others, nothing is written.

    Args:
        sources: The files that they were read from. Instead of one of these, `NAME-imported.jsonl` is written.
    """
    from evenhand.doors.eval_sets.dataset import Dataset
    from evenhand.doors.importers.import_report import ImportedDataset

    if datasets and not folder.is_dir():
        raise UsageError(
            f"--to {folder}: there is no such folder", hint=f"Make it: mkdir -p {folder}"
        )
    pairs: list[tuple[Dataset, ImportedDataset]] = []
    taken: set[str] = set()
    clashing: list[str] = []
    for one in datasets:
        data = Dataset(one.cases, one.name)
        name = _file_name(one.name, taken)
        path = folder / f"{name}.jsonl"
        # A dataset imported from cases.jsonl must not be written over it.
        if any(path.resolve() == source.resolve() for source in sources):
            path = folder / f"{name}-imported.jsonl"
        if path.exists() and not _same(path, data):
            clashing.append(str(path))
        pairs.append(
            (data, ImportedDataset(path, one.name, len(data), data.fingerprint, not path.exists()))
        )
    if clashing:
        raise UsageError(
            f"{', '.join(clashing[:5])} already {'exists' if len(clashing) == 1 else 'exist'}, with other"
            " cases; nothing was imported",
            hint="Move it away, or write elsewhere: --to FOLDER.",
        )
    for data, file in pairs:
        if file.new:
            data.write(file.path)
    return [file for _, file in pairs]


def _same(path: Path, data: object) -> bool:
    from evenhand.doors.eval_sets.dataset import Dataset

    try:
        there = Dataset.read(path.absolute())
    except EvenhandError:
        return False
    return isinstance(data, Dataset) and there.fingerprint == data.fingerprint


def _file_name(name: str, taken: set[str]) -> str:
    """A name without what a path could be made of, unlike those that are taken."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip(".-")[:_LONGEST_NAME] or "dataset"
    unique, number = plain, 2
    while unique.casefold() in taken:
        unique, number = f"{plain}-{number}", number + 1
    taken.add(unique.casefold())
    return unique


def kept(recordings: Recordings) -> list[ImportedFile]:
    """Keeps the runs; those that were imported before stay as they are.

    Raises:
        UsageError: There is no run, or all already exist.
        StoreError: One cannot be written.
    """
    from evenhand.core.wording.words import count, safe
    from evenhand.doors.importers.amounts import PossibleTrials
    from evenhand.doors.importers.import_report import ImportedFile
    from evenhand.engine.door import waited_for
    from evenhand.store.merging import keep_run
    from evenhand.store.run_lookup import files
    from evenhand.store.runfile import RunFile

    if not recordings.runs and recordings.datasets:
        return []
    if not recordings.runs:
        why = [f"{safe(one.where)}: {safe(one.text)}" for one in recordings.notes]
        raise UsageError("\n".join(["there is no run to import", *why[:10]]))
    known = {path.stem: path for path in files(Path.cwd())}
    if len(recordings.runs) > 1 and all(one.meta.id in known for one in recordings.runs):
        raise UsageError(
            f"all {len(recordings.runs)} runs already exist: nothing was imported",
            hint="Look at them with `evenhand runs list`.",
        )
    imported: list[ImportedFile] = []
    for one in recordings.runs:
        path = known.get(one.meta.id) if len(recordings.runs) > 1 else None
        new = path is None
        if path is None:
            possible = PossibleTrials()
            trials = possible.of(one.trials())
            path = waited_for(keep_run(Path.cwd(), one.meta, trials, one.labels))
            if possible.changed:
                tell(
                    f"{count(possible.changed, 'trial')}: a time, a cost or a count that can't be right is left out"
                )
        with RunFile.open(path) as run:
            imported.append(ImportedFile(path, run.meta, run.totals(), new))
    return imported


def print_imported(
    tool: str,
    runs: Sequence[ImportedFile],
    recordings: Recordings,
    datasets: Sequence[ImportedDataset] = (),
    *,
    as_json: bool,
) -> None:
    """Prints what was imported, and what became of its parts."""
    from evenhand.doors.importers.import_report import document

    if as_json:
        say_json(document(tool, runs, recordings.notes, datasets))
    else:
        _print(runs, datasets, recordings)


def _print(
    runs: Sequence[ImportedFile], datasets: Sequence[ImportedDataset], recordings: Recordings
) -> None:
    from evenhand.core.wording.ink import Ink, takes_colors
    from evenhand.doors.importers.import_report import (
        dataset_lines,
        newest_pair,
        note_lines,
        run_lines,
    )
    from evenhand.store.run_lookup import called, files, newest_first
    from evenhand.store.runfile import RunFile

    ink = Ink(takes_colors(sys.stdout))
    lines = list(note_lines(recordings.notes, ink))
    if datasets:
        lines += ["", *dataset_lines(datasets)]
    if len(runs) > 1:
        lines += ["", *run_lines(runs, [called(Path.cwd(), one.path) for one in runs])]
    elif runs:
        with RunFile.open(runs[0].path) as run:
            print_run(run, as_json=False, table=True)
    say_lines(lines)
    if not runs:
        tell(f"next: evenhand data show {shlex.quote(str(datasets[0].path))}")
        return
    new = [one for one in runs if one.new]
    last = runs[-1]
    if len(runs) == 1:
        tell(f"imported as {last.meta.id}")
    else:
        tell(f"imported {len(new)} of {len(runs)} runs")
        pair = newest_pair(runs)
        ids = [called(Path.cwd(), one.path) for one in pair]
        compare = f"evenhand compare {' '.join(ids)}, or " if pair else ""
        tell(f"next: {compare}evenhand runs history")
    known = newest_first(files(Path.cwd()))
    if known and known[0] != last.path:
        short = called(Path.cwd(), last.path)
        tell(
            f"There are newer runs: without an id, commands take the newest. This one: evenhand show {short}"
        )
