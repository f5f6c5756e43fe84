"""The project's own data: what its trials are about. It decides what they do, as its own code does."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from evenhand.core.definition import LETTERS, file_digest
from evenhand.core.encoding import digest, digest_of
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.project_code import project_of
from evenhand.doors.eval_sets.prompt import Prompt

LONGEST = 200
"""Characters of what may name a file; what is longer is a text."""


def data_of(sets: Iterable[EvalSet]) -> dict[str, str]:
    """A digest of each dataset, each prompt and each folder of files of these sets, by what people call them.

    A folder that holds the eval file as well is no folder of data: it is left out.
    """
    digests: dict[str, str] = {}
    for evals in sets:
        project = project_of(evals.path.resolve())
        if evals.data is not None:
            file = evals.data.file
            name = _below(file, project) if file is not None else f"the data of {evals.name!r}"
            digests[name] = evals.data.fingerprint
        for prompt in (value for values in evals.over.values() for value in values):
            if isinstance(prompt, Prompt):
                digests[f"the prompt {prompt.name!r} of {evals.name!r}"] = digest(prompt.text)
        folder = evals.files.resolve()
        if folder.is_dir() and not evals.path.resolve().is_relative_to(folder):
            digests[f"{_below(folder, project)}{os.sep}"] = digest_of(_contents(folder))
    return digests


def named_content(folder: Path, name: str | Path) -> str:
    """A short digest of the file or folder that this names; empty where there is none."""
    if len(str(name)) > LONGEST or "\n" in str(name):
        return ""
    path = folder / name
    with contextlib.suppress(OSError, ValueError):
        if path.is_file():
            return file_digest(path)
        if str(name) and path.is_dir() and not folder.is_relative_to(path.resolve()):
            return digest_of(_contents(path))[:LETTERS]
    return ""


def _below(path: Path, project: Path) -> str:
    return os.path.relpath(path.resolve(), project)


def _contents(folder: Path) -> Iterator[bytes | str]:
    """All files below a folder, hidden ones left out: name and content."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield str(name)
            with (
                contextlib.suppress(OSError),
                path.open("rb") as file,
            ):  # evals cannot read it either
                while chunk := file.read(1 << 20):
                    yield chunk
