"""Ids that an application's framework makes up for the calls of tools that a model asked for, in place of the model's.

Some frameworks number calls anew, at random. Such a request would be another one in each run, so that no replay could
answer it; and the result of a tool couldn't be told from another's. So in what a call is known by, ids are the model's.
What is sent stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_object
from evenhand.core.message import ToolCall

_LISTS = ("messages", "input")
_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")


def models_ids(body: Mapping[str, Any], asked: Sequence[ToolCall]) -> dict[str, str]:
    """The model's id of each call in a request that has another one; empty for nearly every request.

    A call is the model's if its tool and its arguments are; of several alike, in their order.

    >>> call = {"id": "x7", "function": {"name": "find", "arguments": '{"n": 1}'}}
    >>> body = {"messages": [{"role": "assistant", "tool_calls": [call]}]}
    >>> models_ids(body, [ToolCall("find", {"n": 1}, "call_1")])
    {'x7': 'call_1'}
    """
    if not asked:
        return {}
    there = list(_calls(body))
    present = {call.id for call in there}
    free = [call for call in asked if call.id and call.id not in present]
    known = {call.id for call in asked}
    ids: dict[str, str] = {}
    for call in there:
        if not call.id or call.id in known or call.id in ids:
            continue
        same = next((c for c in free if (c.name, c.arguments) == (call.name, call.arguments)), None)
        if same is not None:
            free.remove(same)
            ids[call.id] = same.id
    return ids


def with_ids(value: object, ids: Mapping[str, str]) -> Any:
    """A request's JSON with these ids in the place of others."""
    if is_array(value):
        return [with_ids(each, ids) for each in value]
    if not is_object(value):
        return value
    return {
        key: ids.get(each, each) if key in _IDS and isinstance(each, str) else with_ids(each, ids)
        for key, each in value.items()
    }


def _calls(body: Mapping[str, Any]) -> Iterator[ToolCall]:
    """The calls in a request's messages, as OpenAI's APIs and Anthropic's have them."""
    for message in (m for name in _LISTS for m in map(as_mapping, as_array(body.get(name)))):
        for call in map(as_mapping, as_array(message.get("tool_calls"))):
            function = as_mapping(call.get("function"))
            yield _call(function.get("name"), function.get("arguments"), call.get("id"))
        if message.get("type") == "function_call":
            yield _call(message.get("name"), message.get("arguments"), message.get("call_id"))
        for block in map(as_mapping, as_array(message.get("content"))):
            if block.get("type") == "tool_use":
                yield _call(block.get("name"), block.get("input"), block.get("id"))


def _call(name: object, arguments: object, id_: object) -> ToolCall:
    value = decoded(arguments or "{}") if isinstance(arguments, str) else arguments
    return ToolCall(str(name), value if is_object(value) else None, str(id_ or ""))
