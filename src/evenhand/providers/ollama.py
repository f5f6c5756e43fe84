"""Ollama's own API: chat, completion and embeddings of models on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evenhand.core.encoding import decode, decoded, encode
from evenhand.core.json_shapes import as_array, as_mapping, is_object
from evenhand.core.message import Message, Reply, ToolCall
from evenhand.core.provider import Price
from evenhand.providers.answer_text import answer_text, besides, ending, unfinished
from evenhand.providers.chat import ChatProvider, Dialect, chat_provider, counted, passed_on
from evenhand.providers.embeddings import EMBEDS, looked_up, plain, reader
from evenhand.providers.message_forms import (
    Row,
    bare,
    calls_of,
    no_words_for,
    part_of,
    plain_media,
    rows_of,
)
from evenhand.providers.prices import cost
from evenhand.providers.wanted import Wanted

HOME = "http://localhost:11434"
_OPTIONS = (
    "num_predict temperature top_k top_p min_p typical_p seed stop num_ctx num_batch num_gpu num_thread num_keep "
    "main_gpu mirostat mirostat_eta mirostat_tau penalize_newline presence_penalty frequency_penalty "
    "repeat_penalty repeat_last_n tfs_z use_mmap use_mlock numa low_vram vocab_only logits_all f16_kv".split()
)
_BESIDE = "think keep_alive format truncate suffix system template raw tools".split()


def make(wanted: Wanted) -> ChatProvider:
    """A model of Ollama's, at `config.apiBaseUrl` or OLLAMA_BASE_URL where those are set."""
    kind, _, model = wanted.rest.partition(":")
    if kind not in _DIALECTS:
        kind, model = "completion", wanted.rest
    if not model:
        raise wanted.refused("names no model", f"Write ollama:{kind}:<model>.")
    base = wanted.setting("apiBaseUrl", "OLLAMA_BASE_URL") or HOME
    path, dialect = _DIALECTS[kind]
    return chat_provider(
        wanted,
        dialect,
        model=model,
        url=base.rstrip("/") + path,
        key=wanted.setting("apiKey", "OLLAMA_API_KEY"),
    )


def _conversation(messages: Sequence[Message]) -> dict[str, Any]:
    rows, settings = rows_of(messages, "Ollama", "messages")
    return {"messages": [_message(row) for row in rows], **settings}


def _message(row: Row) -> Mapping[str, Any]:
    """Text and pictures stand apart in this API, and the arguments of a call are an object."""
    fields, content = row.fields, row.content
    calls = calls_of(row)
    if not (isinstance(content, str) or content or calls or fields.get("images")):
        raise row.says_nothing()
    sent: dict[str, Any] = {"role": row.role, **fields}
    sent.pop("parts", None)
    parts = [part_of(block, row) for block in row.blocks]
    pictures = [plain_media(part, row) for part in parts if not isinstance(part, str)]
    for picture in pictures:
        if picture.kind != "image":
            raise no_words_for(picture, row)
    if isinstance(content, str):
        sent["content"] = content
    else:
        sent["content"] = "\n".join(part for part in parts if isinstance(part, str))
    images = [picture.data or picture.url for picture in pictures]
    images += [bare(image) for image in as_array(fields.get("images"))]
    if images:
        sent["images"] = images
    if calls:
        written = as_array(fields["tool_calls"])
        sent["tool_calls"] = [
            {**as_mapping(one), "function": {**one["function"], "arguments": call.arguments}}
            for one, call in zip(written, calls, strict=True)
        ]
    return sent


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model, "stream": False}
    options = passed_on(config, _OPTIONS)
    if config.get("max_tokens") is not None:
        options.setdefault("num_predict", config["max_tokens"])
    body.update(passed_on(config, _BESIDE))
    for name, value in as_mapping(config.get("passthrough")).items():
        (options if name in _OPTIONS else body)[name] = value
    return {**body, "options": options} if options else body


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed
    answer, inner = looked_up(
        body, lambda a: a["response"] if "response" in a else dict(a["message"]), "message"
    )
    message = as_mapping(inner)
    written = message.get("content") if isinstance(inner, Mapping) else inner
    reason = ending(answer.get("done_reason"), answer.get("error"))
    if answer.get("done") is False:
        raise unfinished("done: false")
    calls = [
        as_mapping(as_mapping(call).get("function")) for call in as_array(message.get("tool_calls"))
    ]
    text = written if isinstance(written, str) else None
    if any(call.get("name") for call in calls):
        output: object = [{"function": call} for call in calls]
        text, reason = text or encode(output, ordered=False).decode(), "tool_calls"
    else:
        where = "message.content" if isinstance(inner, Mapping) else "response"
        holder = message if isinstance(inner, Mapping) else answer
        beside = besides(holder, "content", "response", "context", "model")
        calls, output = [], (text := answer_text(text, reason, where, beside))
    usage = counted(answer, "prompt_eval_count", "eval_count", at="")
    return Reply(
        text=text,
        output=output,
        usage=usage,
        cost_usd=cost(price, usage),
        model=str(answer.get("model") or ""),
        finish_reason=reason,
        refused=reason == "content_filter",
        tool_calls=tuple(_tool(call) for call in calls),
    )


def _tool(call: Mapping[str, Any]) -> ToolCall:
    arguments = call.get("arguments")
    arguments = decoded(arguments) if isinstance(arguments, str) else arguments
    return ToolCall(str(call.get("name") or ""), arguments if is_object(arguments) else None)


def _thought(body: bytes) -> str:
    answer = as_mapping(decode(body))
    thought = as_mapping(answer.get("message")).get("thinking") or answer.get("thinking")
    return f"Thinking: {thought}" if isinstance(thought, str) and thought else ""


def _only_model(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del config
    return {"model": model}


CHAT = Dialect(
    vendor="ollama",
    messages=_conversation,
    settings=_settings,
    read=_read,
    sampling="options",
    limits=("num_predict",),
    thought=_thought,
)
_COMPLETION = replace(CHAT, messages=lambda messages: {"prompt": plain(messages)}, chats=False)
_EMBEDDING = replace(
    CHAT,
    messages=lambda messages: {"prompt": plain(messages)},
    settings=_only_model,
    read=reader(lambda answer: answer["embedding"]),
    tasks=EMBEDS,
    chats=False,
    thought=None,
)
_DIALECTS: Mapping[str, tuple[str, Dialect]] = {
    "chat": ("/api/chat", CHAT),
    "completion": ("/api/generate", _COMPLETION),
    "embedding": ("/api/embeddings", _EMBEDDING),
    "embeddings": ("/api/embeddings", _EMBEDDING),
}
