"""What was said in what a framework passes on: the state of a graph, a dumped message, the definition of a tool.

    {"messages": [["user", "Refund order 101"]]}  # the input of a graph: what the user said
    {"type": "tool", "content": "done", "tool_call_id": "c1"}  # the result of a tool: "done"

An application's own values are left as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evenhand.core.json_shapes import as_array, is_array, is_object
from evenhand.doors.spans.messages import Said, is_message, messages_of, value_of

_MOST_LITERAL = 100_000
"""Characters of a text that is read as a literal of Python's."""
_DUMPED = re.compile(
    r"content=(?P<content>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?P<rest>.*)$", re.DOTALL
)
_SCHEMA_KEYS = frozenset({"$schema", "$defs", "type", "required", "additionalProperties", "title"})


class ToolResult(NamedTuple):
    """What a tool returned, the id of its call, and whether it failed; None where nobody says."""

    value: Any
    call: str = ""
    failed: bool | None = None


def conversation_in(value: object) -> list[Said]:
    """The messages of a state, or of a list of them; none for any other value."""
    if is_object(value):
        for key in ("messages", "chat_history"):
            rows = value_of(value.get(key))
            if is_array(rows) and _are_messages(rows):
                messages = messages_of(rows)
                # A state with `chat_history` holds the user's current message in `input`.
                own = value.get("input") if key == "chat_history" else None
                return [*messages, *messages_of(own)] if isinstance(own, str) else messages
        return []
    rows = as_array(value)
    return messages_of(rows) if _are_messages(rows) else []


def question_in(said: Sequence[Said]) -> Any:
    """What the user said, where nobody has answered yet; else the whole conversation."""
    texts = [one.get("content") for one in said if one.get("role") == "user"]
    answered = any(one.get("role") in ("assistant", "tool") for one in said)
    if len(texts) == 1 and not answered:
        return texts[0]
    return list(said) if len(said) > 1 else said[0].get("content") if said else None


def answer_in(said: Sequence[Said]) -> Any:
    """The last answer that has a text; else the last message's content."""
    texts = [one["content"] for one in said if one.get("role") == "assistant" and "content" in one]
    if texts:
        return texts[-1]
    return said[-1].get("content") if said else None


def tool_result(value: object) -> ToolResult:
    """What a tool returned, also where a framework has wrapped it into a message."""
    if is_object(value) and "raw_output" in value and "tool_name" in value:  # LlamaIndex's
        return ToolResult(value["raw_output"], "", bool(value.get("is_error")))
    fields = _message(value)
    if fields is None:
        return ToolResult(value)
    own, status = fields.get("tool_call_id"), fields.get("status")
    failed = status == "error" if status in ("success", "error") else None
    content = fields.get("content")
    rows = as_array(content)
    if rows and all(is_object(row) and "text" in row for row in rows):
        content = "\n".join(str(row["text"]) for row in rows)
    return ToolResult(value_of(content), own if isinstance(own, str) else "", failed)


def framework_input(value: object) -> object:
    """What an agent was asked, of what its framework calls its own method with; any other value as it is.

    None for a state from which that can't be read: the first call of a model has it.
    """
    if not is_object(value):
        return value
    if "task" in value and "additional_args" in value:  # smolagents'
        return value["task"]
    return None if "init_state" in value else value  # LlamaIndex's


def framework_output(value: object) -> object:
    """What an agent answered, of what its framework's method returns; see `framework_input`."""
    if is_object(value) and "raw" in value and "tasks_output" in value:  # CrewAI's
        return value["raw"]
    if isinstance(value, str) and value.startswith("StopEvent("):  # LlamaIndex's
        return None
    return value


def is_schema(value: object) -> bool:
    """Whether a value says what arguments a tool takes, and not which it was given."""
    if is_array(value):
        return bool(value) and all(map(is_schema, value))
    if not is_object(value):
        return False
    if isinstance(value.get("properties"), dict) and not _SCHEMA_KEYS.isdisjoint(value):
        return True
    for key in ("parameters", "input_schema", "inputSchema", "json_schema", "function", "schema"):
        if key in value and is_schema(value[key]):
            return True
    if value.get("type") == "object" and set(value) <= _SCHEMA_KEYS:
        return True
    # A table of parameters, each with its own type: {"id": {"type": "integer", "description": "…"}}.
    return bool(value) and all(map(_is_parameter, value.values()))


def literal(text: object) -> Any:
    """What a text says that Python wrote for a dict or a list; any other value as it is.

    >>> literal("{'id': 101, 'all': True}"), literal("{no dict")
    ({'id': 101, 'all': True}, '{no dict')
    """
    if not isinstance(text, str) or text[:1] not in ("{", "[") or len(text) > _MOST_LITERAL:
        return text
    try:
        # What is nested too deeply raises a MemoryError or a RecursionError, depending on Python's version.
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, (dict, list)) else text


def _is_parameter(value: object) -> bool:
    if not is_object(value):
        return False
    return isinstance(value.get("type"), str) and not _PARAMETER_KEYS.isdisjoint(value)


_PARAMETER_KEYS = frozenset({"description", "title", "enum", "default", "required", "items"})


def _are_messages(rows: Sequence[object]) -> bool:
    return bool(rows) and all(
        _are_messages(row) if is_array(row) and not is_message(row) else is_message(row)
        for row in rows
    )


def _message(value: object) -> Mapping[str, object] | None:
    """The fields of a tool's message that was dumped, as JSON, as LangChain's or as Python writes it; None for none."""
    if isinstance(value, str):
        match = _DUMPED.match(value)
        if match is None or "tool_call_id=" not in match["rest"]:
            return None
        rest = dict(re.findall(r"(\w+)='([^']*)'", match["rest"]))
        try:
            content = ast.literal_eval(match["content"])
        except (ValueError, SyntaxError):
            # Quotes that no Python wrote: a text that only looks like a message.
            return None
        return {**rest, "content": content}
    if not is_object(value):
        return None
    fields = value
    inner = fields.get("kwargs") if fields.get("lc") is not None else fields.get("data", fields)
    fields = inner if is_object(inner) else fields
    if "content" not in fields or "tool_call_id" not in fields:
        return None
    return fields
