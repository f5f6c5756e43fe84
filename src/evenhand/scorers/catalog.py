"""What there is to expect of an output: the list behind `evenhand scorers` and the docs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One question, in the word that a config uses for it."""

    name: str
    kind: str
    description: str
    value: str = ""


_TEXT, _JSON, _CODE, _JUDGED, _BOUNDS = "text", "JSON", "your own code", "a judge", "bounds"

_ENTRIES = (
    Entry(
        "equals",
        _TEXT,
        "the output is exactly this; for an object or list, JSON equal to it",
        "text, object or list",
    ),
    Entry("contains", _TEXT, "the output has this text in it", "text"),
    Entry("icontains", _TEXT, "the same, in upper or lower case", "text"),
    Entry(
        "contains-any",
        _TEXT,
        "the output has one of these texts in it",
        "list, or text with commas",
    ),
    Entry(
        "contains-all",
        _TEXT,
        "the output has each of these texts in it",
        "list, or text with commas",
    ),
    Entry(
        "icontains-any", _TEXT, "one of them, in upper or lower case", "list, or text with commas"
    ),
    Entry(
        "icontains-all", _TEXT, "each of them, in upper or lower case", "list, or text with commas"
    ),
    Entry("starts-with", _TEXT, "the output begins with this text", "text"),
    Entry(
        "regex",
        _TEXT,
        "something in the output matches this JavaScript regular expression",
        "pattern",
    ),
    Entry(
        "is-json",
        _JSON,
        "the whole output is JSON, and fits the schema where one is given",
        "JSON Schema, optional",
    ),
    Entry(
        "contains-json",
        _JSON,
        "the output has a JSON object in it that fits the schema",
        "JSON Schema, optional",
    ),
    Entry(
        "python",
        _CODE,
        "a Python expression, a few lines, or file://grader.py[:function] says so",
        "code or file",
    ),
    Entry("llm-rubric", _JUDGED, "a model says that the output meets this rubric", "text"),
    Entry(
        "latency", _BOUNDS, "the model answered within threshold milliseconds", "none; threshold"
    ),
    Entry("cost", _BOUNDS, "the answer cost at most threshold US dollars", "none; threshold"),
)


def catalog() -> Sequence[Entry]:
    """All questions, in groups, in the order in which people look for them."""
    return _ENTRIES
