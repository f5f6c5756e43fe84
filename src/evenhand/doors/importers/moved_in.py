"""What `evenhand init --from TOOL` wrote. Nothing that is there is overwritten."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.languages.documents.foreign import Note


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
        UsageError: One of them is there already, or cannot be written.
    """
    there = [path for path in texts if path.exists()]
    if there:
        listed = ", ".join(str(path.relative_to(folder)) for path in there[:5])
        raise UsageError(
            f"{folder.absolute()}: {listed} {'is' if len(there) == 1 else 'are'} there already;"
            " nothing was written",
            hint=f"Name another folder, at the end: evenhand init --from {tool} FILE my-evals",
        )
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # A file may have appeared since the check above, and must not be overwritten.
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    return list(texts)


def lines(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as JSON Lines."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
