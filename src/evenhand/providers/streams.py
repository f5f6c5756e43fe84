"""A streamed answer, read as the one that would have come whole: server-sent events to the vendor's own JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.encoding import decode, decoded
from evenhand.core.json_shapes import as_array, as_mapping, is_array
from evenhand.providers import cohere, converse

END = re.compile(
    rb"(?:^|(?<=\r))(?:data: ?\[DONE\]|event: ?(?:message_stop|message-end|response\.(?:completed|incomplete|failed)))"
    rb'|(?<!\\)"(?:finishReason"\s*:\s*"|stopReason"\s*:\s*"|done"\s*:\s*true)',
    re.MULTILINE,
)
"""What a stream says when it is whole. A model's own text never begins a line of it, and its quotes are escaped."""

_LINE = re.compile(
    r"\r\n|\r|\n"
)  # what Python counts for line ends besides may stand in a model's text
_LAST = ("response.completed", "response.incomplete", "response.failed")


def whole(kind: str, body: bytes) -> Mapping[str, Any] | None:
    """The answer that these events add up to; None where they stop before its end, or end in an error.

    Args:
        kind: The endpoint's kind, e.g. `chat/completions`.
        body: The stream as it came.
    """
    if kind == "converse":
        return converse.whole(body)
    listed = body.lstrip()[:1] in (b"{", b"[")
    events = [*documents(body)] if listed else [*events_of(body)]
    if any(event.get("type") == "error" or event.get("error") for event in events):
        return None
    if kind == "generateContent":
        return gemini(events)
    if kind.startswith("api/"):
        return ollama(events)
    if kind == "messages":
        return _message(events)
    if kind == "responses":
        last = next((e for e in reversed(events) if e.get("type") in _LAST), {})
        return as_mapping(last.get("response")) or None
    if kind == "v2/chat":
        events = [*cohere.chunks(events)]
    return _completion(events)


def in_pieces(kind: str, body: bytes) -> bool:
    """Whether an answer came in pieces: as events, as a list, or as a document in each line."""
    start = body.lstrip()[:1]
    if start == b"{":
        return kind.startswith("api/") and b"\n" in body.strip()
    return True


def error_instead(body: bytes) -> str:
    """The error that came in a stream's place, as one JSON document; empty for none.

    >>> error_instead(b'{"error": {"message": "no streams here"}}')
    'no streams here'
    """
    if not body.lstrip().startswith(b"{"):
        return ""
    error = as_mapping(decoded(body)).get("error")
    return str(as_mapping(error).get("message") or error)[:200] if error else ""


def events_of(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The data of each server-sent event that has some, as JSON."""
    for block in re.split(r"\r\n\r\n|\n\n|\r\r", body.decode("utf-8-sig", "replace")):
        lines = [line[5:].lstrip() for line in _LINE.split(block) if line.startswith("data:")]
        try:
            yield as_mapping(decode("\n".join(lines)))
        except ValueError:  # no data in it, or [DONE]
            continue


def _completion(events: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Chat completions, and the older ones of plain text. Only the first choice is read."""
    text = _Text()
    refusals: list[str] = []
    tools = _Tools()
    function: dict[str, Any] = {}
    more: dict[str, Any] = {}
    model, reason, usage = "", None, None
    for event in events:
        model = event.get("model") or model
        usage = event.get("usage") or usage
        for choice in map(as_mapping, as_array(event.get("choices"))):
            if choice.get("index"):
                continue
            delta = as_mapping(choice.get("delta"))
            text.add(delta.get("content", choice.get("text")))
            refusals.append(str(delta.get("refusal") or ""))
            reason = choice.get("finish_reason") or reason
            for part in map(as_mapping, as_array(delta.get("tool_calls"))):
                tools.add(part)
            _join(function, as_mapping(delta.get("function_call")))
            _add(more, {k: v for k, v in delta.items() if k not in _READ})
    if reason is None:
        return None
    message: dict[str, Any] = {"role": "assistant", "content": text.whole, "refusal": None, **more}
    if refused := "".join(refusals):
        message["refusal"] = refused
    if calls := tools.whole:
        message["tool_calls"] = calls
    if function:
        message["function_call"] = function
    choice = {"message": message, "text": text.whole, "finish_reason": reason}
    return {"model": model, "choices": [choice], "usage": usage}


class _Text:
    """A text that comes in pieces: None until the first one comes, and what isn't text as it came."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._odd: object = None

    def add(self, piece: object) -> None:
        """Some servers send lists of parts."""
        if isinstance(piece, str):
            self._pieces.append(piece)
        elif is_array(piece):
            parts = (as_mapping(part).get("text") for part in piece)
            self._pieces += [part for part in parts if isinstance(part, str)]
        elif piece is not None:
            self._odd = piece

    @property
    def whole(self) -> object:
        if self._odd is not None:
            return self._odd
        return "".join(self._pieces) if self._pieces else None


class _Tools:
    """Calls of tools, which come in pieces."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, Any]] = {}
        # Where the pieces with an index go. Gemini's endpoint for OpenAI's clients gives all calls one index, or none.
        self._places: dict[int, int] = {}

    def add(self, part: Mapping[str, Any]) -> None:
        """A piece of one. Another id begins another call, whatever its index."""
        index, id_ = part.get("index"), part.get("id")
        latest = max(self._calls, default=0)
        place = self._places.get(index, index) if isinstance(index, int) else latest
        if id_ and place in self._calls and self._calls[place]["id"] not in ("", id_):
            place = latest + 1
            if isinstance(index, int):
                self._places[index] = place
        call = self._calls.setdefault(
            place, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = id_ or call["id"]
        if part.get("custom"):
            call["function"] = None
            _join(call.setdefault("custom", {}), as_mapping(part["custom"]))
        elif call["function"] is not None:
            _join(call["function"], as_mapping(part.get("function")))

    @property
    def whole(self) -> list[dict[str, Any]]:
        return [self._calls[place] for place in sorted(self._calls)]


def _join(whole: dict[str, Any], pieces: Mapping[str, Any]) -> None:
    """Adds pieces of text to what came before them."""
    for name, piece in pieces.items():
        if isinstance(piece, str):
            before = whole.get(name)
            whole[name] = before + piece if isinstance(before, str) else piece


_READ = ("role", "content", "refusal", "tool_calls", "function_call")


def _add(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """What comes beside the text: thinking, speech, pictures, steps of hosted tools."""
    _join(message, delta)
    for name, piece in delta.items():
        if isinstance(piece, dict):
            inner = message[name] = dict(as_mapping(message.get(name)))
            _join(inner, as_mapping(piece))
        elif isinstance(piece, list):
            message[name] = [*as_array(message.get(name)), *as_array(piece)]


def _message(events: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        block = blocks.setdefault(event.get("index") or 0, {})
        delta = as_mapping(event.get("delta"))
        match event.get("type"):
            case "message_start":
                message = dict(as_mapping(event.get("message")))
                # What it has written by then says nothing: the count comes at the end.
                used = {
                    k: v
                    for k, v in as_mapping(message.get("usage")).items()
                    if k != "output_tokens"
                }
                message["usage"] = used
            case "content_block_start":
                block.update(as_mapping(event.get("content_block")))
            case "content_block_delta" if "partial_json" in delta:
                block["json"] = block.get("json", "") + str(delta["partial_json"])
            case "content_block_delta" if isinstance(delta.get("text"), str):
                block["text"] = (block.get("text") or "") + delta["text"]
            case "message_delta":
                message.update({k: v for k, v in delta.items() if v is not None})
                used = {k: v for k, v in as_mapping(event.get("usage")).items() if v is not None}
                message["usage"] = {**as_mapping(message.get("usage")), **used}
            case "message_stop":
                content = [_block(blocks[i]) for i in sorted(blocks) if blocks[i]]
                return {**message, "content": content}
            case _:
                pass
    return None


def _block(block: dict[str, Any]) -> dict[str, Any]:
    if "json" not in block:
        return block
    text = block.pop("json") or "{}"
    return {**block, "input": decoded(text)}  # None where the longest answer allowed cuts it off


def gemini(pieces: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The answer of pieces of `streamGenerateContent`; None where they stop before its end."""
    whole: dict[str, Any] = {}
    first: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    for piece in pieces:
        whole.update({k: v for k, v in piece.items() if k != "candidates"})
        for candidate in map(as_mapping, as_array(piece.get("candidates"))):
            if candidate.get("index"):
                continue
            first.update({k: v for k, v in candidate.items() if k != "content"})
            for part in map(
                as_mapping, as_array(as_mapping(candidate.get("content")).get("parts"))
            ):
                _joined_part(parts, part)
    if "finishReason" in first:
        content = {"role": "model", "parts": parts}
        return {**whole, "candidates": [{**first, "content": content}]}
    return whole if as_mapping(whole.get("promptFeedback")).get("blockReason") else None


def _joined_part(parts: list[dict[str, Any]], part: Mapping[str, Any]) -> None:
    """Adds a part; text that goes on with text of the same kind, thought or said, becomes one."""
    before = parts[-1] if parts else {}
    goes_on = isinstance(part.get("text"), str) and isinstance(before.get("text"), str)
    if goes_on and bool(part.get("thought")) == bool(before.get("thought")):
        before.update({**part, "text": before["text"] + part["text"]})
    else:
        parts.append(dict(part))


def ollama(pieces: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The answer of pieces of `/api/chat` or `/api/generate`; None where they stop before its end."""
    last: Mapping[str, Any] = {}
    texts: dict[str, str] = {}
    calls: list[Any] = []
    for piece in pieces:
        last = piece
        message = as_mapping(piece.get("message"))
        for name in ("content", "thinking"):
            if isinstance(message.get(name), str):
                texts[name] = texts.get(name, "") + message[name]
        if isinstance(piece.get("response"), str):
            texts["response"] = texts.get("response", "") + piece["response"]
        calls += as_array(message.get("tool_calls"))
    if last.get("done") is not True:
        return None
    if "response" in last or "response" in texts:
        return {**last, "response": texts.get("response", "")}
    parts = {name: texts[name] for name in ("content", "thinking") if name in texts}
    message = {"role": "assistant", **parts, **({"tool_calls": calls} if calls else {})}
    return {**last, "message": message}


def documents(body: bytes) -> Sequence[dict[str, Any]]:
    """The pieces of a stream that is one list, or has a document in each line; none where it breaks off."""
    text = body.decode("utf-8-sig", "replace").strip()
    try:
        if text.startswith("["):
            return [dict(as_mapping(piece)) for piece in as_array(decode(text))]
        return [dict(as_mapping(decode(line))) for line in text.split("\n") if line.strip()]
    except ValueError:
        return ()
