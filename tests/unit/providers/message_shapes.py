"""Messages in the documented forms of four APIs: what each may say, with every text and id nowhere else."""

from __future__ import annotations

import json
from itertools import count, product
from typing import Any

DATA = "iVBORw0KGgo="
Row = dict[str, Any]

number = count()


def word() -> str:
    """A text that is nowhere else, with a tag in it."""
    return f"w{next(number)} {{{{v}}}}"


def id_() -> str:
    """An id that is nowhere else."""
    return f"id{next(number)}"


def in_chat() -> list[Row]:
    """Messages of OpenAI's chat API."""
    contents = [
        word,
        lambda: [{"type": "text", "text": word()}],
        lambda: [{"type": "text", "text": word()}, {"type": "text", "text": word()}],
        lambda: [word(), {"type": "text", "text": word()}],
        lambda: {"type": "text", "text": word()},
        lambda: [{"type": "image_url", "image_url": {"url": "{{picture}}"}}],
        lambda: [{"type": "image_url", "image_url": {"url": "https://a.b/c.png", "detail": "low"}}],
        lambda: [
            {"type": "text", "text": word()},
            {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}},
        ],
        lambda: [{"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}}],
        lambda: [
            {
                "type": "file",
                "file": {"filename": id_(), "file_data": f"data:application/pdf;base64,{DATA}"},
            }
        ],
        lambda: [{"type": "file", "file": {"file_id": id_()}}],
        lambda: [{"type": "text", "text": word(), "cache_control": {"type": id_()}}],
        lambda: [{"type": "video_url", "video_url": {"url": id_()}}],
    ]
    more = [
        dict,
        lambda: {"name": id_()},
        lambda: {"prefix": True},
        lambda: {"reasoning_content": word()},
        lambda: {"refusal": word()},
        lambda: {"refusal": None, "audio": None},
        lambda: {"audio": {"id": id_()}},
        lambda: {"function_call": {"name": id_(), "arguments": "{}"}},
        lambda: {"weight": 7},
        lambda: {"tool_calls": [call()]},
        lambda: {"tool_calls": [call(), call()]},
        lambda: {"tool_calls": [{"id": id_(), "type": "custom", "custom": {"name": id_()}}]},
        lambda: {"tool_call_id": id_(), "name": id_()},
    ]
    rows: list[Row] = []
    for content, beside in product(contents, more):
        fields = beside()
        spoken = "tool_calls" in fields or not fields or "prefix" in fields
        role = "tool" if "tool_call_id" in fields else "assistant" if spoken else "user"
        rows.append({"role": role, "content": content(), **fields})
    rows += [{"role": "assistant", "content": None, **beside()} for beside in more]
    rows += [{"role": "assistant", **beside()} for beside in more]
    rows += [{"role": role, "content": word()} for role in ("system", "developer", "user")]
    return rows


def call() -> Row:
    """A call of a tool, in OpenAI's chat form."""
    arguments = json.dumps({"city": id_(), "deep": [1, {"a": id_()}]})
    return {"id": id_(), "type": "function", "function": {"name": id_(), "arguments": arguments}}


def of_anthropic() -> list[Row]:
    """Messages of Anthropic's API."""
    source = {"type": "base64", "media_type": "image/png", "data": "{{picture}}"}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": DATA}
    blocks = [
        lambda: {"type": "text", "text": word()},
        lambda: {"type": "text", "text": word(), "cache_control": {"type": "ephemeral"}},
        lambda: {"type": "image", "source": source},
        lambda: {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}},
        lambda: {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}},
        lambda: {"type": "document", "source": pdf, "title": id_()},
        lambda: {"type": "document", "source": pdf, "citations": {"enabled": True}},
        lambda: {"type": "document", "source": {"type": "url", "url": "https://a.b/c.pdf"}},
        lambda: {"type": "document", "source": {"type": "text", "data": word()}},
        lambda: {"type": "tool_use", "id": id_(), "name": id_(), "input": {"q": id_()}},
        lambda: {"type": "tool_result", "tool_use_id": id_(), "content": word()},
        lambda: {
            "type": "tool_result",
            "tool_use_id": id_(),
            "is_error": True,
            "content": [{"type": "text", "text": word()}, {"type": "image", "source": source}],
        },
        lambda: {"type": "thinking", "thinking": word(), "signature": id_()},
        lambda: {"type": "search_result", "source": id_(), "title": id_(), "content": []},
    ]
    rows = [{"role": role, "content": [b()]} for role in ("user", "assistant") for b in blocks]
    rows += [{"role": "user", "content": [b(), {"type": "text", "text": word()}]} for b in blocks]
    return rows


def of_gemini() -> list[Row]:
    """Messages of Google's API."""
    picture = {"mimeType": "image/png", "data": "{{picture}}"}
    parts = [
        lambda: {"text": word()},
        lambda: {"inlineData": picture},
        lambda: {"inline_data": {"mime_type": "image/png", "data": "{{picture}}"}},
        lambda: {"inlineData": {"mimeType": "audio/mp3", "data": DATA}},
        lambda: {"inlineData": {"mimeType": "application/pdf", "data": DATA}},
        lambda: {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a/b.mp4"}},
        lambda: {"file_data": {"mime_type": "image/png", "file_uri": "https://a.b/c.png"}},
        lambda: {"functionCall": {"id": id_(), "name": id_(), "args": {"q": id_()}}},
        lambda: {"functionResponse": {"name": id_(), "response": {"r": word()}}},
        lambda: {"executableCode": {"language": "PYTHON", "code": word()}},
        lambda: {"text": word(), "thought": True, "thoughtSignature": id_()},
        lambda: {"inlineData": picture, "videoMetadata": {"fps": 5}},
    ]
    rows: list[Row] = [{"role": r, "parts": [p()]} for r in ("user", "model") for p in parts]
    rows += [{"parts": [p(), {"text": word()}]} for p in parts]
    rows += [{"role": "user", "parts": p()} for p in parts[:3]]
    return rows


def of_responses() -> list[Row]:
    """Items of OpenAI's responses API."""
    parts = [
        lambda: {"type": "input_text", "text": word()},
        lambda: {"type": "input_image", "image_url": "{{picture}}", "detail": "low"},
        lambda: {"type": "input_image", "image_url": "https://a.b/c.png"},
        lambda: {"type": "input_image", "file_id": id_()},
        lambda: {"type": "input_file", "file_id": id_()},
        lambda: {"type": "input_file", "file_url": "https://a.b/c.pdf"},
        lambda: {
            "type": "input_file",
            "filename": id_(),
            "file_data": f"data:application/pdf;base64,{DATA}",
        },
        lambda: {"type": "input_audio", "input_audio": {"data": DATA, "format": "mp3"}},
    ]
    said = [
        lambda: {"type": "output_text", "text": word(), "annotations": []},
        lambda: {"type": "refusal", "refusal": word()},
    ]
    rows: list[Row] = [{"role": "user", "content": [part()]} for part in parts]
    rows += [{"type": "message", "role": "user", "content": [part()]} for part in parts]
    for part in said:
        rows.append({"role": "assistant", "content": [part()]})
        fields = {"type": "message", "id": id_(), "status": "completed", "role": "assistant"}
        rows.append({**fields, "content": [part()]})
    rows += [
        {"type": "function_call", "call_id": id_(), "name": id_(), "arguments": "{}"},
        {"type": "function_call_output", "call_id": id_(), "output": word()},
        {"type": "function_call_output", "call_id": id_(), "output": [parts[0]()]},
        {"type": "custom_tool_call", "call_id": id_(), "name": id_(), "input": word()},
        {"type": "reasoning", "id": id_(), "summary": [{"type": "summary_text", "text": word()}]},
        {"type": "item_reference", "id": id_()},
        {"type": "message", "role": "developer", "content": word()},
    ]
    return rows


FORMS = {
    "chat": in_chat(),
    "anthropic": of_anthropic(),
    "gemini": of_gemini(),
    "responses": of_responses(),
}
