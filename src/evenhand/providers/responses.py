"""OpenAI's responses API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.encoding import decoded, encode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_array, as_mapping, is_object
from evenhand.core.message import Message, Reply, ToolCall
from evenhand.core.provider import Price
from evenhand.core.record import Record
from evenhand.providers.answer_text import answer_text, ending, unfinished
from evenhand.providers.chat import Dialect, counted, passed_on, rates
from evenhand.providers.embeddings import looked_up
from evenhand.providers.message_forms import (
    Row,
    called_names,
    calls_of,
    is_tool_result,
    part_of,
    plain_media,
    result_name,
    rows_of,
    says_something,
)
from evenhand.providers.prices import cost

_REASONING = re.compile(r"^(o\d|gpt-[5-9]|gpt-\d\d)")
_NAMES = (
    "top_p tools tool_choice parallel_tool_calls reasoning instructions previous_response_id store metadata user "
    "truncation include service_tier text max_tool_calls background prompt".split()
)
_OF_MESSAGES = ("type", "role", "content", "parts", "id", "status", "phase", "tool_calls")


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    if len(messages) == 1 and messages[0].role == "user" and not messages[0].items:
        only = messages[0].content
        if isinstance(only, str):
            return {"input": only}
    rows, settings = rows_of(messages, "OpenAI's responses API", "input", ("instructions",))
    names = called_names(rows)
    items = [item for row in rows for item in _items(row, names)]
    return {"input": items, **settings}


def _items(row: Row, names: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """A message in this API's items; what is one already goes as it is."""
    fields = row.fields
    if (
        "role" not in fields
        and "parts" not in fields
        and fields.get("type") not in (None, "message")
    ):
        return [fields]
    if is_tool_result(row):
        row.only("role", "content", "tool_call_id", "name")
        result_name(row, names)
        id_ = str(fields.get("tool_call_id") or "")
        content = row.content
        output = content if isinstance(content, str) else _content(row, "input_text")
        return [{"type": "function_call_output", "call_id": id_, "output": output}]
    row.only(*_OF_MESSAGES)
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.text}
        for call in calls_of(row)
    ]
    if says_something(row.content) or (row.content == "" and not calls):
        return [_message(row), *calls]
    if not calls:
        raise row.says_nothing()
    return [*calls]


def _message(row: Row) -> Mapping[str, Any]:
    """This API has names of its own for what a user sends."""
    role = "assistant" if row.role == "model" else row.role
    content = row.content
    kind = "output_text" if role == "assistant" else "input_text"
    words = content if isinstance(content, str) else _content(row, kind)
    own = {k: v for k, v in row.fields.items() if k in ("type", "id", "status", "phase")}
    return {**own, "role": role, "content": words}


_FOREIGN = frozenset({"text", "image_url", "file", "image", "document", "tool_use", "tool_result"})


def _content(row: Row, kind: str) -> list[object]:
    return [_part(block, row, kind) for block in row.blocks]


def _part(block: object, row: Row, text: str) -> object:
    fields = as_mapping(block)
    if fields.get("type") is not None and fields["type"] not in _FOREIGN:
        return block
    part = part_of(block, row)
    if isinstance(part, str):
        return {"type": text, "text": part}
    if part.kind == "image":
        more = plain_media(part, row, "detail", "file_id").more
        here = {"image_url": part.data_url} if part.data_url else {}
        return {"type": "input_image", **here, **more}
    more = plain_media(part, row, "file_id").more
    if part.kind == "audio" and part.data:
        sound = {"data": part.data, "format": part.mime.partition("/")[2]}
        return {"type": "input_audio", "input_audio": sound}
    named = {"filename": part.name} if part.name else {}
    if part.url:
        return {"type": "input_file", **named, "file_url": part.url, **more}
    named = named or ({"filename": "file.pdf"} if part.data else {})
    here = {"file_data": part.data_url} if part.data else {}
    return {"type": "input_file", **named, **here, **more}


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
    body.update(passed_on(config, _NAMES))
    if config.get("reasoning_effort"):
        body["reasoning"] = {
            "effort": config["reasoning_effort"],
            **as_mapping(body.get("reasoning")),
        }
    shape = as_mapping(config.get("response_format"))
    if shape:
        body["text"] = {"format": _format(shape), **as_mapping(config.get("text"))}
    if config.get("verbosity"):
        body["text"] = {**as_mapping(body.get("text")), "verbosity": config["verbosity"]}
    body.update(config.get("passthrough") or {})
    return body


def _format(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    """A response format as chat has it, in the shape of this API."""
    inner = as_mapping(shape.get("json_schema"))
    if not inner:
        return shape
    return {"type": "json_schema", "name": "response", **inner}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    answer, listing = looked_up(body, lambda answer: answer["output"], "output")
    if not isinstance(listing, list):
        raise BadReply(f"the reply holds no output: {answer!r:.300}", billed=None)
    reason = ended(answer)
    items = said_in(answer, reason)
    answer_text = "\n".join(text for text in items.lines if text)
    usage = counted(answer, "input_tokens", "output_tokens", "input_tokens_details.cached_tokens")
    output = decoded(answer_text, answer_text) if parsed and answer_text else answer_text
    return Reply(
        text=items.refusal or answer_text,
        output=items.refusal or output,
        usage=usage,
        cost_usd=cost(price, usage),
        model=str(answer.get("model") or ""),
        finish_reason=reason or ("tool_calls" if items.tools else "stop"),
        refused=bool(items.refusal) or reason == "content_filter",
        tool_calls=items.tools,
        spoken=items.refusal or "\n".join(text for text in items.texts if text),
        items=tuple(filter(None, map(as_mapping, as_array(listing)))) if items.tools else (),
    )


class Items(Record, frozen=True):
    """What the items of an output come to.

    Attributes:
        texts: What was said, message by message.
        lines: The same with what was thought and the calls that were asked for, in their order.
        tools: The tools asked for.
        calls: The items that ask for them.
        refusal: The words of a refusal; empty for none.
    """

    texts: Sequence[str]
    lines: Sequence[str]
    tools: tuple[ToolCall, ...]
    calls: Sequence[Mapping[str, Any]]
    refusal: str


def said_in(answer: Mapping[str, Any], reason: str) -> Items:
    """What a model said, and the tools that it asked for.

    Args:
        answer: The answer's JSON.
        reason: See `ended`.

    Raises:
        NoAnswer: It said nothing, asked for nothing, and was neither cut off nor held back.
    """
    texts: list[str] = []
    lines: list[str] = []
    calls: list[Mapping[str, Any]] = []
    refusal, beside = "", ""
    for item in map(as_mapping, as_array(answer.get("output"))):
        kind = str(item.get("type"))
        if kind == "message" or kind in _NAMED:
            _check_whole(item, reason)
        if kind == "message":
            parts = [as_mapping(part) for part in as_array(item.get("content"))]
            words = [part.get("text") for part in parts if part.get("type") == "output_text"]
            spoken = [word for word in words if isinstance(word, str)]
            refusal = next((str(part["refusal"]) for part in parts if part.get("refusal")), refusal)
            if spoken:
                texts.append("".join(spoken))
                lines.append(texts[-1])
            others = [str(p.get("type")) for p in parts if p.get("type") not in _SAID]
            beside = beside or next(iter(others), "")
        elif kind in _ASKED and (item.get("name") or kind not in _NAMED):
            calls.append(item)
            lines.append(encode(item, ordered=False).decode())
        else:
            beside = beside or kind
            if kind == "reasoning" and item.get("summary"):
                steps = (as_mapping(step).get("text") for step in as_array(item["summary"]))
                lines.append("Reasoning: " + "\n".join(str(step or "") for step in steps))
    if not (calls or refusal):
        answer_text("".join(texts) if texts else None, reason, "output", beside)
    return Items(texts, lines, tuple(_tool(call) for call in calls), calls, refusal)


_SAID = ("output_text", "refusal")
_NAMED = frozenset({"function_call", "custom_tool_call"})
_ASKED = _NAMED | {
    "apply_patch_call",
    "computer_call",
    "local_shell_call",
    "mcp_approval_request",
    "shell_call",
}
"""Items that ask the caller to do something; what the vendor does by itself is a step on the way to an answer."""


def ended(answer: Mapping[str, Any]) -> str:
    """Why an answer stops short, as `length` or `content_filter`; empty where it is whole.

    Raises:
        NoAnswer: The vendor didn't finish it, or is still at it.
    """
    status, error = answer.get("status") or "completed", answer.get("error")
    why = as_mapping(answer.get("incomplete_details")).get("reason")
    if status not in ("completed", "incomplete") or (status == "incomplete" and not why):
        raise unfinished(status, error)
    reason = ending(why, error)
    if reason in ("stop", "tool_calls"):  # which no incomplete answer ends with
        raise unfinished(why)
    return reason


def _check_whole(item: Mapping[str, Any], reason: str) -> None:
    """Refuses a message or a call that isn't finished, unless the whole answer is cut off or held back."""
    status = item.get("status") or "completed"
    if status != "completed" and not (status == "incomplete" and reason):
        raise unfinished(status)


def _tool(item: Mapping[str, Any]) -> ToolCall:
    id_ = str(item.get("call_id") or "")
    if item.get("type") == "custom_tool_call":
        return ToolCall(str(item.get("name")), {"input": item.get("input")}, id_)
    arguments = decoded(str(item.get("arguments") or ""))
    return ToolCall(
        str(item.get("name") or item.get("type")), arguments if is_object(arguments) else None, id_
    )


DIALECT = Dialect(
    vendor="openai",
    messages=_messages,
    settings=_settings,
    read=_read,
    limits=("max_output_tokens",),
    tools="responses",
    rates=rates,
)
