"""Anthropic's messages API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from evenhand.core.encoding import decode, decoded, encode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping, is_object, number
from evenhand.core.message import Message, Reply, ToolCall, Usage
from evenhand.core.provider import Price, RateLimits
from evenhand.providers.answer_text import answer_text, ending
from evenhand.providers.chat import ChatProvider, Dialect, chat_provider, passed_on, read_as
from evenhand.providers.message_forms import (
    SYSTEM_ROLES,
    Row,
    bare,
    called_names,
    calls_of,
    is_tool_result,
    no_words_for,
    part_of,
    plain_media,
    result_name,
    rows_of,
)
from evenhand.providers.prices import cost
from evenhand.providers.retry_after import duration, until
from evenhand.providers.structured import RARE, fitted
from evenhand.providers.wanted import Wanted

HOME = "https://api.anthropic.com"
VERSION = "2023-06-01"
# Models from here on answer a request that sets temperature with an error.
_NO_SAMPLING = re.compile(r"^claude-(opus-4-[7-9]|sonnet-5|opus-5|haiku-5|fable|mythos)")

_NAMES = "top_p top_k tools tool_choice thinking stop_sequences system output_config service_tier".split()


def make(wanted: Wanted) -> ChatProvider:
    """A model of Anthropic's, at `config.apiBaseUrl` or ANTHROPIC_BASE_URL where those are set."""
    model, config = wanted.rest.removeprefix("messages:"), wanted.config
    variable = str(config.get("apiKeyEnvar") or "ANTHROPIC_API_KEY")
    base = (wanted.setting("apiBaseUrl", "ANTHROPIC_BASE_URL") or HOME).rstrip("/")
    if not model or model == "messages":
        raise wanted.refused("names no model", "Write anthropic:messages:<model>.")
    if model in ("claude-agent-sdk", "claude-code"):
        raise wanted.refused(
            "is an agent, not a model", "Write agent:claude, which runs Claude Code."
        )
    return chat_provider(
        wanted,
        DIALECT,
        model=model,
        url=f"{base}/v1/messages" if not base.endswith("/v1") else f"{base}/messages",
        key=wanted.setting("apiKey", variable).strip(),
        key_variable=variable,
        vendor="anthropic",
        at_home=base == HOME,
    )


def _headers(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    headers = {"anthropic-version": VERSION}
    if key:
        headers["x-api-key"] = key
    if config.get("beta"):
        beta = config["beta"]
        headers["anthropic-beta"] = ",".join(beta) if isinstance(beta, list) else str(beta)  # pyright: ignore[reportUnknownArgumentType]
    return headers


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    """Leading system messages go where this API wants them; what tools returned is the user's to say."""
    rows, settings = rows_of(messages, "Claude", "messages", ("system",))
    names = called_names(rows)
    first = 0
    while first < len(rows) and rows[first].role in SYSTEM_ROLES:
        first += 1
    written: list[dict[str, Any]] = []
    results: list[Any] | None = None
    for row in rows[first:]:
        if is_tool_result(row):
            result_name(row, names)
            if results is None:
                results = []
                written.append({"role": "user", "content": results})
            results.append(_result(row))
        else:
            results = None
            written.append(_said(row))
    body: dict[str, Any] = {"messages": written}
    if first:
        body["system"] = _system(rows[:first])
    return {**body, **settings}


def _system(rows: Sequence[Row]) -> str | list[object]:
    """Words alone as one text; what says more than words, such as `cache_control`, block by block."""
    contents = [_content(row) for row in rows]
    blocks = [block for content in contents if not isinstance(content, str) for block in content]
    if all(set(as_mapping(block)) == {"type", "text"} for block in blocks):
        return "\n\n".join(map(_plain, contents))
    words = [[{"type": "text", "text": c}] if isinstance(c, str) else c for c in contents]
    return [block for content in words for block in content]


def _plain(content: str | Sequence[object]) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(as_mapping(block).get("text", "")) for block in content)


def _said(row: Row) -> dict[str, Any]:
    role = "assistant" if row.role == "model" else row.role
    calls = calls_of(row)
    if not calls:
        return {"role": role, "content": _content(row)}
    row.only("role", "content", "tool_calls")
    tool_uses = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
        for call in calls
    ]
    return {"role": role, "content": [*(_block(part, row) for part in row.blocks), *tool_uses]}


def _result(row: Row) -> dict[str, Any]:
    row.only("role", "content", "tool_call_id", "name")
    content = row.content
    words = content if isinstance(content, str) else [_block(part, row) for part in row.blocks]
    id_ = str(row.fields.get("tool_call_id") or "")
    return {"type": "tool_result", "tool_use_id": id_, "content": words}


def _content(row: Row) -> str | list[object]:
    row.only("role", "content", "parts")
    content = row.content
    if isinstance(content, str):
        return content
    if not content:
        raise row.says_nothing()
    return [_block(part, row) for part in row.blocks]


_FOREIGN = frozenset(
    {"image_url", "input_text", "output_text", "input_image", "input_audio", "input_file", "file"}
)


def _block(block: object, row: Row) -> object:
    """A part of a message in this API's form; what is in that form already goes as it is, with its data bare."""
    fields = as_mapping(block)
    kind = fields.get("type")
    if kind is not None and kind not in _FOREIGN:
        return _with_bare_data(fields)
    part = part_of(block, row)
    if isinstance(part, str):
        return {"type": "text", "text": part}
    plain_media(part, row)
    if part.kind == "audio":
        raise no_words_for(part, row)
    source: dict[str, str] = {"type": "base64", "media_type": part.mime, "data": part.data}
    if part.url:
        source = {"type": "url", "url": part.url}
    named = {"title": part.name} if part.name and part.kind == "file" else {}
    kind = "image" if part.kind == "image" else "document"
    return {"type": kind, "source": source, **named}


def _with_bare_data(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block whose data is base64 alone, as this API wants it: a variable with a picture is a data URL."""
    source = as_mapping(fields.get("source"))
    if source.get("type") == "base64" and "data" in source:
        return {**fields, "source": {**source, "data": bare(source["data"])}}
    inside = fields.get("content")
    if is_array(inside):  # a picture that a tool returned
        blocks = inside
        return {
            **fields,
            "content": [_with_bare_data(b) if (b := as_mapping(x)) else x for x in blocks],
        }
    return fields


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model, "max_tokens": config.get("max_tokens") or 1024}
    thinking = config.get("thinking")
    sampled = not _NO_SAMPLING.match(model) and not (
        isinstance(thinking, Mapping) and thinking.get("type") == "enabled"  # pyright: ignore[reportUnknownMemberType]
    )
    temperature = config.get("temperature", None if config.get("omitDefaults") else 0)
    if sampled and temperature is not None:
        body["temperature"] = temperature
    body.update(passed_on(config, _NAMES))
    body.update(config.get("extra_body") or config.get("passthrough") or {})
    return body


# Its grammar knows no bounds.
_REFUSED = RARE | {
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "pattern",
}


def _structured(
    schema: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[str, object] | None:
    configured: object = settings.get("output_config") or {}
    if not is_mapping(configured) or "format" in configured:
        return None
    form = {"type": "json_schema", "schema": fitted(schema, _REFUSED)}
    return "output_config", {**configured, "format": form}


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None


class _Answer(msgspec.Struct):
    content: list[_Block] | None = None
    usage: Any = None  # counts that are none leave the answer as it is
    model: str | None = None
    stop_reason: str | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Answer)


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    answer = read_as(_Answer, _decoder, body, "a message")
    if answer.content is None:
        why = encode(answer.error).decode()[:300] if answer.error else "it has no content"
        raise BadReply(f"the reply holds no message: {why}", billed=None)
    reason = ending(answer.stop_reason, answer.error)
    parts: list[str] = []
    tools: list[ToolCall] = []
    for block in answer.content:
        if block.type == "text" and block.text is not None:
            parts.append(block.text)
        elif block.type == "tool_use":
            arguments = block.input if is_object(block.input) else None
            tools.append(ToolCall(block.name or "", arguments, block.id or ""))
            raw = {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
            parts.append(encode(raw, ordered=False).decode())
    written = ("\n\n" if tools else "").join(parts) if parts else None
    spoken = any(block.type == "text" and block.text for block in answer.content)
    if tools and not spoken and not any(tool.name for tool in tools):
        written = None
    if not answer.content and answer.stop_reason == "stop_sequence":
        written = ""  # the text up to the sequence
    others = [block.type for block in answer.content if block.type != "text"]
    text = answer_text(written, reason, "content", others[0] if others else "")
    output: object = decoded(text, text) if parsed and text else text
    usage = as_mapping(answer.usage)
    fresh, cached = number(usage.get("input_tokens")), number(usage.get("cache_read_input_tokens"))
    created = number(usage.get("cache_creation_input_tokens"))
    total = None if fresh is None else fresh + (cached or 0) + (created or 0)
    tokens = Usage(total, number(usage.get("output_tokens")), cached)
    return Reply(
        text=text,
        output=output,
        usage=tokens,
        cost_usd=_cost(price, tokens, usage),
        model=answer.model or "",
        finish_reason=reason,
        refused=reason == "content_filter",
        tool_calls=tuple(tools),
        items=({"role": "assistant", "content": as_mapping(decode(body))["content"]},)
        if tools
        else (),
    )


def _cost(price: Price | None, tokens: Usage, usage: Mapping[str, Any]) -> float | None:
    """What an answer costs. What is written to the vendor's cache costs a quarter more; for an hour, twice."""
    total = cost(price, tokens)
    written = number(usage.get("cache_creation_input_tokens"))
    if price is None or total is None or not written:
        return total
    hour = number(as_mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    return (
        total + (0.25 * written + 0.75 * (hour or 0)) * price.at(tokens.tokens_in or 0).usd_in / 1e6
    )


def _thought(body: bytes) -> str:
    """The model's thoughts, block by block, each with the signature that says it is its own."""
    parts: list[str] = []
    for block in map(as_mapping, as_mapping(decode(body)).get("content") or ()):
        if block.get("type") == "thinking":
            parts.append(f"Thinking: {block.get('thinking')}\nSignature: {block.get('signature')}")
        elif block.get("type") == "redacted_thinking":
            parts.append(f"Redacted Thinking: {block.get('data')}")
    return "\n\n".join(parts)


def _rates(headers: Mapping[str, str], now: float) -> RateLimits | None:
    remaining = headers.get("anthropic-ratelimit-requests-remaining")
    tokens = headers.get("anthropic-ratelimit-input-tokens-remaining") or headers.get(
        "anthropic-ratelimit-tokens-remaining"
    )
    if remaining is None and tokens is None:
        return None
    date, here = headers.get("date", ""), datetime.fromtimestamp(now, UTC)
    return RateLimits(
        requests_limit=duration(headers.get("anthropic-ratelimit-requests-limit", "")),
        requests_remaining=duration(remaining or ""),
        requests_reset_s=until(headers.get("anthropic-ratelimit-requests-reset", ""), date, here),
        tokens_remaining=duration(tokens or ""),
        tokens_reset_s=until(
            headers.get("anthropic-ratelimit-input-tokens-reset", "")
            or headers.get("anthropic-ratelimit-tokens-reset", ""),
            date,
            here,
        ),
    )


DIALECT = Dialect(
    vendor="anthropic",
    version=VERSION,
    headers=_headers,
    messages=_messages,
    settings=_settings,
    structured=_structured,
    read=_read,
    limits=("max_tokens",),
    tools="anthropic",
    rates=_rates,
    thought=_thought,
)
