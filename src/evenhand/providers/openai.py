"""OpenAI's chat completions, and every server that speaks the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import BadReply
from evenhand.core.message import Message, Reply, ToolCall, Usage
from evenhand.core.provider import Price, RateLimits
from evenhand.providers.chat import Dialect, count, finish, passed_on, read_as
from evenhand.providers.prices import cost
from evenhand.providers.retry_after import duration
from evenhand.providers.structured import RARE, fitted, is_strict

_REASONING = re.compile(r"^(o\d|gpt-5)")

_NAMES = {
    "top_p": "top_p",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "stop": "stop",
    "seed": "seed",
    "response_format": "response_format",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "functions": "functions",
    "function_call": "function_call",
    "logprobs": "logprobs",
    "top_logprobs": "top_logprobs",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning_effort": "reasoning_effort",
    "verbosity": "verbosity",
    "prediction": "prediction",
    "store": "store",
    "metadata": "metadata",
    "user": "user",
    "max_completion_tokens": "max_completion_tokens",
    "service_tier": "service_tier",
}


def bearer(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    """The headers that say who asks."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    if config.get("organization"):
        headers["openai-organization"] = str(config["organization"])
    return headers


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    return {"messages": [{"role": m.role, "content": m.content} for m in messages]}


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model}
    reasoning = bool(_REASONING.match(model)) or bool(config.get("isReasoningModel"))
    defaults: dict[str, Any] = (
        {} if reasoning or config.get("omitDefaults") else {"temperature": 0, "max_tokens": 1024}
    )
    for name, default in {"temperature": None, "max_tokens": None, **defaults}.items():
        value = config.get(name, default)
        if value is not None and not reasoning:  # these models refuse both
            body[name] = value
    if reasoning and config.get("max_tokens") and not config.get("max_completion_tokens"):
        body["max_completion_tokens"] = config["max_tokens"]
    body.update(passed_on(config, _NAMES))
    body.update(config.get("passthrough") or {})
    return body


def _structured(
    schema: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[str, object] | None:
    if "response_format" in settings:
        return None
    sent = fitted(schema, RARE)
    form = {"name": "answer", "strict": is_strict(sent), "schema": sent}
    return "response_format", {"type": "json_schema", "json_schema": form}


class _Details(msgspec.Struct):
    cached_tokens: float | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    prompt_tokens_details: _Details | None = None


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Tool(msgspec.Struct):
    id: str | None = None
    type: str | None = None
    function: _Function | None = None


class _Message(msgspec.Struct):
    content: Any = None
    refusal: str | None = None
    tool_calls: list[_Tool] | None = None
    function_call: _Function | None = None


class _Token(msgspec.Struct):
    logprob: float = 0.0


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Completion)


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    completion = read_as(_Completion, _decoder, body, "a chat completion")
    choice = completion.choices[0] if completion.choices else None
    if choice is None or choice.message is None:
        why = encode(completion.error).decode()[:300] if completion.error else "it has no choices"
        raise BadReply(f"the reply holds no message: {why}", billed=None)
    message = choice.message
    text = _text(message.content)
    tools = _tools(message)
    output: object = text
    if tools:
        raw = _raw_message(body)
        calls = raw.get("tool_calls") or raw.get("function_call")
        output = raw if text else calls
        text = text or encode(calls).decode()
    elif message.refusal and not text:
        output = text = message.refusal
    elif parsed and text:
        try:
            output = decode(text)
        except ValueError:
            output = text  # cut off or not what was promised: the scorers see the text
    usage = completion.usage or _Usage()
    details = usage.prompt_tokens_details
    tokens = Usage(
        count(usage.prompt_tokens),
        count(usage.completion_tokens),
        count(details.cached_tokens if details else None),
    )
    logprobs = choice.logprobs.content if choice.logprobs else None
    return Reply(
        text=text,
        output=output,
        usage=tokens,
        cost_usd=cost(price, tokens),
        model=completion.model or "",
        finish_reason=finish(choice.finish_reason),
        refused=bool(message.refusal) or choice.finish_reason == "content_filter",
        tool_calls=tools,
        logprobs=tuple(t.logprob for t in logprobs) if logprobs else None,
    )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # some servers answer in parts
        parts = cast("list[object]", content)
        return "".join(
            str(cast("dict[str, object]", p).get("text") or "")
            for p in parts
            if isinstance(p, dict)
        )
    return ""


def _tools(message: _Message) -> tuple[ToolCall, ...]:
    found = [
        ToolCall(tool.function.name or "", _arguments(tool.function.arguments), tool.id or "")
        for tool in message.tool_calls or ()
        if tool.function is not None
    ]
    if message.function_call is not None:
        found.append(
            ToolCall(message.function_call.name or "", _arguments(message.function_call.arguments))
        )
    return tuple(found)


def _arguments(value: object) -> Mapping[str, Any] | None:
    if isinstance(value, str):
        try:
            value = decode(value)
        except ValueError:
            return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _raw_message(body: bytes) -> dict[str, Any]:
    return cast("dict[str, Any]", cast("dict[str, Any]", decode(body))["choices"][0]["message"])


def _thought(body: bytes) -> str:
    """What it thought, where a server shows it."""
    message = _raw_message(body)
    said = message.get("reasoning") or message.get("reasoning_content")
    return f"Thinking: {said}" if isinstance(said, str) and said else ""


def rates(headers: Mapping[str, str], now: float) -> RateLimits | None:
    """What the headers of an answer say of the account's limits."""
    del now  # these headers count seconds, not dates
    remaining = headers.get("x-ratelimit-remaining-requests")
    tokens = headers.get("x-ratelimit-remaining-tokens")
    if remaining is None and tokens is None:
        return None
    return RateLimits(
        requests_limit=duration(headers.get("x-ratelimit-limit-requests", "")),
        requests_remaining=duration(remaining or ""),
        requests_reset_s=duration(headers.get("x-ratelimit-reset-requests", "")),
        tokens_limit=duration(headers.get("x-ratelimit-limit-tokens", "")),
        tokens_remaining=duration(tokens or ""),
        tokens_reset_s=duration(headers.get("x-ratelimit-reset-tokens", "")),
    )


DIALECT = Dialect(
    vendor="openai",
    version="",
    headers=bearer,
    messages=_messages,
    settings=_settings,
    structured=_structured,
    read=_read,
    limits=("max_tokens", "max_completion_tokens"),
    rates=rates,
    thought=_thought,
)
