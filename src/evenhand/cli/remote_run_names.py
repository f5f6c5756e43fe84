"""Runs as they are named on the command line where one elsewhere may be meant, too: `REMOTE#RUN`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, cast

import click


class RunNames(Protocol):
    """What a wing knows of runs that are not on this machine: `run_names` of its record."""

    def one(self, name: str) -> str | None:
        """A run's file, fetched to this machine, as `FILE` or `FILE:COLUMN`; None where the wing knows no such run."""
        ...

    def several(self, name: str) -> Sequence[Path] | None:
        """The files of all runs of a place, fetched to this machine; None where the name is no such place."""
        ...


class RunName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] (it takes none before 8.5)
    """A run, as somebody names it: one that is elsewhere becomes its file on this machine, `FILE` or `FILE:COLUMN`."""

    name = "run"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Fetches the run that is meant, if it is elsewhere."""
        del param, ctx
        if value.startswith("#"):  # a cell: the second variant's is `#2:3`
            return value
        # Wings are not imported for what can only be an id.
        if "#" not in value and "/" not in value and not Path(value).is_dir():
            return value
        for names in _everywhere():
            if (file := names.one(value)) is not None:
                return file
        return value


def runs_elsewhere(name: str | None) -> Sequence[Path] | None:
    """The files of all runs of a place elsewhere; None where none is named, or one of its runs is."""
    if not name or "#" in name:
        return None
    for names in _everywhere():
        if (files := names.several(name)) is not None:
            return files
    return None


def _everywhere() -> Iterator[RunNames]:
    from evenhand.core.wing import parts

    for part in parts("run_names").values():
        yield cast("RunNames", part.load())
