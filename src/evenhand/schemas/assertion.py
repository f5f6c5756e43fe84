"""Assertions, as promptfoo configs and eval.yml files write them."""

from __future__ import annotations

from evenhand.assertions.kinds import KNOWN, kinds
from evenhand.assertions.reading import KEYS
from evenhand.core.plugins import ASSERTIONS, plugins
from evenhand.schemas.parts import ANY, NUMBER, REFERENCE, TABLE, TEXT, Part, defined, either, table


def types() -> Part:
    """The types of assertions, each with what it says of the output. Types of installed plugins are among them."""
    names: list[str] = []
    about: list[str] = []
    for kind in kinds():
        takes = f" Value: {kind.takes}." if kind.takes else ""
        names.append(kind.name)
        about.append(f"{kind.about}.{takes}")
        if kind.negation != "ignored":
            names.append(f"not-{kind.name}")
            about.append(f"Not: {kind.about}.{takes}")
    for name in (*sorted(KNOWN.difference(names)), *sorted(plugins(ASSERTIONS))):
        names.append(name)
        about.append("")
    return {"enum": names, "enumDescriptions": about}


def assertion() -> Part:
    """One assertion. The types are suggested; any text is taken, as types may come from plugins of others."""
    return table(
        KEYS,
        {
            "type": (either(types(), TEXT), "What is asked of the output."),
            "value": (ANY, "What it is compared with; each type says what it takes."),
            "threshold": (NUMBER, "What the score must reach, or must not pass."),
            "weight": (NUMBER, "Its share in the test's score; 1 by default, 0 keeps it out."),
            "metric": (TEXT, "Also count its score under this name."),
            "provider": (ANY, "Who judges or embeds: an id, or {id, config}."),
            "rubricPrompt": (ANY, "Your own prompt for the judge."),
            "transform": (TEXT, "Changes the output before it is looked at."),
            "contextTransform": (TEXT, "Takes the context out of the output, for RAG metrics."),
            "config": (TABLE, "Passed to code in Python or JavaScript."),
            "assert": (
                assertions(),
                "Of an assert-set: the assertions in it.",
            ),
            "alpha": (NUMBER, "For METEOR."),
            "beta": (NUMBER, "For METEOR."),
            "gamma": (NUMBER, "For METEOR."),
        },
        required=["type"],
    )


def assertions(also: Part | None = None) -> Part:
    """A list of assertions, or the file that has it.

    Args:
        also: What else may be in the list.
    """
    one = either(defined("assertion"), REFERENCE if also is None else also)
    listed: Part = {"type": "array", "items": one}
    return either(listed, TEXT)
