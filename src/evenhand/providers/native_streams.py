"""Streams in the forms of Gemini and Ollama: pieces of an answer, each a document, read as the one that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evenhand.core.encoding import decode
from evenhand.core.json_shapes import as_array, as_mapping


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
                _join(parts, part)
    if "finishReason" in first:
        content = {"role": "model", "parts": parts}
        return {**whole, "candidates": [{**first, "content": content}]}
    return whole if as_mapping(whole.get("promptFeedback")).get("blockReason") else None


def _join(parts: list[dict[str, Any]], part: Mapping[str, Any]) -> None:
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
