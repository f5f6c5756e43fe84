"""Assertions on what an answer calls: tools, functions, skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Scorer
from evenhand.core.json_shapes import as_array, is_array, is_mapping, is_number
from evenhand.core.record import Record
from evenhand.core.score import check
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.doors.assertions.spans import matches, wrong_value
from evenhand.doors.assertions.values import bound
from evenhand.languages.templates.printing import printed
from evenhand.scorers.agents.tool_names import ToolNamesF1
from evenhand.scorers.declared_calls import CallsDeclaredFunction, CallsDeclaredTools
from evenhand.scorers.known_outcomes import Answered

GROUP = "tools"


def _f1(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    items = value.split(",") if isinstance(value, str) else as_array(value)
    names = frozenset(name for name in (printed(item).strip() for item in items) if name)
    if not names:
        raise assertion.misvalued(
            value, ", which names no tools", hint="Write a list of names, or names with commas."
        )
    return ToolNamesF1(names, bound(assertion.threshold, 1.0), assertion.negated)


def _function(_assertion: Assertion, cell: Cell, _value: Any) -> Scorer:
    google = [
        function
        for tool in _declared(cell, "tools")
        for function in _objects(tool.get("functionDeclarations"))
    ]
    return CallsDeclaredFunction([*_declared(cell, "functions"), *google])


def _tools(_assertion: Assertion, cell: Cell, _value: Any) -> Scorer:
    tools = [tool for tool in _declared(cell, "tools") if tool.get("type") == "function"]
    return CallsDeclaredTools([f for tool in tools for f in _objects([tool.get("function")])])


def _declared(cell: Cell, key: str) -> Sequence[Mapping[str, Any]]:
    """What the provider's config declares under a key."""
    return _objects(cell.provider_config.get(key))


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    return [item for item in as_array(value) if is_mapping(item)]


class _Wanted(Record, frozen=True):
    """A skill that is wanted: its name or a pattern, and how often."""

    name: str = ""
    pattern: str = ""
    least: int | None = None
    most: int | None = None

    def is_met_by(self, skill: str) -> bool:
        return (not self.name or skill == self.name) and (
            not self.pattern or matches(skill, self.pattern)
        )

    def __str__(self) -> str:
        return self.pattern or self.name


def _skill(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    calls = cell.reply.metadata.get("skillCalls") if cell.reply else None
    used = [
        name
        for entry in _objects(calls)
        if isinstance(name := entry.get("name"), str) and entry.get("is_error") is not True
    ]
    reason = f"used {', '.join(used)}" if used else "no skill was used"
    label = f"{assertion.written} {printed(value)}"
    if is_mapping(value):
        return Answered(label, check(_used_often_enough(assertion, value, used), reason))
    items = value if is_array(value) else [value]
    names = [item.strip() for item in items if isinstance(item, str) and item.strip()]
    if not names or len(names) < len(items):
        raise assertion.misvalued(
            value, hint="Write a name, a list of names, or {name or pattern: …, min: …, max: …}."
        )
    if assertion.negated:
        return Answered(label, check(not any(name in used for name in names), reason))
    return Answered(label, check(all(name in used for name in names), reason))


def _used_often_enough(
    assertion: Assertion, value: Mapping[str, object], used: Sequence[str]
) -> bool:
    name, pattern = (
        text.strip() if isinstance(text := value.get(key), str) else ""
        for key in ("name", "pattern")
    )
    if not name and not pattern:
        raise ScoreError(f"the value of '{assertion.written}' has neither 'name' nor 'pattern'")
    expected = _Wanted(
        name, pattern, _count(assertion, value, "min"), _count(assertion, value, "max")
    )
    if expected.least is not None and expected.most is not None and expected.most < expected.least:
        raise ScoreError(
            f"'{assertion.written}': max {expected.most} is below min {expected.least}"
        )
    count = sum(map(expected.is_met_by, used))
    if assertion.negated:
        # `max: 0` is allowed with `not-`, because it says the same.
        if expected.least is not None or expected.most:
            raise ScoreError(
                f"'{assertion.written}' takes no min and no max",
                hint="Write skill-used with a max, to allow a few.",
            )
        return count == 0
    least = expected.least if expected.least is not None else 0 if expected.most is not None else 1
    return count >= least and (expected.most is None or count <= expected.most)


def _count(assertion: Assertion, value: Mapping[str, object], key: str) -> int | None:
    if key not in value:
        return None
    number = value[key]
    if is_number(number) and number >= 0 and number % 1 == 0:
        return int(number)
    raise ScoreError(f"'{assertion.written}': {key} is {number!r}, not a number of times")


def _valid_call(name: str) -> Kind:
    return Kind(
        name,
        "the output calls a function that the provider's config declares, with arguments that fit",
        _function,
        optional=True,
        of_each_cell=True,
        negation="ignored",
    )


KINDS = (
    Kind(
        "tool-call-f1",
        "F1 of the names of the tools called against these is at least the threshold (1)",
        _f1,
        "list of names, or names with commas",
        negation="own",
    ),
    _valid_call("is-valid-function-call"),
    _valid_call("is-valid-openai-function-call"),
    Kind(
        "is-valid-openai-tools-call",
        "each tool call in the output is of a tool that the provider's config declares",
        _tools,
        optional=True,
        of_each_cell=True,
        negation="ignored",
    ),
    Kind(
        "skill-used",
        "the agent used these skills, as the reply's metadata.skillCalls says",
        _skill,
        "name, list, or {name or pattern, min, max}",
        of_each_cell=True,
        negation="own",
        check=wrong_value(_skill),
    ),
)
