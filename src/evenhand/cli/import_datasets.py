"""Datasets that `evenhand import` found, written as files. Nothing that is there is overwritten."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.doors.importers.import_report import ImportedDataset
    from evenhand.doors.importers.recorded import RecordedDataset

_LONGEST = 60


def written(
    datasets: Sequence[RecordedDataset], folder: Path, sources: Sequence[Path]
) -> list[ImportedDataset]:
    """The files of these datasets, one each: `NAME.jsonl`. One that is there with the same cases stays as it is.

    Args:
        datasets: The datasets.
        folder: Where to write.
        sources: The files that they were read from. Instead of one of these, `NAME-imported.jsonl` is written.

    Raises:
        UsageError: There is no such folder, or a file of the name has other cases. Nothing is written then.
    """
    from evenhand.core.errors import UsageError
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
        if any(path.resolve() == source.resolve() for source in sources):
            path = folder / f"{name}-imported.jsonl"
        if path.exists() and not _same(path, data):
            clashing.append(str(path))
        pairs.append(
            (data, ImportedDataset(path, one.name, len(data), data.fingerprint, not path.exists()))
        )
    if clashing:
        raise UsageError(
            f"{', '.join(clashing[:5])} {'is' if len(clashing) == 1 else 'are'} there already, with other"
            " cases; nothing was imported",
            hint="Move it away, or write elsewhere: --to FOLDER.",
        )
    for data, file in pairs:
        if file.new:
            data.write(file.path)
    return [file for _, file in pairs]


def _same(path: Path, data: object) -> bool:
    from evenhand.core.errors import EvenhandError
    from evenhand.doors.eval_sets.dataset import Dataset

    try:
        there = Dataset.read(path.absolute())
    except EvenhandError:
        return False
    return isinstance(data, Dataset) and there.fingerprint == data.fingerprint


def _file_name(name: str, taken: set[str]) -> str:
    """A name without what a path could be made of, unlike those that are taken."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip(".-")[:_LONGEST] or "dataset"
    unique, number = plain, 2
    while unique.casefold() in taken:
        unique, number = f"{plain}-{number}", number + 1
    taken.add(unique.casefold())
    return unique
