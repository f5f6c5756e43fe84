"""What files of JavaScript are called, and how texts name them and what they export."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from evenhand.languages.javascript.wire import as_json

ENDINGS = frozenset({".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"})
"""What a file of JavaScript or TypeScript is called."""

TYPESCRIPT = frozenset({".ts", ".mts", ".cts"})

CONFIG = "config()"
"""The name of what a config file comes to; that of a function in it begins so: `config().tests.0.assert.0.value`."""


def made_by(export: str, settings: object = None) -> str:
    """The name of what one of a file's exports comes to; without an export, that of its default one.

    Args:
        settings: What the export is called with; None for nothing. They are part of the name, so that whoever calls
            a function in it later has it made of the same.

    >>> made_by("make"), made_by("make", {"n": 2})
    ('config(make)', 'config(make,%7B%22n%22%3A2%7D)')
    """
    argument = (
        "" if settings is None else "," + quote(as_json(settings), safe="").replace(".", "%2E")
    )
    return f"config({export}{argument})"


def without_settings(export: str) -> str:
    """The name of an export as messages show it."""
    return re.sub(r"^config\(([^,]*),[^)]*\)", r"config(\1)", export)


def split_reference(reference: str) -> tuple[str, str]:
    """`file://a.js:name` as the path and the name; an empty name for the default export."""
    text = reference.removeprefix("file://")
    path, colon, name = text.rpartition(":")
    if colon and Path(path).suffix in ENDINGS:
        return path, name
    return text, ""


def is_reference(text: str) -> bool:
    """Whether text names a file of JavaScript or TypeScript."""
    return text.startswith("file://") and Path(split_reference(text)[0]).suffix in ENDINGS
