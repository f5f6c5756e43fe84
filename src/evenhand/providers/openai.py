"""OpenAI's chat completions, and every server that speaks the same; plain completions; moderation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from evenhand.core.encoding import decode, decoded, encode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_object
from evenhand.core.message import Message, Reply, Task, ToolCall, Usage
from evenhand.core.provider import Price
from evenhand.providers.answer_text import NoAnswer, answer_text, besides, ending
from evenhand.providers.chat import Dialect, counted, passed_on, rates, read_as
from evenhand.providers.embeddings import input_text, looked_up, prompt_body
from evenhand.providers.message_forms import (
    Row,
    no_words_for,
    part_of,
    plain_media,
    rows_of,
    says_something,
)
from evenhand.providers.prices import cost
from evenhand.providers.structured import RARE, fitted, is_strict

_REASONING = re.compile(r"^(o\d|gpt-5)")

_NAMES = (
    "top_p presence_penalty frequency_penalty stop seed response_format tools tool_choice functions function_call "
    "logprobs top_logprobs parallel_tool_calls reasoning_effort verbosity prediction store metadata user "
    "max_completion_tokens service_tier".split()
)


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    """A message goes as it is written: servers that speak this API have keys and parts of their own."""
    rows, settings = rows_of(messages, "OpenAI's chat API", "messages")
    return {"messages": [_said(row) for row in rows], **settings}


# What may be all that a message says.
_BESIDE_CONTENT = "tool_calls function_call refusal audio reasoning_content reasoning reasoning_details images".split()
_FOREIGN = frozenset({"input_text", "output_text", "input_image", "input_file"})
_BLOCKS_OF_ANTHROPIC = frozenset({"tool_use", "tool_result"})


def _said(row: Row) -> Mapping[str, Any]:
    fields, content = row.fields, row.content
    if not says_something(content) and not isinstance(content, str):
        if not any(says_something(fields.get(key)) for key in _BESIDE_CONTENT):
            raise row.says_nothing()
        return fields
    if "parts" in fields:  # Google's
        row.only("role", "parts")
        role = "assistant" if row.role == "model" else row.role
        return {"role": role, "content": [_block(part, row) for part in row.blocks]}
    if "role" not in fields:
        row.only("content")
    if isinstance(content, str):
        return fields
    return {**fields, "content": [_block(part, row) for part in row.blocks]}


def _block(block: object, row: Row) -> object:
    fields = as_mapping(block)
    kind = fields.get("type")
    foreign = kind in _FOREIGN or kind in _BLOCKS_OF_ANTHROPIC or "source" in fields
    if isinstance(block, str) or (kind is not None and not foreign):
        return block
    part = part_of(block, row)
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.kind == "image":
        more = plain_media(part, row, "detail").more
        return {"type": "image_url", "image_url": {"url": part.data_url, **more}}
    plain_media(part, row)
    if part.kind == "audio" and part.data:
        sound = {"data": part.data, "format": part.mime.partition("/")[2]}
        return {"type": "input_audio", "input_audio": sound}
    if part.url:
        raise no_words_for(part, row)
    file = {"filename": part.name or "file.pdf", "file_data": part.data_url}
    return {"type": "file", "file": file}


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


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Custom(msgspec.Struct):
    name: str | None = None
    input: Any = None


class _Tool(msgspec.Struct):
    id: str | None = None
    type: str | None = None
    function: _Function | None = None
    custom: _Custom | None = None


class _Message(msgspec.Struct):
    content: Any = None
    refusal: str | None = None
    tool_calls: list[_Tool] | None = None
    function_call: _Function | None = None
    audio: Any = None


class _Token(msgspec.Struct):
    logprob: float = 0.0


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Choice(msgspec.Struct):
    index: Any = None
    message: _Message | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    error: Any = None  # gateways put it here if the vendor behind them breaks off


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None  # counts that are none leave the answer as it is
    model: str | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Completion)


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    completion = read_as(_Completion, _decoder, body, "a chat completion")
    choices = completion.choices or []
    choice = choices[0] if choices else None
    if len(choices) > 1:
        choice = min(choices, key=lambda each: _place(each.index))
    if choice is None or choice.message is None:
        why = encode(completion.error).decode()[:300] if completion.error else "it has no choices"
        is_one = (
            completion.error or b'"choices"' in body
        )  # or else something that is no chat completion
        raise (NoAnswer if is_one else BadReply)(f"the reply holds no message: {why}", billed=None)
    message = choice.message
    reason = ending(choice.finish_reason, choice.error or completion.error)
    written, tools = _text(message), _tools(message)
    items: tuple[Mapping[str, Any], ...] = ()
    if tools:
        raw = _raw_message(body)
        known = {key: value for key, value in raw.items() if value is not None}
        items = ({"role": "assistant", "content": None, **known},)
        calls = raw.get("tool_calls") or raw.get("function_call")
        output: object = raw if written else calls
        text = written or encode(calls, ordered=False).decode()
    elif message.refusal and not written:
        output = text = message.refusal
    else:
        beside = "" if written and written.strip() else _besides(_raw_message(body))
        text = answer_text(written, reason, "message.content", beside)
        # Cut off or not what was promised, the scorers see the text.
        output = decoded(text, text) if parsed and text else text
    tokens = counted(
        completion.usage,
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details.cached_tokens",
        at="",
    )
    logprobs = choice.logprobs.content if choice.logprobs else None
    return Reply(
        text=text,
        output=output,
        usage=tokens,
        cost_usd=cost(price, tokens),
        model=completion.model or "",
        finish_reason=reason,
        refused=bool(message.refusal) or reason == "content_filter",
        tool_calls=tools,
        logprobs=tuple(t.logprob for t in logprobs) if logprobs else None,
        items=items,
    )


def _text(message: _Message) -> str | None:
    """The text of a message; None where it has none; raises BadReply."""
    content = message.content
    if isinstance(content, str):
        return content
    if is_array(content):  # some servers answer in parts
        listed = content
        parts = [as_mapping(part) for part in listed if isinstance(part, dict)]
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        if texts:
            return "".join(texts)
        if listed and not parts:
            raise _no_text(content)
    elif content is not None:
        raise _no_text(content)
    transcript = as_mapping(message.audio).get("transcript")
    return transcript if isinstance(transcript, str) else None


def _besides(message: Mapping[str, Any]) -> str:
    """What a message without text holds: what is no text among its parts counts as well."""
    content = message.get("content")
    kinds = [str(as_mapping(part).get("type")) for part in as_array(content)]
    other = [kind for kind in kinds if kind not in ("text", "output_text")]
    return other[0] if other else besides(message, "content", "role", "refusal")


def _no_text(content: object) -> NoAnswer:
    return NoAnswer(f"the reply's message.content is not text: {content!r:.200}", billed=None)


def _tools(message: _Message) -> tuple[ToolCall, ...]:
    """The tools asked for; none where not even one of them is named."""
    if not message.tool_calls and message.function_call is None:
        return ()
    calls: list[ToolCall] = []
    for tool in message.tool_calls or ():
        if tool.function is not None:
            arguments = _arguments(tool.function.arguments)
            calls.append(ToolCall(tool.function.name or "", arguments, tool.id or ""))
        elif tool.custom is not None:
            custom = {"input": tool.custom.input}
            calls.append(ToolCall(tool.custom.name or "", custom, tool.id or ""))
    if message.function_call is not None:
        calls.append(
            ToolCall(message.function_call.name or "", _arguments(message.function_call.arguments))
        )
    return tuple(calls) if any(tool.name for tool in calls) else ()


def _arguments(value: object) -> Mapping[str, Any] | None:
    value = decoded(value) if isinstance(value, str) else value
    return value if is_object(value) else None


def _raw_message(body: bytes) -> dict[str, Any]:
    choices = cast("list[dict[str, Any]]", cast("dict[str, Any]", decode(body))["choices"])
    return cast(
        "dict[str, Any]", min(choices, key=lambda each: _place(each.get("index")))["message"]
    )


def _place(index: object) -> int:
    """The place of a choice, in whichever order they come; servers may leave it out."""
    return index if isinstance(index, int) else 0


def _thought(body: bytes) -> str:
    """The thoughts of the model, where a server shows them."""
    # `reasoning_tokens` are counted in most answers.
    if body.find(b'"reasoning"') < 0 and body.find(b'"reasoning_content"') < 0:
        return ""
    message = _raw_message(body)
    thought = message.get("reasoning") or message.get("reasoning_content")
    return f"Thinking: {thought}" if isinstance(thought, str) and thought else ""


DIALECT = Dialect(
    vendor="openai",
    messages=_messages,
    settings=_settings,
    structured=_structured,
    read=_read,
    limits=("max_tokens", "max_completion_tokens"),
    rates=rates,
    tools="openai",
    thought=_thought,
)


_OF_COMPLETIONS = "max_tokens temperature top_p presence_penalty frequency_penalty best_of stop seed suffix".split()


def _completion_settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {} if config.get("omitDefaults") else {"max_tokens": 1024, "temperature": 0}
    own = passed_on(config, _OF_COMPLETIONS)
    return {"model": model, **defaults, **own, **(config.get("passthrough") or {})}


def _read_completion(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed
    answer, first = looked_up(body, lambda answer: answer["choices"][0], "completion")
    choice = as_mapping(first)
    usage = counted(answer, "prompt_tokens", "completion_tokens")
    reason = ending(choice.get("finish_reason"), choice.get("error") or answer.get("error"))
    written = choice.get("text")
    text = answer_text(
        written if isinstance(written, str) else None,
        reason,
        "choices[0].text",
        besides(choice, "text", "message"),
    )
    return Reply(
        text=text,
        output=text,
        usage=usage,
        cost_usd=cost(price, usage),
        model=str(answer.get("model") or ""),
        finish_reason=reason,
        refused=reason == "content_filter",
    )


COMPLETION = Dialect(
    vendor="openai",
    messages=prompt_body,
    settings=_completion_settings,
    read=_read_completion,
    limits=("max_tokens",),
    rates=rates,
    chats=False,
)


MODERATES: frozenset[Task] = frozenset({"moderate"})
"""The tasks of a model that moderates and does nothing else."""


def _moderation_settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": model, **(config.get("passthrough") or {})}


def _read_moderation(body: bytes, parsed: bool, price: Price | None) -> Reply:
    """Reads a verdict on a text. Moderation is charged for by the text, or not at all: tokens are not counted."""
    del parsed
    answer, first = looked_up(body, lambda answer: answer["results"][0], "moderation")
    result = as_mapping(first)
    flags, scores = result.get("categories"), result.get("category_scores")
    if not is_object(flags) or not is_object(scores):
        raise BadReply("the reply's moderation cannot be read", billed=None)
    flagged = {
        str(name): _how_sure(scores.get(name)) for name, flag in flags.items() if flag is True
    }
    return Reply(
        text="",
        output=flagged,
        usage=Usage(),
        cost_usd=0.0 if price is not None and price.usd_in == 0 else None,
        model=str(answer.get("model") or ""),
    )


def _how_sure(value: object) -> float:
    """How sure it is; a category that is flagged without a number counts whole."""
    return float(value) if type(value) in (int, float) else 1.0  # pyright: ignore[reportArgumentType]


MODERATION = Dialect(
    vendor="openai",
    messages=input_text,
    settings=_moderation_settings,
    read=_read_moderation,
    rates=rates,
    chats=False,
    tasks=MODERATES,
)
