"""A prompt's XML: read where it is some, with places and text left as they are."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_ROOT = "prompt-text"


def parsed(text: str) -> ET.Element | None:
    """The elements of a prompt, below one that is ours; None where it is not XML. It may have several, or none."""
    try:
        return _parse(text)
    except ET.ParseError:
        return None


def where_broken(text: str) -> tuple[int, int, str] | None:
    """The line, the column and the reason why a prompt is not XML; None where it is."""
    try:
        _parse(text)
    except ET.ParseError as error:
        line, column = error.position
        shift = len(_ROOT) + 2 if line == 1 else 0
        why = str(error).partition(":")[0]
        return min(line, text.count("\n") + 1), max(1, column + 1 - shift), why
    return None


def _parse(text: str) -> ET.Element:
    # Without its declaration, and inside of an element, a document type is a mistake: no entity can be declared.
    bare = _DECLARATION.sub(lambda m: "\n" * m[0].count("\n"), text)
    return ET.fromstring(f"<{_ROOT}>{bare}</{_ROOT}>")
