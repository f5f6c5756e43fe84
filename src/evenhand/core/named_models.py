"""Models that are named while a file is read, so that whoever reads it can look at the names before anything runs.

How this works: the one who imports a file of the user's opens `reading`; a scorer that is given the id of a model notes
it with `name_model`. Scorers do not know which ids there are, and need not. Outside of `reading` nothing is noted: an
id is then looked up when the scorer is asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from msgspec import field

from evenhand.core.record import Record


class NamedModel(Record, frozen=True):
    """A model's id, and the line of the file that names it; 0 where that is another file."""

    id: str
    line: int


class FileReading(Record, frozen=True):
    """A file that is being read, and the models that were named meanwhile."""

    path: Path
    named: list[NamedModel] = field(default_factory=list[NamedModel])


_now: ContextVar[FileReading | None] = ContextVar("reading", default=None)


@contextmanager
def reading(path: Path) -> Iterator[list[NamedModel]]:
    """Inside, models that are named are noted."""
    file = FileReading(path)
    token = _now.set(file)
    try:
        yield file.named
    finally:
        _now.reset(token)


def name_model(id: str) -> None:  # noqa: A002 (the word that users write)
    """Notes that a model is named."""
    file = _now.get()
    if file is None:
        return
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != str(file.path):
        frame = frame.f_back
    file.named.append(NamedModel(id, frame.f_lineno if frame else 0))
