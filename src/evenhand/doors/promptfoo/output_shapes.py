"""What the output of a vendor's model is in promptfoo: text or an object, and what of an answer stands in it.

There each provider has a rule of its own. Eval sets have one for all of them, that of `evenhand.providers.chat`: so
these rules hold for the models that a promptfoo config evaluates, and for no others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec.structs import replace

from evenhand.core.encoding import decode, encode
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.message import Reply
from evenhand.core.record import Record
from evenhand.providers.chat import ChatProvider, Shape

_NEVER = frozenset[str]()
_SCHEMA = frozenset({"json_schema"})


class OutputRule(Record, frozen=True):
    """When an output is an object.

    Attributes:
        parsed: The types of format in which text that is JSON becomes what it says.
        setting: The key of a provider's config that holds the format.
        beside: What the output is where text stands beside tool calls: the whole message, the calls, or the text.
        functions: Whether `function_call`, the older form of a call, stands beside text as one.
    """

    parsed: frozenset[str] = _NEVER
    setting: str = "response_format"
    beside: Literal["message", "calls", "text"] = "message"
    functions: bool = True

    def read(self, text: object, config: Mapping[str, Any]) -> object:
        """What a text says in JSON, where its format has that read; else the text."""
        if (
            isinstance(text, str)
            and as_mapping(config.get(self.setting)).get("type") in self.parsed
        ):
            try:
                return decode(text)
            except ValueError:
                pass
        return text


RULES: Mapping[str, OutputRule] = {
    "openai": OutputRule(_SCHEMA),
    "openai/azure": OutputRule(_SCHEMA | {"json_object"}, beside="text"),
    "openai/localai": OutputRule(beside="text"),
    "openai/mistral": OutputRule(functions=False),
    "openai/openrouter": OutputRule(_SCHEMA, beside="calls"),
    "responses": OutputRule(_SCHEMA),
    "responses/azure": OutputRule(),
    "anthropic": OutputRule(_SCHEMA, "output_format"),
    "google": OutputRule(),
    "ollama": OutputRule(),
}
"""The rule of each API, and of the vendors who have one of their own for it."""


def shape_of(provider: ChatProvider) -> Shape | None:
    """What makes the outputs of a model those of promptfoo; None for one whose outputs are that already."""
    dialect = provider.dialect
    api = dialect.tools or ("ollama" if dialect.vendor == "ollama" and dialect.chats else "")
    if not api or "generate" not in dialect.tasks:
        return None
    # Two prefixes of promptfoo stand for Azure.
    vendor = provider.id.partition(":")[0].replace("azureopenai", "azure")
    rule, output = RULES.get(f"{api}/{vendor}", RULES[api]), _OUTPUTS[api]

    def shape(reply: Reply, body: bytes, config: Mapping[str, Any]) -> Reply:
        if reply.refused:
            return reply
        if output is _of_chat and not reply.tool_calls:  # all there is to it has been read
            shaped = rule.read(reply.text, config)
        else:
            shaped = output(rule, reply, as_mapping(decode(body)), config)
        return replace(reply, output=shaped, text=shaped if isinstance(shaped, str) else reply.text)

    return shape


def _of_chat(
    rule: OutputRule, reply: Reply, answer: Mapping[str, Any], config: Mapping[str, Any]
) -> object:
    message = as_mapping(as_mapping(as_array(answer.get("choices"))[0]).get("message"))
    calls = message.get("function_call") or message.get("tool_calls")
    if not calls:
        return rule.read(reply.text, config)
    text: object = message.get("content")
    if rule.beside == "text":
        return calls if text is None else rule.read(text, config)
    if rule.beside == "calls":
        output = rule.read(text, config)
        return calls if output is text else output
    if not text:
        return calls
    whole = rule.functions or message.get("tool_calls")
    return message if whole and not message.get("reasoning") else rule.read(text, config)


def _of_responses(
    rule: OutputRule, _reply: Reply, answer: Mapping[str, Any], config: Mapping[str, Any]
) -> object:
    lines = [_item(item) for item in map(as_mapping, as_array(answer.get("output")))]
    return rule.read("\n".join(filter(None, lines)), config)


def _item(item: Mapping[str, Any]) -> str:
    """A line for an item of an answer; empty for one of which promptfoo shows nothing."""
    form = _ITEMS.get(str(item.get("type")))
    return form(item) if form is not None else ""


def _said(item: Mapping[str, Any]) -> str:
    parts = map(as_mapping, as_array(item.get("content")))
    return "".join(_js(part, "text") for part in parts if part.get("type") == "output_text")


def _called(item: Mapping[str, Any]) -> str:
    # promptfoo shows this note in place of a call without arguments, word for word.
    if item.get("arguments") == "{}" and item.get("status") == "completed":
        item = {
            "type": "function_call",
            "name": item.get("name"),
            "status": "no_arguments_provided",
            "note": "Function called but no arguments were extracted. Consider using the correct Responses API tool "
            "format.",
        }
    return _json(item)


def _searched(item: Mapping[str, Any]) -> str:
    action = as_mapping(item.get("action"))
    if not action:
        line = f"Web Search Call (status: {item.get('status') or 'unknown'})"
    else:
        line = {
            "search": f'Web Search: "{_js(action, "query")}"',
            "open_page": f"Opening page: {_js(action, 'url')}",
            "find_in_page": f'Finding in page: "{_js(action, "query")}"',
        }.get(str(action.get("type")), f"Web action: {_js(action, 'type')}")
    return _failed(item, line)


def _failed(item: Mapping[str, Any], line: str) -> str:
    if item.get("status") == "failed" and item.get("error"):
        return f"{line} (Error: {_js(item, 'error')})"
    return line


def _mcp_called(item: Mapping[str, Any]) -> str:
    if item.get("error"):
        return f"MCP Tool Error ({_js(item, 'name')}): {_js(item, 'error')}"
    return f"MCP Tool Result ({_js(item, 'name')}): {_js(item, 'output')}"


def _mcp_listed(item: Mapping[str, Any]) -> str:
    tools = json.dumps(item.get("tools"), ensure_ascii=False, indent=2)
    return f"MCP Tools from {_js(item, 'server_label')}: {tools}"


def _mcp_asks(item: Mapping[str, Any]) -> str:
    tool = f"{_js(item, 'server_label')}.{_js(item, 'name')}"
    return f"MCP Approval Required for {tool}: {_js(item, 'arguments')}"


def _reasoned(item: Mapping[str, Any]) -> str:
    steps = list(map(as_mapping, as_array(item.get("summary"))))
    return "Reasoning: " + "\n".join(str(step.get("text") or "") for step in steps) if steps else ""


def _json(value: object) -> str:
    return encode(value, ordered=False).decode()


_ITEMS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "message": _said,
    "function_call": _called,
    "tool_result": _json,
    "reasoning": _reasoned,
    "web_search_call": _searched,
    "code_interpreter_call": lambda item: _failed(
        item, f"Code Interpreter: {item.get('code') or 'Running code...'}"
    ),
    "mcp_call": _mcp_called,
    "mcp_list_tools": _mcp_listed,
    "mcp_approval_request": _mcp_asks,
}


def _of_anthropic(
    rule: OutputRule, _reply: Reply, answer: Mapping[str, Any], config: Mapping[str, Any]
) -> object:
    blocks = list(map(as_mapping, as_array(answer.get("content"))))
    kinds = {block.get("type") for block in blocks}
    if not kinds & {"tool_use", *_THOUGHTS}:
        return rule.read("\n\n".join(str(block.get("text") or "") for block in blocks), config)
    parts = [
        str(block.get("text") or "") if block.get("type") == "text" else _json(block)
        for block in blocks
        if block.get("type") not in _THOUGHTS
    ]
    text = "\n\n".join(filter(None, parts))
    if kinds & _THOUGHTS and config.get("showThinking", True):
        return text  # what it thought goes before it, so that all of it is no JSON
    return rule.read(text, config)


_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def _of_google(
    _rule: OutputRule, reply: Reply, answer: Mapping[str, Any], _config: Mapping[str, Any]
) -> object:
    candidate = as_mapping(next(iter(as_array(answer.get("candidates"))), None))
    parts = as_array(as_mapping(candidate.get("content")).get("parts"))
    return reply.output if all("text" in as_mapping(part) for part in parts) else parts


def _of_ollama(
    _rule: OutputRule, reply: Reply, answer: Mapping[str, Any], _config: Mapping[str, Any]
) -> object:
    if not reply.tool_calls:
        return reply.output
    message = as_mapping(answer.get("message"))
    functions = [
        as_mapping(as_mapping(call).get("function")) for call in as_array(message.get("tool_calls"))
    ]
    calls = [
        # Ollama sends arguments as an object; promptfoo shows them as JSON text.
        {"function": {"name": one.get("name"), "arguments": _as_text(one.get("arguments"))}}
        for one in functions
    ]
    text = str(message.get("content") or "")
    return {"content": text, "tool_calls": calls} if text.strip() else calls


_OUTPUTS: Mapping[
    str, Callable[[OutputRule, Reply, Mapping[str, Any], Mapping[str, Any]], object]
] = {
    "openai": _of_chat,
    "responses": _of_responses,
    "anthropic": _of_anthropic,
    "google": _of_google,
    "ollama": _of_ollama,
}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _js(fields: Mapping[str, Any], key: str) -> str:
    """A field as JavaScript writes it into a text."""
    value = fields.get(key)
    if value is None:
        return "null" if key in fields else "undefined"
    return _as_text(value)
