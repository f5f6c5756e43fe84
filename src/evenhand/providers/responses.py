"""OpenAI's responses API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import BadReply
from evenhand.core.message import Message, Reply, ToolCall
from evenhand.core.provider import Price
from evenhand.providers.chat import Dialect, passed_on
from evenhand.providers.embeddings import looked_up
from evenhand.providers.openai import bearer, rates
from evenhand.providers.prices import cost
from evenhand.providers.usage import counted, mapping

_REASONING = re.compile(r"^(o\d|gpt-[5-9]|gpt-\d\d)")
_NAMES = (
    "top_p tools tool_choice parallel_tool_calls reasoning instructions previous_response_id store metadata user "
    "truncation include service_tier text max_tool_calls background prompt".split()
)


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    if len(messages) == 1 and messages[0].role == "user" and isinstance(messages[0].content, str):
        return {"input": messages[0].content}
    return {"input": [{"role": m.role, "content": _content(m)} for m in messages]}


def _content(message: Message) -> object:
    """This API has names of its own for what a user sends."""
    if isinstance(message.content, str):
        return message.content
    said = "output_text" if message.role == "assistant" else "input_text"
    parts: list[object] = []
    for part in message.content:
        if part.get("type") == "text":
            parts.append({"type": said, "text": part.get("text", "")})
        elif part.get("type") == "image_url":
            parts.append(
                {"type": "input_image", "image_url": mapping(part["image_url"]).get("url")}
            )
        else:
            parts.append(part)
    return parts


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model}
    plain = not _REASONING.match(model)
    longest = config.get("max_output_tokens") or (
        config.get("max_tokens") if plain else config.get("max_completion_tokens")
    )
    if longest or (plain and not config.get("omitDefaults")):
        body["max_output_tokens"] = longest or 1024
    temperature = config.get("temperature", None if config.get("omitDefaults") else 0)
    if plain and temperature is not None:
        body["temperature"] = temperature
    body.update(passed_on(config, {name: name for name in _NAMES}))
    if config.get("reasoning_effort"):
        body["reasoning"] = {"effort": config["reasoning_effort"], **mapping(body.get("reasoning"))}
    wanted = mapping(config.get("response_format"))
    if wanted:
        body["text"] = {"format": _format(wanted), **mapping(config.get("text"))}
    if config.get("verbosity"):
        body["text"] = {**mapping(body.get("text")), "verbosity": config["verbosity"]}
    body.update(config.get("passthrough") or {})
    return body


def _format(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """A response format as chat has it, in the shape of this API."""
    inner = mapping(wanted.get("json_schema"))
    if not inner:
        return wanted
    return {"type": "json_schema", "name": "response", **inner}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    answer, found = looked_up(body, lambda answer: answer["output"], "output")
    if not isinstance(found, list):
        raise BadReply(f"the reply holds no output: {answer!r:.300}", billed=None)
    text, tools, refusal = _said(found)
    usage = counted(answer, "input_tokens", "output_tokens", "input_tokens_details.cached_tokens")
    cut = mapping(answer.get("incomplete_details")).get("reason")
    output: object = text
    if parsed and text:
        try:
            output = decode(text)
        except ValueError:
            output = text
    return Reply(
        text=refusal or text,
        output=refusal or output,
        usage=usage,
        cost_usd=cost(price, usage),
        model=str(answer.get("model") or ""),
        finish_reason={"max_output_tokens": "length", "content_filter": "content_filter"}.get(
            str(cut), "tool_calls" if tools else "stop"
        ),
        refused=bool(refusal) or cut == "content_filter",
        tool_calls=tools,
    )


def _said(items: Sequence[object]) -> tuple[str, tuple[ToolCall, ...], str]:
    """What the items of an output come to: text, tools asked for, and the words of a refusal."""
    texts: list[str] = []
    tools: list[ToolCall] = []
    refusal = ""
    for item in map(mapping, items):
        if item.get("type") == "message":
            parts = [mapping(part) for part in item.get("content") or ()]
            said = "".join(
                str(p.get("text") or "") for p in parts if p.get("type") == "output_text"
            )
            refusal = next((str(p["refusal"]) for p in parts if p.get("refusal")), refusal)
            texts.append(said)
        elif item.get("type") == "function_call":
            tools.append(_tool(item))
            texts.append(encode(item).decode())
        elif item.get("type") == "reasoning" and item.get("summary"):
            summary = "\n".join(str(mapping(s).get("text") or "") for s in item["summary"])
            texts.append(f"Reasoning: {summary}")
    return "\n".join(text for text in texts if text), tuple(tools), refusal


def _tool(item: Mapping[str, Any]) -> ToolCall:
    arguments: object = None
    try:
        arguments = decode(str(item.get("arguments") or ""))
    except ValueError:
        arguments = None
    return ToolCall(
        str(item.get("name") or ""),
        mapping(arguments) if isinstance(arguments, dict) else None,
        str(item.get("call_id") or ""),
    )


DIALECT = Dialect(
    vendor="openai",
    version="",
    headers=bearer,
    messages=_messages,
    settings=_settings,
    read=_read,
    limits=("max_output_tokens",),
    rates=rates,
)
