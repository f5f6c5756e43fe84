"""Templates of eval sets and prompt directories: `{{ name }}` and `{{ name.part }}`, and nothing else.

They are filled in in one pass, so that what is filled in is data, and never looked at for tags of its own. promptfoo's
files have a richer language of their own; see `evenhand.languages.templates.rendering`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from evenhand.core.encoding import encode
from evenhand.core.errors import TemplateError
from evenhand.core.json_shapes import is_number

PLACE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")
_RICHER = re.compile(
    r"\{\{-?\s*[A-Za-z_][\w.]*\s*\|[^{}]*\}\}"
    r"|\{%-?\s*(?:if|elif|else|endif|for|endfor|set|macro|include|raw|endraw)\b[^{}]*%\}"
)
"""Tags of Nunjucks and Jinja, which nobody would fill in here."""
NAMES_ONLY = "Compute the value before, or put text that only looks like a tag into a variable."
_MISSING = object()


def names_in(template: str) -> dict[str, int]:
    """The names that a template has places for, each with the line of the first one."""
    names: dict[str, int] = {}
    for match in PLACE.finditer(template):
        names.setdefault(match[1], template.count("\n", 0, match.start()) + 1)
    return names


def lacking(template: str, values: Mapping[str, object]) -> dict[str, int]:
    """The names that have no value, each with the line of its first place."""
    return {n: line for n, line in names_in(template).items() if _value(values, n) is _MISSING}


def richer_tag(template: str) -> tuple[int, str] | None:
    """The line of the first tag that is more than a name, and what is wrong with it; None for no such tag."""
    match = _RICHER.search(template)
    if match is None:
        return None
    line = template.count("\n", 0, match.start()) + 1
    return line, f"'{match[0]}' would be sent as it is: only names are filled in here"


def as_text(value: object) -> str:
    """A value as a template gets it: text as it is, nothing as no text, `true`, `false`, others as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if not is_number(value):
        return encode(value).decode()
    return str(value)


def render(template: str, values: Mapping[str, object], where: str, hint: str = "") -> str:
    """The template with each place filled in, in one pass.

    Args:
        values: By name. A part of an object is `{{ name.part }}`, unless a value has that whole name.
        where: What the template is called, for messages.
        hint: Where values come from; by default, which there are.

    Raises:
        TemplateError: Names have no value: all of them, with the lines of their places. Or it has tags of Nunjucks or
            Jinja that are more than names.
    """
    problems = [
        f"{where}:{line}: '{name}' has no value" for name, line in lacking(template, values).items()
    ]
    if problems:
        raise TemplateError(
            "\n".join(problems), hint=hint or f"There are: {', '.join(values) or 'no values'}."
        )
    richer = richer_tag(template)
    if richer is not None:
        line, what = richer
        raise TemplateError(f"{where}:{line}: {what}", hint=NAMES_ONLY)
    return PLACE.sub(lambda match: as_text(_value(values, match[1])), template)


def _value(values: Mapping[str, object], name: str) -> object:
    if name in values:
        return values[name]
    value: object = values
    for part in name.split("."):
        if not isinstance(value, Mapping):
            return _MISSING
        value = value.get(part, _MISSING)
    return value
