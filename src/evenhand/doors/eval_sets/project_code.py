"""The project's own code: what decides what its trials do, beside the eval files themselves."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evenhand.core.encoding import digest
from evenhand.doors.eval_sets.eval_paths import eval_files, split_line
from evenhand.engine.place import OURS

_OURS = f"{Path(OURS).resolve()}{os.sep}"


def project_of(file: Path) -> Path:
    """The folder that holds `evals`, where the application under test is as a rule; or the file's own."""
    return next((parent.parent for parent in file.parents if parent.name == "evals"), file.parent)


def files_of(sets: Iterable[Path]) -> dict[str, str]:
    """A digest of each file of the projects of these eval files that is imported, by its path in its project.

    Application, judges, setup and eval files are; installed packages are not, nor what is read as data.
    """
    digests: dict[str, str] = {}
    for file in dict.fromkeys(sets):
        if not file.is_file():  # typed at a prompt
            continue
        folder = project_of(file.resolve())
        for path in {str(file.resolve()), *_imported_below(folder)}:
            try:
                digests[os.path.relpath(path, folder)] = digest(Path(path).read_bytes())
            except OSError:  # gone since, or in an archive
                continue
    return dict(sorted(digests.items()))


def changed_files(paths: Iterable[str], digests: Mapping[str, str]) -> list[str]:
    """The files that these digests are of, by their names there, and that are no longer as they were.

    Nothing is imported. What the digests have that is no file, such as a dataset, is left out.

    Args:
        paths: What was run: eval files, with a line or without, and folders of them.
        digests: As `files_of` made them.
    """
    files = [
        file
        for path in (Path(split_line(path)[0]).resolve() for path in paths)
        for file in (eval_files(path) if path.is_dir() else [path])
        if file.is_file()
    ]
    changed: set[str] = set()
    for folder in {project_of(file) for file in files}:
        for name, before in digests.items():
            path = folder / name
            if path.suffix == ".py" and path.is_file() and digest(path.read_bytes()) != before:
                changed.add(name)
    names = {os.path.relpath(file, project_of(file)) for file in files}
    if names and digests and names.isdisjoint(digests):  # those of another folder
        changed |= names
    return sorted(changed)


def _imported_below(folder: Path) -> Iterator[str]:
    below = f"{folder}{os.sep}"
    installed = tuple(
        f"{prefix}{os.sep}"
        for prefix in {os.path.realpath(p) for p in (sys.prefix, sys.base_prefix)}
        if prefix.startswith(below)
    )
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or "site-packages" in file or "dist-packages" in file:
            continue
        path = os.path.abspath(file)  # noqa: PTH100 (resolving all modules there are would take long)
        if path.startswith(below) and not path.startswith((_OURS, *installed)):
            yield path
