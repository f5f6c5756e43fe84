"""What there is to expect of an output in Python: the list behind `evenhand scorers` and the docs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One question, in the word that a config uses for it.

    Attributes:
        name: The word; in Python, the scorer's class.
        kind: What it looks at.
        description: What it says of an output.
        value: What it is given.
        needs: What it cannot do without: a judge, a bound; empty for nothing.
        negated: How its opposite is written; empty where it has none.
    """

    name: str
    kind: str
    description: str
    value: str = ""
    needs: str = ""
    negated: str = ""


_CHECK, _MEASURE, _TOOL = (
    "verbs: they check, and want no bound",
    "nouns: they measure, and want at_least or at_most",
    "tools",
)
_LIST = "list of texts"
_A_JUDGE = "a judge"

_PYTHON = (
    Entry("Equals", _CHECK, "the output is exactly this", "text, object or list"),
    Entry("Contains", _CHECK, "the output has this text in it", "text"),
    Entry("ContainsAny", _CHECK, "the output has one of these texts in it", _LIST),
    Entry("ContainsAll", _CHECK, "the output has each of these texts in it", _LIST),
    Entry("StartsWith", _CHECK, "the output begins with this text", "text"),
    Entry("Matches", _CHECK, "a JavaScript regular expression matches in the output", "pattern"),
    Entry("IsJson", _CHECK, "the output is JSON, and fits the schema", "JSON Schema, optional"),
    Entry("ContainsJson", _CHECK, "a JSON object in it fits the schema", "JSON Schema, optional"),
    Entry("Latency", _CHECK, "the model answered within so many milliseconds", "number"),
    Entry("Cost", _CHECK, "the answer cost at most so many US dollars", "number"),
    Entry("Passes", _CHECK, "a judge says that it meets the criteria", "text", _A_JUDGE),
    Entry(
        "Preferred",
        _CHECK,
        "a judge prefers it to another output, in both orders",
        "over=, criteria=",
        _A_JUDGE,
    ),
    Entry("Rating", _MEASURE, "a judge's score by a rubric", "Rubric or text", "a judge, a bound"),
    Entry(
        "CustomJudge",
        _MEASURE,
        "a judge of your own; a verdict of its own needs no bound",
        "your class",
        "a judge, a bound",
    ),
    Entry(
        "Jury",
        _MEASURE,
        "several judges' vote, or the mean of their scores; a vote needs no bound",
        "judges, of=",
        "judges",
    ),
    Entry(
        "CallsTool",
        _TOOL,
        "the reply calls this tool, with these arguments",
        "name, arguments",
        "a reply that lists its calls",
        "~CallsTool(…)",
    ),
    Entry(
        "CallsTools",
        _TOOL,
        "the reply calls these tools, in any order, exactly, or among others",
        "list of names or CallsTool",
        "a reply that lists its calls",
    ),
)


def scorers() -> Sequence[Entry]:
    """All scorers of `evenhand.scorers`, in groups, in the order in which people look for them."""
    return _PYTHON
