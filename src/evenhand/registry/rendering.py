"""Fills a template in, in one pass: what is filled in is data, and never looked at for places of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from evenhand.core.encoding import encode
from evenhand.core.errors import TemplateError

PLACE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")
NOTHING = "none"


def names_in(template: str) -> dict[str, int]:
    """The variables that a template has places for, each with the line of the first one."""
    found: dict[str, int] = {}
    for match in PLACE.finditer(template):
        found.setdefault(match[1], template.count("\n", 0, match.start()) + 1)
    return found


def as_text(value: object) -> str:
    """A value as a template gets it: text as it is, nothing as no text, lists and objects as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return encode(value).decode()
    return str(value)


def render(template: str, values: Mapping[str, object], where: str) -> str:
    """The template with each `{{name}}` filled in, in one pass.

    Args:
        where: The template's file, for messages.

    Raises:
        TemplateError: Variables are missing: all of them, with the lines of their places.
    """
    missing = {name: line for name, line in names_in(template).items() if name not in values}
    if missing:
        listed = "\n".join(
            f"{where}:{line}: '{name}' has no value" for name, line in missing.items()
        )
        raise TemplateError(
            listed, hint="Give it: in the case's inputs, with --var NAME=VALUE, or from guard.sh."
        )
    return PLACE.sub(lambda match: as_text(values[match[1]]), template)


def merged(*layers: Mapping[str, object]) -> dict[str, object]:
    """One mapping of several, the later ones over the earlier."""
    found: dict[str, object] = {}
    for layer in layers:
        found.update(layer)
    return found


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
