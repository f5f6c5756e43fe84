"""What `evenhand init --from TOOL` wrote. Nothing that is there is overwritten."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.languages.documents.foreign import Note
from evenhand.store.replacing import created


class MovedIn(Record, frozen=True):
    """What was written.

    Attributes:
        files: Their paths, in the order in which they are read.
        sets: Those of them that are eval sets.
        offline: Whether a script of recorded replies is among them.
        notes: What was translated, and what was not, and why.
        todo: What somebody has to do before it runs; empty for nothing.
    """

    files: Sequence[Path]
    sets: Sequence[Path]
    offline: bool
    notes: Sequence[Note]
    todo: str = ""


def written(texts: Mapping[Path, str], folder: Path, tool: str) -> list[Path]:
    """Writes files, all or none.

    Args:
        texts: What each holds.
        folder: The folder that they are in, for people.
        tool: The tool, as `--from` names it.

    Raises:
        UsageError: One of them already exists, or cannot be written.
    """
    there = [path for path in texts if path.exists()]
    if there:
        listed = ", ".join(str(path.relative_to(folder)) for path in there[:5])
        raise UsageError(
            f"{folder.absolute()}: {listed} already {'exists' if len(there) == 1 else 'exist'};"
            " nothing was written",
            hint=f"Name another folder, at the end: evenhand init --from {tool} FILE my-evals",
        )
    write_all({path: text.encode("utf-8", "backslashreplace") for path, text in texts.items()})
    return list(texts)


def write_all(contents: Mapping[Path, bytes], hint: str = "") -> None:
    """Writes new files, all or none.

    Args:
        contents: What each holds.
        hint: What to do where one cannot be written.

    Raises:
        UsageError: One of them cannot be written, or is there.
    """
    with ExitStack() as begun:
        for path, content in contents.items():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                # A file may have appeared since somebody looked, and must not be overwritten.
                with created(path) as file:
                    file.write_bytes(content)
                begun.callback(path.unlink, missing_ok=True)
            except OSError as error:
                reason = error.strerror or str(error)
                raise UsageError(f"{path} cannot be written: {reason}", hint=hint) from error
        begun.pop_all()


def lines(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as JSON Lines."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
