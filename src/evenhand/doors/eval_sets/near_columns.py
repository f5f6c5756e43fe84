"""Columns that are nearly a case's own fields: capitals, plurals, blanks, and the words of other tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from evenhand.core.arguments import CASE_WORDS
from evenhand.core.case import Case
from evenhand.core.names import distance

LOOKED_AT = 1000
"""Cases of a dataset that are looked at: it may be larger than memory."""

_FIELDS = ("id", "input", "expected", "context", "description", "tags", "metadata")
_ALWAYS = {"id", "description"}
"""What a case has anyway."""


def near_fields(cases: Iterable[Case]) -> dict[str, str]:
    """The variables that may be meant for fields, each with the field. A field that some case has is none of them."""
    names: dict[str, None] = {}
    lacking = set(_FIELDS)
    for case in islice(cases, LOOKED_AT):
        names |= dict.fromkeys(map(str, case.vars))
        lacking -= {name for name in lacking - _ALWAYS if getattr(case, name)}
        if case.description not in ("", case.id):
            lacking.discard("description")
    near: dict[str, str] = {}
    for name in names:
        field = _field(name)
        if field in lacking and field not in near.values():
            near[name] = field
    return near


def _field(name: str) -> str:
    """The field that a variable may be meant for; empty for none."""
    plain = re.sub(r"[\s-]+", "_", name.strip().casefold())
    if plain in CASE_WORDS:
        return CASE_WORDS[plain]
    for field in _FIELDS:
        if plain in (field, f"{field}s", field.removesuffix("s")):
            return field
        if len(field) > 4 and plain[:1] == field[:1] and distance(plain, field) == 1:
            return field
    return ""


def said_of(near: Mapping[str, str]) -> tuple[str, str]:
    """What is worth a hint about such columns, and what to do."""
    named, fields = _listed(near), _listed(near.values())
    several = len(near) > 1
    what = f"the column{'s' * several} {named} {'are variables' if several else 'is a variable'} of the cases"
    first = next(iter(near))
    return (
        what,
        f"Did you mean {fields}? As {'variables' if several else 'a variable'}: case.vars[{first!r}].",
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def unused(near: Mapping[str, str], sources: Sequence[str]) -> dict[str, str]:
    """The misspelt-looking columns that no source names in quotes or in a template: a named one is known.

    Where variables are passed on whole, what other tools call a field may well be one of them.
    """
    text = "\n".join(sources)
    passed_on = re.search(r"\.vars\b(?!\s*[\[.])", text) is not None
    return {
        name: field
        for name, field in near.items()
        if not any(f"{quote}{name}{quote}" in text for quote in "'\"")
        and not re.search(rf"\{{\{{\s*{re.escape(name)}\b", text)
        and not (passed_on and name in CASE_WORDS)
    }
