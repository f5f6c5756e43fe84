"""What was said to a model and what it said, in one form, however a dialect writes it.

A message is `{"role", "content", "tool_calls": [{"id", "name", "arguments"}], "tool_call_id"}`; what is empty is left
out. Thinking is left out, too: it is no part of what is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from evenhand.core.encoding import decode, encode
from evenhand.core.json_shapes import as_array, is_array, is_object
from evenhand.doors.spans.span import kept_value

Said = dict[str, Any]
"""A message."""

MOST_MESSAGES = 10_000
"""Messages of one call that are looked at."""
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
}
_SPEAKERS = frozenset({*_ROLES, "user", "assistant", "system", "tool"})
_THINKING = frozenset({"reasoning", "thinking", "redacted_thinking"})


def value_of(text: object) -> Any:
    """What JSON in a text says, where it is an object or a list; any other value as it is.

    >>> value_of('{"order": 1042}'), value_of("42"), value_of("{no JSON")
    ({'order': 1042}, '42', '{no JSON')
    """
    return json_of(text) if isinstance(text, str) and text.lstrip()[:1] in ("{", "[") else text


def json_of(text: object) -> Any:
    """What a text of JSON says, whatever it is; the text where it is none."""
    if isinstance(text, str):
        try:
            return kept_value(decode(text))
        except ValueError:
            return text
    return text


def is_cut(text: object) -> bool:
    """Whether the rest of an object or a list is missing, as where a program keeps so many characters of a text."""
    return (
        isinstance(text, str) and text.lstrip()[:1] in ("[", "{") and isinstance(json_of(text), str)
    )


def message(
    role: object, content: object = None, calls: Iterable[Said] = (), call_id: object = None
) -> Said:
    """A message."""
    word = role if isinstance(role, str) and role else "assistant"
    fields: Said = {"role": _ROLES.get(word, word)}
    if content not in (None, "", []):
        fields["content"] = content
    if tool_calls := list(calls):
        fields["tool_calls"] = tool_calls
    if isinstance(call_id, str) and call_id:
        fields["tool_call_id"] = call_id
    return fields


def call(name: object, arguments: object, call_id: object = None) -> Said:
    """A tool's call."""
    fields: Said = {"name": str(name or ""), "arguments": value_of(arguments)}
    return {"id": call_id, **fields} if isinstance(call_id, str) and call_id else fields


def messages_of(value: object, role: str = "user") -> list[Said]:
    """Messages that are written as JSON: a list of them, an object that has one, one alone, or a text.

    Those of OpenAI, Anthropic, LangChain (also dumped, or as pairs) and OpenTelemetry (`parts`) are understood.

    Args:
        value: The value, or JSON in a text.
        role: Who says what does not name its speaker.
    """
    value = value_of(value)
    if is_object(value):
        for key in ("messages", "choices", "generations"):
            if isinstance(inner := value.get(key), list):
                return messages_of(inner, role)
        if isinstance(inner := value.get("message"), dict):
            return messages_of(inner, role)
        return list(_message(_unpacked(value), role))
    if is_array(value):
        rows = value[:MOST_MESSAGES]
        if _is_pair(rows):
            return messages_of({"role": rows[0], "content": rows[1]}, role)
        return [one for row in rows for one in messages_of(row, role)]
    return [] if value in (None, "") else [message(role, value)]


def answer_of(said: Sequence[Said]) -> Said | None:
    """The message that a model answered, of several choices the first; None where there is none.

    The results of tools that a vendor called by itself stand before the answer that they are a part of.
    """
    return next((one for one in said if one["role"] != "tool"), next(iter(said), None))


def is_message(value: object) -> bool:
    """Whether a value is a message in one of these forms, and not something of an application's."""
    if is_array(value):
        return _is_pair(value)
    if not is_object(value):
        return False
    fields = _unpacked(value)
    who = fields.get("role") or fields.get("type")
    return isinstance(who, str) and who in _SPEAKERS and ("role" in fields or "content" in fields)


def _is_pair(rows: Sequence[object]) -> bool:
    """Whether a list is a message as a pair: who says it, and what."""
    return (
        len(rows) == 2
        and isinstance(rows[0], str)
        and rows[0] in _SPEAKERS
        and isinstance(rows[1], (str, list))
    )


def _unpacked(fields: Mapping[str, object]) -> Mapping[str, object]:
    """A message of LangChain's, out of what it is dumped in."""
    inner = fields.get("kwargs") if fields.get("lc") is not None else fields.get("data")
    if not is_object(inner):
        return fields
    name = fields.get("id")
    kind = name[-1] if is_array(name) and name else ""
    who = str(kind).removesuffix("Chunk").removesuffix("Message").lower() or fields.get("type")
    return {"type": who, **inner}


def _message(fields: Mapping[str, object], role: str) -> Iterable[Said]:
    """One message, and those that its parts say: the results of tools are messages of their own."""
    who = fields.get("role") or fields.get("type")
    known = isinstance(who, str) and who in _SPEAKERS
    if not known and not any(key in fields for key in ("content", "parts", "tool_calls")):
        yield message(role, dict(fields))
        return
    # `type` names the speaker in LangChain's messages; elsewhere it may be the kind of an object.
    who = who if known or "role" in fields else role
    calls = [_call(one) for one in _objects(fields.get("tool_calls"))]
    if isinstance(function := fields.get("function_call"), dict):
        calls.append(_call(function))
    texts: list[object] = []
    content = fields.get("parts", fields.get("content"))
    rows = content if is_array(content) else [content]
    for row in rows[:MOST_MESSAGES]:
        part = row if is_object(row) else None
        kind = part.get("type", part.get("kind")) if part is not None else None
        if part is None:
            texts.append(row)
        elif kind in _THINKING:
            continue
        elif kind in ("tool_call", "tool_use", "tool-call", "function_call"):
            calls.append(_call(part))
        elif kind in ("tool_call_response", "tool_result", "tool-return"):
            result = next(
                (part[key] for key in ("response", "result", "content") if key in part), None
            )
            own = part.get("id") or part.get("tool_use_id") or part.get("tool_call_id")
            yield message("tool", _plain(result), (), own)
        else:
            texts.append(_text(part))
    contents = [text for text in texts if text not in (None, "")]
    # If a message holds only tools' results, each of them has been yielded above.
    if contents or calls or not is_array(content):
        # The id of any other message is its own, and not that of a call.
        own = fields.get("tool_call_id") or (
            fields.get("id") if who in ("tool", "function") else None
        )
        yield message(who, _plain(contents), calls, own)


def _plain(value: object) -> object:
    """Texts as one text; what is no text, such as pictures, as it is."""
    if is_array(value):
        texts = [_text(one) if is_object(one) else one for one in value]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(cast("list[str]", texts))
        return texts[0] if len(texts) == 1 else texts
    return value


def _text(part: Mapping[str, object]) -> object:
    for key in ("text", "content"):
        if isinstance(text := part.get(key), str):
            return text
    return dict(part)


def _call(fields: Mapping[str, object]) -> Said:
    inner = fields.get("function")
    function = inner if is_object(inner) else fields
    arguments = next(
        (function[key] for key in ("arguments", "args", "input") if key in function), None
    )
    return call(function.get("name"), arguments, fields.get("id") or fields.get("tool_call_id"))


def _objects(value: object) -> Sequence[Mapping[str, object]]:
    value = value_of(value)
    return [row for row in as_array(value) if is_object(row)]


def indexed(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Attributes whose names have numbers in them as a list: `gen_ai.prompt.0.role` is `role` of the first.

    >>> indexed({"p.0.role": "user", "p.1.role": "tool", "other": 1}, "p")
    [{'role': 'user'}, {'role': 'tool'}]
    """
    rows: dict[int, dict[str, Any]] = {}
    start = len(prefix) + 1
    for key, value in attributes.items():
        if key.startswith(prefix) and key[start - 1 : start] == ".":
            number, _, rest = key[start:].partition(".")
            # No list is longer than this, and int() raises for thousands of digits.
            if rest and number.isascii() and number.isdigit() and len(number) <= 5:
                rows.setdefault(int(number), {})[rest] = value
    return [rows[number] for number in sorted(rows)]


def as_json(said: Sequence[Said]) -> str:
    """Messages as a text of JSON."""
    return encode(list(said), ordered=False).decode("utf-8", "replace")
