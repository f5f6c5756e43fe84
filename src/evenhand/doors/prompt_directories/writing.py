"""Changes files so that nobody ever sees half of one, and nothing else of them is touched."""

from __future__ import annotations

import re
from pathlib import Path

from evenhand.core.errors import StoreError, UsageError
from evenhand.doors.prompt_directories.library import META
from evenhand.doors.prompt_directories.prompt import PromptFolder
from evenhand.languages.documents.findings import shown_path
from evenhand.store.replacing import replaced


def write(path: Path, text: str) -> bool:
    """Puts a text in a file's place; False where it was there already.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        if path.is_file() and path.read_bytes() == text.encode():
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as file:
            file.write_text(text, "utf-8", newline="")
    except OSError as error:
        raise StoreError(
            f"{shown_path(path)} cannot be written: {error.strerror or error}"
        ) from error
    return True


def set_meta(prompt: PromptFolder, **fields: str) -> None:
    """Gives fields of meta.yml new values, as `meta_with` has them.

    Raises:
        UsageError: A field is not there on a line of its own.
        StoreError: It cannot be written.
    """
    write(prompt.path / META, meta_with(prompt, **fields))


def meta_with(prompt: PromptFolder, **fields: str) -> str:
    """The text of meta.yml with new values of fields that are texts of one line. Everything else stays as it is.

    Raises:
        UsageError: A field is not there on a line of its own.
    """
    path = prompt.path / META
    # Line ends stay as they are in the file.
    with path.open(encoding="utf-8", newline="") as file:
        lines = file.read().splitlines(keepends=True)
    for name, value in fields.items():
        line = prompt.at(name).resolved().line
        pattern = re.compile(
            rf"(\s*(['\"]?){name}\2\s*:[ \t]*)([^#\s][^#\r\n]*?)(\s*(?:#[^\r\n]*)?[\r\n]*)"
        )
        match = pattern.fullmatch(lines[line - 1]) if 0 < line <= len(lines) else None
        if match is None:
            raise UsageError(
                f"{shown_path(path)}:{line}: '{name}' is not on a line of its own",
                hint=f"Write {name}: {value} on one.",
            )
        lines[line - 1] = f"{match[1]}{value}{match[4]}"
    return "".join(lines)
