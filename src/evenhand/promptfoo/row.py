"""A test as it is written, and where such come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evenhand.documents.findings import At, Findings, Place


@dataclass(slots=True)
class Row:
    """A test as written.

    Attributes:
        value: Its keys.
        at: Where its parts are written.
        data: It comes from a dataset: its variables are data, in which nothing is filled in and no file is named.
        name: Its description where it has none.
    """

    value: Mapping[str, Any]
    at: At
    data: bool = False
    name: str = ""


class Source(Protocol):
    """Some tests. `path` is None for those in the config itself."""

    @property
    def path(self) -> Path | None: ...

    def rows(self, findings: Findings) -> Iterator[Row]:
        """The tests, in their order; problems with the file itself are noted, and the rows concerned left out."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """Where the parts of a row in a data file are: all on its line."""

    path: Path
    number: int

    def __call__(self, *path: str | int) -> Place:
        del path
        return Place(self.path, self.number)
