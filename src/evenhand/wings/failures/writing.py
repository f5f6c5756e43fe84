"""Writes a failures.yml: whole or not at all, and what one person changes isn't lost to another's change."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from evenhand.core.errors import ConfigError, UsageError
from evenhand.languages.documents.failures_yml import (
    Codebook,
    ratify,
    read_codebook,
    with_ratified,
    written,
)
from evenhand.store.home import turn
from evenhand.store.replacing import replaced


def write_new(book: Codebook, path: Path) -> None:
    """Writes a new file.

    Raises:
        UsageError: A file already exists, or it cannot be written.
    """
    with _alone(path):
        if path.exists():
            raise UsageError(f"{path} already exists", hint="Name another file, or delete it.")
        with replaced(path) as file:
            file.write_text(written(book), "utf-8")


def ratify_in(path: Path, names: Collection[str], by: str, on: date) -> tuple[Codebook, Codebook]:
    """Writes into a file that a person accepts kinds in it: those of these names, or all where there are none.

    Comments and the rest of the text stay as they are, if each kind is a block with its keys on lines of their own;
    otherwise the file is written anew.

    Returns:
        The codebook before and after.

    Raises:
        ConfigError: All that is wrong with the file.
        UsageError: A name is not known, or the file cannot be written.
    """
    read_codebook(path)  # says what is wrong before anything is made beside it
    with _alone(path):
        before = read_codebook(path)
        after = ratify(before, names, by, on)
        with replaced(path) as file:
            try:
                file.write_text(with_ratified(path.read_text("utf-8"), after), "utf-8")
                is_edited = read_codebook(file) == after
            except (ValueError, ConfigError):
                is_edited = False
            if not is_edited:
                file.write_text(written(after), "utf-8")
    return before, after


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Inside, no other process of ours changes a file of this folder; errors of the disk are said in words."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with turn(folder):
                yield
        finally:
            os.close(folder)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
