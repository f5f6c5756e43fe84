"""What is compared: columns of runs, found by how people name them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.run import SHORT_ID
from evenhand.core.variant import Variant
from evenhand.core.wording.words import safe, short_id
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

LISTED = 12


class Column(Record, frozen=True):
    """One column of a run: a prompt, a model or an eval, as its table names it."""

    run: RunFile
    index: int


class HoldsRunFile(Protocol):
    """What holds a run file: `evenhand.Run`."""

    @property
    def file(self) -> RunFile: ...


RunSource = RunFile | HoldsRunFile | Column | str | Path
"""A run, its file, a column of one, a file, or a text: `RUN`, `RUN:COLUMN`, and `:COLUMN` of the latest run."""


class Side(Record, frozen=True):
    """One of the two. `column` is None for a whole run."""

    run: RunFile
    column: int | None = None

    def __str__(self) -> str:
        return self.beside(self)

    def beside(self, other: Side) -> str:
        """The side's name, with as much of the run's id as tells it from the other side's."""
        id_, theirs = self.run.meta.id, other.run.meta.id
        # Ids begin with their time: those of runs made at once share more than the short form has.
        alike = len(os.path.commonprefix([id_, theirs])) if id_ != theirs else 0  # noqa: RUF071 (of ids)
        name = id_[: max(SHORT_ID, alike + 1)]
        if self.column is None:
            return name
        return f"{name}:{column_names(self.run.meta.variants)[self.column]}"


def side_of(source: RunSource, open_files: ExitStack) -> Side:
    """What somebody means. Files that are opened for it are put on the stack.

    Raises:
        UsageError: There is no such run or column.
        StoreError: Its file cannot be read.
    """
    if isinstance(source, Column):
        return Side(source.run, source.index)
    if isinstance(source, RunFile):
        return Side(source)
    if isinstance(source, Path):
        ref, column = str(source.absolute()), ""
    elif isinstance(source, str):
        ref, _, column = source.partition(":")
    # Anything may be passed: a Run has its file, and a list has none.
    elif isinstance(file := getattr(source, "file", None), RunFile):
        return Side(file)
    else:
        raise UsageError(
            f"a {type(source).__name__} is not a run to compare",
            hint="Give two of these: a run, run.column('…'), the path of a run file, or its id as a text.",
        )
    try:
        file = find(Path.cwd(), ref or None)
    except UsageError as error:
        if column or not _is_column_of_latest(ref):
            raise
        hint = f"It is a variant of the latest run: write ':{ref}'."
        raise UsageError(error.message, hint=hint) from None
    run = open_files.enter_context(RunFile.open(file))
    return Side(run, column_index(run, column) if column else None)


def _is_column_of_latest(name: str) -> bool:
    """Whether the latest run has a column of this name."""
    try:
        with RunFile.open(find(Path.cwd(), None)) as run:
            return not name.isdecimal() and column_index(run, name) >= 0
    except EvenhandError:
        return False


def column_index(run: RunFile, name: str) -> int:
    """The place of the column that the run's table names so, or that has this number, from 1.

    Or of the only one whose name has this in it.

    Raises:
        UsageError: There is none.
    """
    variants = run.meta.variants
    names = column_names(variants)
    for known in (names, [v.prompt for v in variants], [v.model for v in variants]):
        matches = [i for i, each in enumerate(known) if each == name]
        # A prompt or a model that several columns have names none of them.
        if len(matches) == 1:
            return matches[0]
    number = name.removeprefix("#")
    if number.isdecimal() and 0 < int(number) <= len(names):
        return int(number) - 1
    within = [i for i, each in enumerate(names) if name and name in each]
    if len(within) == 1:
        return within[0]
    listed = ", ".join(f"{i} {each}" for i, each in enumerate(names[:LISTED], start=1))
    hint = did_you_mean(name, names, f"There are: {listed}.")
    raise UsageError(f"run {short_id(run.meta.id)} has no variant {name!r}", hint=hint)


def matched(first: Side, second: Side) -> tuple[list[tuple[int, int]], list[str]]:
    """The columns that belong together, in the first's order, and the names of those that have no counterpart.

    Columns named by their user belong together. Of whole runs those do that agree in eval, prompt and model; what is
    left, in eval and prompt, then in eval, the prompt's file and model, then in eval and model, then in the eval: where
    no other could be meant.
    """
    if first.column is not None and second.column is not None:
        return [(first.column, second.column)], []
    pairs, left, right = matched_variants(_columns(first), _columns(second))
    alone = [f"{first.beside(second)}: {v}" for v in left]
    alone += [f"{second.beside(first)}: {v}" for v in right]
    return pairs, [safe(name) for name in alone]


def matched_variants(
    first: Sequence[Variant], second: Sequence[Variant]
) -> tuple[list[tuple[int, int]], list[Variant], list[Variant]]:
    """The variants that belong together, as pairs of indices in the first's order, and the rest of each.

    See `matched`.
    """
    left, right = list(first), list(second)
    pairs: list[tuple[int, int]] = []
    for key in _LIKENESS:
        mine, theirs = _unique(left, key), _unique(right, key)
        # Each key is tried on what the ones before it left over: the best match is taken first.
        for name in mine.keys() & theirs.keys():
            a, b = mine[name], theirs[name]
            pairs.append((a.index, b.index))
            left.remove(a)
            right.remove(b)
    return sorted(pairs), left, right


_LIKENESS: tuple[Callable[[Variant], tuple[str, ...]], ...] = (
    lambda v: (v.eval, v.prompt, v.model),
    lambda v: (v.eval, v.prompt),
    lambda v: (v.eval, _file_of(v.prompt), v.model),
    lambda v: (v.eval, v.model),
    lambda v: (v.eval,),
    # A single column on each side is meant for the other, whatever it is called.
    lambda _: (),
)


def _file_of(prompt: str) -> str:
    """The file of a prompt without a label, which is called after its file and its beginning: `a.txt: Summarise …`."""
    file, colon, _ = prompt.partition(": ")
    return file if colon and _FILE.fullmatch(file) else prompt


_FILE = re.compile(r"\S+\.\w+")


def _columns(side: Side) -> list[Variant]:
    every = side.run.meta.variants
    return list(every) if side.column is None else [every[side.column]]


def _unique(
    variants: Sequence[Variant], key: Callable[[Variant], tuple[str, ...]]
) -> dict[tuple[str, ...], Variant]:
    by_key: dict[tuple[str, ...], list[Variant]] = {}
    for variant in variants:
        by_key.setdefault(key(variant), []).append(variant)
    return {name: them[0] for name, them in by_key.items() if len(them) == 1}
