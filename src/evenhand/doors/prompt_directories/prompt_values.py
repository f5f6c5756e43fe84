"""The values that fill a prompt in: put together from several places, and told apart in evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from evenhand.languages.templates.plain import as_text

NOTHING = "none"
SOURCES = "Give it: in the case's inputs, with --var NAME=VALUE, or from guard.sh."
"""Where a prompt's values come from, as a hint."""


def merged(*layers: Mapping[str, object]) -> dict[str, object]:
    """One mapping of several, the later ones over the earlier."""
    values: dict[str, object] = {}
    for layer in layers:
        values.update(layer)
    return values


def vars_hash(values: Mapping[str, object]) -> str:
    """The first 12 hex digits of the SHA-256 of the sorted lines KEY=VALUE; `none` for no values."""
    if not values:
        return NOTHING
    lines = "".join(f"{name}={as_text(values[name])}\n" for name in sorted(values))
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def text_hash(text: str) -> str:
    """The first 12 hex digits of the SHA-256 of a text without white space and case: they make no other use of it."""
    plain = "".join(text.casefold().split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:12]
