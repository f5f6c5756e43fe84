"""Assertions, as promptfoo configs and eval.yml files write them."""

from __future__ import annotations

from evenhand.core.json_schema import REFERENCE, TEXT, Part, defined, either
from evenhand.core.plugins import ASSERTIONS, plugins
from evenhand.core.table import schema_of
from evenhand.doors.assertions.kinds import KNOWN, kinds
from evenhand.doors.assertions.reading import KEYS


def types() -> Part:
    """The types of assertions, each with what it says of the output. Types of installed plugins are among them.

    Editors suggest those of the first list. The second holds what is taken, too, and makes no sense to suggest: `not-`
    before a type that it doesn't change, and types that promptfoo has and that are not run here.
    """
    listed: dict[str, str] = {}
    for kind in kinds():
        takes = f" Value: {kind.takes}." if kind.takes else ""
        listed[kind.name] = f"{kind.about}.{takes}"
        if kind.negation not in ("ignored", "refused"):
            listed[f"not-{kind.name}"] = f"Not: {kind.about}.{takes}"
    for name in sorted(plugins(ASSERTIONS)):
        listed |= {name: "", f"not-{name}": ""}
    rest = [n for name in sorted(KNOWN) for n in (name, f"not-{name}") if n not in listed]
    suggested: Part = {"enum": list(listed), "enumDescriptions": list(listed.values())}
    return either(suggested, {"enum": rest})


def assertion() -> Part:
    """One assertion. Types of packages that are not installed here are marked, as `evenhand check` marks them."""
    return schema_of(KEYS, {"type": types(), "assert": assertions()}, required=["type"])


def assertions(also: Part | None = None) -> Part:
    """A list of assertions, or the file that has it.

    Args:
        also: What else may be in the list.
    """
    one = either(defined("assertion"), REFERENCE if also is None else also)
    listed: Part = {"type": "array", "items": one}
    return either(listed, TEXT)
