"""How well the tools that an output calls are those that were expected, by their names.

The names are looked for wherever vendors put them: in messages of OpenAI's and their lists, in items of its Responses
API, in blocks of Anthropic's, in parts of Google's, in plain lists of objects with names, and in all these as JSON
inside a text. Which tools, not how often, nor in which order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_array, is_array, is_mapping
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.scorers.json_blocks import TooTangled, json_blocks, strict_json


class ToolNamesF1(Record, frozen=True):
    """F1 of the tools called against the tools expected, from 0 to 1, reaches a bound.

    Source: the harmonic mean of precision and recall (van Rijsbergen 1979), over sets of names.

    Attributes:
        negated: It must stay below the bound; the score is the same.
    """

    expected: frozenset[str]
    at_least: float = 1.0
    negated: bool = False

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        try:
            called = frozenset(tool_names(output))
        except TooTangled as error:
            return Score(0.0, False, error.message)
        both = len(called & self.expected)
        precision = both / len(called) if called else 0.0
        recall = both / len(self.expected) if self.expected else 0.0
        value = 2 * precision * recall / (precision + recall) if both else 0.0
        return Score(
            value,
            (value >= self.at_least) is not self.negated,
            f"called {_listed(called)}; expected {_listed(self.expected)}: F1 {value:.3f}",
            {"called": sorted(called)},
        )

    def __str__(self) -> str:
        return f"{'not-' if self.negated else ''}tool-call-f1 {_listed(self.expected)}"


def tool_names(output: object) -> Iterator[str]:
    """The names of the tools that an output calls; one that is called twice comes twice.

    Raises:
        TooTangled: A text in which looking for JSON takes too long.
    """
    if not isinstance(output, str):
        yield from _names(output)
        return
    try:
        value = strict_json(output)
    except ValueError:
        for value in json_blocks(output):
            yield from tool_names(value)
    else:
        yield from tool_names(value)


def _names(value: object) -> Iterator[str]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _of_item(item)
        return
    if not is_mapping(value):
        return
    calls, live = value.get("tool_calls"), value.get("toolCall")
    if is_array(calls):
        for call in calls:
            # OpenAI's calls have their name one level down; other vendors' have it in the call itself.
            yield from _name(_field(call, "function"))
            yield from _name(call)
    elif value.get("type") in ("tool_use", "function_call") and isinstance(value.get("name"), str):
        yield from _name(value)
    elif isinstance(value.get("functionCall"), (Mapping, list)):
        yield from _name(value.get("functionCall"))
    elif isinstance(live, Mapping):
        # Google's Live API nests its calls one level deeper.
        listed = _field(live, "functionCalls")
        for call in as_array(listed):
            yield from _name(call)


def _of_item(item: object) -> Iterator[str]:
    """The name in one item of a list."""
    if _field(item, "type") == "tool_use" and isinstance(_field(item, "name"), str):
        yield from _name(item)
        return
    for key in ("functionCall", "function"):
        inner = _field(item, key)
        if isinstance(inner, (Mapping, list)):
            yield from _name(inner)
            return
    yield from _name(item)


def _name(value: object) -> Iterator[str]:
    name = _field(value, "name")
    if isinstance(name, str):
        yield name


def _field(value: object, key: str) -> object:
    return value.get(key) if is_mapping(value) else None


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
