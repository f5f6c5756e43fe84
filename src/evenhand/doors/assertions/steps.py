"""The steps of an agent: what its trace's spans were for, told from their names and attributes.

A span that names a tool is a step of that tool; one that ran a command, searched, reasoned or spoke is a step of that
kind; any other is just a span. The names of the attributes are those that tracing libraries write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import Record
from evenhand.doors.assertions.spans import Span, Trace, matches
from evenhand.languages.templates.printing import printed

StepType = Literal["tool", "command", "search", "reasoning", "message", "span"]

SHOWN = 24
"""Steps that a judge is shown: the first and the last half of them where there are more."""

_NAME_KEYS = """
    tool.name tool_name tool function.name function_name ai.toolCall.name gen_ai.tool.name agent.tool_name agent.tool
    agent.toolName codex.mcp.tool
""".split()
_ARGUMENT_KEYS = """
    tool.args tool.arguments tool.input tool_args tool_arguments tool_input function.args function.arguments
    function.input function_args function_arguments ai.toolCall.args ai.toolCall.arguments ai.toolCall.input
    gen_ai.tool.args gen_ai.tool.arguments gen_ai.tool.input gen_ai.tool.call.args gen_ai.tool.call.arguments
    agent.tool.args agent.tool.arguments agent.tool.input codex.mcp.args codex.mcp.arguments codex.mcp.input
    args arguments input
""".split()
_COMMAND_KEYS = ("codex.command", "command", "command.name", "command_name")
_SEARCH_KEYS = ("codex.search.query", "search.query", "search_query")
_SHELLS = frozenset({"exec_command", "local_shell", "shell"})

_NAMES_TOOL = re.compile(r"tool.?name|function.?name", re.IGNORECASE)
_IS_TOOL = re.compile(r"(?:^|[._])tool(?:$|[._])", re.IGNORECASE)
_NO_NAME = re.compile(r"result|output|definition", re.IGNORECASE)
_IS_ARGUMENTS = re.compile(r"(?:^|[._])(?:arguments|args|input)(?:$|[._])", re.IGNORECASE)
_NO_ARGUMENTS = re.compile(r"result|output|error|status", re.IGNORECASE)
_IS_COMMAND = re.compile(r"command", re.IGNORECASE)
_NO_COMMAND = re.compile(r"output|result", re.IGNORECASE)
_SEARCHES = re.compile(
    r"(?:^|[\s._:/-])(?:search|find|lookup|retriev(?:e|al))(?:$|[\s._:/-])", re.IGNORECASE
)
_SEARCH_KEY = re.compile(r"(?:^|[._])(?:search|lookup|retriev(?:e|al))(?:$|[._])", re.IGNORECASE)
_REASONS = re.compile(r"reasoning(?:[_\s]|$)", re.IGNORECASE)


class Nothing:
    """No arguments were told, which is not the same as null."""


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One step.

    Attributes:
        name: Of the tool; the command; what was searched for; else the span's.
        aliases: The names by which it may be matched.
        arguments: What the tool was given; `Nothing` where that is not told.
    """

    type: StepType
    name: str
    span: Span
    aliases: frozenset[str]
    arguments: Any = field(default=Nothing)

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


class WantedSteps(Record, frozen=True):
    """Which steps are meant: of these types, with a name that matches. An empty pattern means all of them."""

    pattern: str
    types: frozenset[str] = frozenset()

    def is_met_by(self, step: AgentStep) -> bool:
        """Whether a step is one of them."""
        return (not self.types or step.type in self.types) and (
            not self.pattern or any(matches(alias, self.pattern) for alias in step.aliases)
        )


def steps_of(trace: Trace) -> list[AgentStep]:
    """The steps in the order in which they began."""
    shells = _SHELLS | {name.strip().lower() for name in trace.shells if name.strip()}
    return [_step(span, shells) for span in sorted(trace.spans, key=_times)]


def _times(span: Span) -> tuple[float, float]:
    start = span.start or 0.0
    return start, start if span.end is None else span.end


def _step(span: Span, shells: frozenset[str]) -> AgentStep:
    tool = _tool(span)
    shell = tool.strip().lower() in shells
    command = _command(span, shell)
    # Having an argument called `command` does not make a tool a shell.
    if command and (shell or not tool):
        names = {span.name, command, *command.split()[:1]} | ({tool} if tool else set())
        arguments = _arguments(span) if tool else Nothing
        return AgentStep("command", command, span, frozenset(names), arguments)
    if tool:
        return AgentStep("tool", tool, span, frozenset((span.name, tool)), _arguments(span))
    query = _query(span)
    if query:
        return AgentStep("search", query, span, frozenset((span.name, query)))
    item = span.attributes.get("codex.item.type")
    if item == "reasoning" or _REASONS.match(span.name):
        return AgentStep("reasoning", span.name, span, frozenset((span.name, "reasoning")))
    if item == "agent_message" or span.name in ("agent response", "send input"):
        return AgentStep("message", span.name, span, frozenset((span.name, "message")))
    return AgentStep("span", span.name, span, frozenset((span.name,)))


def _tool(span: Span) -> str:
    """The name of the tool that a span calls; empty for none."""
    known = _first_text(span, _NAME_KEYS)
    if known:
        return known
    for key, text in _texts(span):
        # Such a key may hold a tool's whole definition, which is JSON and not a name.
        if not (text[0] in "[{" and isinstance(_read(text), (dict, list))) and (
            _NAMES_TOOL.search(key) or (_IS_TOOL.search(key) and not _NO_NAME.search(key))
        ):
            return text
    if span.name.startswith("mcp "):
        return span.name.rpartition("/")[2].strip() if "/" in span.name else ""
    return ""


def _arguments(span: Span) -> Any:
    others = (
        key
        for key in span.attributes
        if _IS_ARGUMENTS.search(key) and not _NO_ARGUMENTS.search(key)
    )
    for key in (*_ARGUMENT_KEYS, *others):
        value = span.attributes.get(key)
        if isinstance(value, str):
            if value.strip():
                return _read(value.strip())
        elif value is not None:
            return value
    return Nothing


def _command(span: Span, shell: bool) -> str:
    """The command that a span runs; empty for none."""
    command = _first_text(span, _COMMAND_KEYS) or next(
        (
            text
            for key, text in _texts(span)
            if _IS_COMMAND.search(key) and not _NO_COMMAND.search(key)
        ),
        "",
    )
    if command:
        return command
    arguments = _arguments(span) if shell else Nothing
    if is_mapping(arguments):
        key = next((key for key in ("cmd", "command", "commands") if key in arguments), "")
        value = arguments.get(key)
        if is_array(value):
            parts = (printed(part).strip() for part in value)
            value = ("; " if key == "commands" else " ").join(part for part in parts if part)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return span.name[5:].strip() if span.name.startswith("exec ") else ""


def _query(span: Span) -> str:
    """What a span searches for; empty for nothing."""
    terms = _first_text(span, _SEARCH_KEYS)
    if terms:
        return terms
    query = _first_text(span, ("query",))
    if query and (
        _SEARCHES.search(span.name)
        or any(key != "query" and _SEARCH_KEY.search(key) for key in span.attributes)
    ):
        return query
    if span.name.startswith("search "):
        return span.name[7:].removeprefix('"').removesuffix('"').strip()
    return ""


def _texts(span: Span) -> Iterable[tuple[str, str]]:
    for key, value in span.attributes.items():
        if isinstance(value, str) and value.strip():
            yield key, value.strip()


def _first_text(span: Span, keys: Sequence[str]) -> str:
    values = (span.attributes.get(key) for key in keys)
    return next((v.strip() for v in values if isinstance(v, str) and v.strip()), "")


def _read(text: str) -> Any:
    """What a text says as JSON; else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def summary(trace: Trace) -> str:
    """The steps as JSON for a judge: the same one after another told once, the middle of a long list left out."""
    steps: list[dict[str, Any]] = []
    taken = steps_of(trace)
    for index, step in enumerate(taken, 1):
        entry: dict[str, Any] = {"type": step.type, "name": step.name}
        if step.span.name != step.name:
            entry["span"] = step.span.name
        if step.span.status:
            entry["status"] = {"code": step.span.status, "message": step.span.message}
        if steps and {k: v for k, v in steps[-1].items() if k not in ("index", "times")} == entry:
            steps[-1]["times"] = steps[-1].get("times", 1) + 1
        else:
            steps.append({"index": index, **entry})
    if len(steps) > SHOWN:
        left_out = len(steps) - SHOWN
        steps = [*steps[: SHOWN // 2], {"left_out": left_out}, *steps[-SHOWN // 2 :]]
    return json.dumps({"step_count": len(taken), "steps": steps}, indent=2, ensure_ascii=False)
