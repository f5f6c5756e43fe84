"""Google's Gemini, by its own API: generateContent and embedContent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_array, as_mapping, is_mapping, number
from evenhand.core.message import Message, Reply, ToolCall, Usage
from evenhand.core.provider import Price
from evenhand.providers.answer_text import NoAnswer, answer_text, ending
from evenhand.providers.chat import ChatProvider, Dialect, chat_provider, counted, passed_on
from evenhand.providers.embeddings import EMBEDS, looked_up, plain, reader
from evenhand.providers.message_forms import (
    SYSTEM_ROLES,
    Call,
    Row,
    bare,
    called_names,
    calls_of,
    is_tool_result,
    part_of,
    plain_media,
    result_name,
    rows_of,
)
from evenhand.providers.prices import cost
from evenhand.providers.wanted import Wanted

HOME = "https://generativelanguage.googleapis.com"
VERSION = "v1beta"
KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "PALM_API_KEY")
_GENERATION = {
    "temperature": "temperature",
    "max_tokens": "maxOutputTokens",
    "maxOutputTokens": "maxOutputTokens",
    "top_p": "topP",
    "topP": "topP",
    "topK": "topK",
    "top_k": "topK",
    "seed": "seed",
    "stop": "stopSequences",
    "stopSequences": "stopSequences",
    "presencePenalty": "presencePenalty",
    "frequencyPenalty": "frequencyPenalty",
    "responseMimeType": "responseMimeType",
    "response_mime_type": "responseMimeType",
    "thinkingConfig": "thinkingConfig",
}
_OF_TEXT = ("text", "thought", "thoughtSignature", "partMetadata")
_BESIDE = ("safetySettings", "toolConfig", "cachedContent")


def make(wanted: Wanted) -> ChatProvider:
    """A model of Google's, with a key of Google AI Studio; `google:embedding:<model>` for embeddings."""
    kind, _, model = wanted.rest.partition(":")
    embeds = kind in ("embedding", "embeddings")
    model = model if embeds else wanted.rest
    action = "embedContent" if embeds else "generateContent"
    dialect = _EMBEDDING if embeds else DIALECT
    return provider_at(wanted, model, f"models/{model}:{action}", dialect)


def provider_at(wanted: Wanted, model: str, path: str, dialect: Dialect) -> ChatProvider:
    """The provider of a model that is asked at this path of the API.

    Raises:
        UsageError: The id names no model.
    """
    if not model:
        raise wanted.refused("names no model", "Write google:gemini-2.5-flash, say.")
    host = wanted.setting("apiHost", "GOOGLE_API_HOST")
    base = f"https://{host}" if host else ""
    base = (wanted.setting("apiBaseUrl", "GOOGLE_API_BASE_URL") or base or HOME).rstrip("/")
    version = str(wanted.config.get("apiVersion") or VERSION)
    variable = str(wanted.config.get("apiKeyEnvar") or KEYS[0])
    return chat_provider(
        wanted,
        dialect,
        model=model,
        url=f"{base}/{version}/{path}",
        key=wanted.setting("apiKey", variable, *KEYS).strip(),
        key_variable=variable,
        vendor="google",
        at_home=base == HOME,
    )


def _headers(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    del config
    return {"x-goog-api-key": key} if key else {}


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    """System messages go where this API wants them; what the model said is the model's."""
    own = ("systemInstruction", "system_instruction")
    rows, settings = rows_of(messages, "Gemini", "contents", own)
    names = called_names(rows)
    written: list[Mapping[str, Any]] = []
    system: list[object] = []
    results: list[object] | None = None
    for row in rows:
        if is_tool_result(row):
            if results is None:
                results = []
                written.append({"role": "user", "parts": results})
            results.append(_result(row, names))
            continue
        results = None
        parts = [*_parts(row), *map(_called, calls_of(row))]
        if not parts:
            raise row.says_nothing()
        if row.role in SYSTEM_ROLES:
            system += parts
        elif "role" in row.fields:
            role = "model" if row.role == "assistant" else row.role
            written.append({"role": role, "parts": parts})
        else:
            written.append({"parts": parts})
    body: dict[str, Any] = {"contents": written}
    if system:
        body["systemInstruction"] = {"parts": system}
    words = {k: {"parts": [{"text": settings[k]}]} for k in own if isinstance(settings.get(k), str)}
    return {**body, **settings, **words}


def _parts(row: Row) -> list[object]:
    row.only("role", "content", "parts", "tool_calls")
    content = row.content
    if content == "" and not row.fields.get("tool_calls"):
        return [{"text": ""}]
    return [_part(block, row) for block in row.blocks]


def _part(block: object, row: Row) -> object:
    fields = as_mapping(block)
    if fields and "type" not in fields:  # in this API's own words already
        return _with_bare_data(fields)
    part = part_of(block, row)
    if isinstance(part, str):
        return {"text": part}
    plain_media(part, row)
    if part.name:
        raise row.refused("its files have no names", "Leave the name out.")
    if part.url:
        known = {"mimeType": part.mime} if part.mime else {}
        return {"fileData": {**known, "fileUri": part.url}}
    return {"inlineData": {"mimeType": part.mime, "data": part.data}}


def _with_bare_data(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part whose data is base64 alone, as this API wants it: a variable with a picture is a data URL."""
    for name in ("inlineData", "inline_data"):
        inner = as_mapping(fields.get(name))
        if "data" in inner:
            return {**fields, name: {**inner, "data": bare(inner["data"])}}
    return fields


def _called(call: Call) -> Mapping[str, Any]:
    known = {"id": call.id} if call.id else {}
    return {"functionCall": {**known, "name": call.name, "args": call.arguments}}


def _result(row: Row, names: Mapping[str, str]) -> Mapping[str, Any]:
    """What a tool returned. It is one text: what is in it is data, whatever it looks like."""
    row.only("role", "content", "tool_call_id", "name")
    parts = [part_of(block, row) for block in row.blocks]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts):
        raise row.refused("what a tool returned is more than text", "Leave out what is not.")
    name, id_ = result_name(row, names, told=True), str(row.fields.get("tool_call_id") or "")
    if not name:
        raise row.refused(
            "the tool whose result it is has no name", "Write its 'name', or the call before it."
        )
    known = {"id": id_} if id_ else {}
    result = texts if len(texts) > 1 else "".join(texts)
    return {"functionResponse": {**known, "name": name, "response": {"result": result}}}


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model  # it is in the address
    generation = {**passed_on(config, _GENERATION), **as_mapping(config.get("generationConfig"))}
    if config.get("responseSchema"):
        generation["responseSchema"] = config["responseSchema"]
        generation.setdefault("responseMimeType", "application/json")
    body = passed_on(config, _BESIDE)
    if generation:
        body["generationConfig"] = generation
    if config.get("systemInstruction"):
        body["systemInstruction"] = _instruction(config["systemInstruction"])
    tools = config.get("tools")
    if tools:
        body["tools"] = [_tool_of(as_mapping(tool)) for tool in tools]
    body.update(as_mapping(config.get("passthrough")))
    return body


def _instruction(configured: object) -> object:
    """A config's system prompt, with a role as the SDK sends it: what comes of messages has none."""
    if isinstance(configured, str):
        configured = {"parts": [{"text": configured}]}
    return {"role": "user", **configured} if is_mapping(configured) else configured


def _tool_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool in this API's words, also where it was written in OpenAI's."""
    function = as_mapping(tool.get("function"))
    if not function:
        return tool
    known = {k: function[k] for k in ("name", "description", "parameters") if k in function}
    return {"functionDeclarations": [known]}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed
    answer, _ = looked_up(body, lambda answer: answer.keys(), "answer")
    usage = counted(
        answer,
        "promptTokenCount",
        "candidatesTokenCount",
        "cachedContentTokenCount",
        at="usageMetadata",
    )
    model = str(answer.get("modelVersion") or "")
    candidates = as_array(answer.get("candidates"))
    candidate = as_mapping(candidates[0]) if candidates else {}
    content = as_array(as_mapping(candidate.get("content")).get("parts"))
    parts = [part for part in map(as_mapping, content) if not part.get("thought")]
    if usage.tokens_out is not None or not (parts or usage.tokens_in is None):
        # A count of nothing is left out.
        thought = number(as_mapping(answer.get("usageMetadata")).get("thoughtsTokenCount"))
        written = (usage.tokens_out or 0) + (thought or 0)
        usage = Usage(usage.tokens_in, written, usage.tokens_cached)
    if not candidates:
        why = as_mapping(answer.get("promptFeedback")).get("blockReason")
        if not why:
            is_one = usage.tokens_in is not None or "candidates" in answer
            raise (NoAnswer if is_one else BadReply)("the reply holds no candidates", billed=None)
        return Reply(
            text="",
            output="",
            usage=usage,
            cost_usd=cost(price, usage),
            model=model,
            finish_reason="content_filter",
            refused=True,
        )
    function_calls = [
        as_mapping(part["functionCall"]) for part in parts if part.get("functionCall")
    ]
    calls = function_calls if any(call.get("name") for call in function_calls) else []
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    reason = ending(candidate.get("finishReason"), answer.get("error"))
    written = "".join(texts) if texts else None
    if calls and not written:
        written = encode(parts, ordered=False).decode()
    text = answer_text(written, reason, "content.parts", _besides(content))
    return Reply(
        text=text,
        output=parts if calls else text,
        metadata=_rated(answer, candidate),
        usage=usage,
        cost_usd=cost(price, usage),
        model=model,
        finish_reason="tool_calls" if calls else reason,
        refused=reason == "content_filter",
        tool_calls=tuple(
            ToolCall(str(c.get("name") or ""), as_mapping(c.get("args")), str(c.get("id") or ""))
            for c in calls
        ),
        items=({"role": "model", "parts": content},) if calls else (),
    )


def _rated(answer: Mapping[str, Any], candidate: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was rated as more than negligible, as `guardrails` reads it: that is a flag in promptfoo, too."""
    flagged = [
        any(as_mapping(rating).get("probability") != "NEGLIGIBLE" for rating in as_array(rated))
        for rated in (
            as_mapping(answer.get("promptFeedback")).get("safetyRatings"),
            candidate.get("safetyRatings"),
        )
    ]
    if not any(flagged):
        return {}
    return {
        "guardrails": {"flagged": True, "flaggedInput": flagged[0], "flaggedOutput": flagged[1]}
    }


def _besides(content: Sequence[Any]) -> str:
    """The first part that is thought, drawn or done; empty where all are text."""
    for part in map(as_mapping, content):
        if part.get("thought"):
            return "a thought"
        for name in part:
            if name not in _OF_TEXT:
                return name
    return ""


def _thought(body: bytes) -> str:
    answer = as_mapping(decode(body))
    candidate = as_mapping(next(iter(as_array(answer.get("candidates"))), None))
    parts = map(as_mapping, as_array(as_mapping(candidate.get("content")).get("parts")))
    thought = "".join(str(part.get("text") or "") for part in parts if part.get("thought"))
    return f"Thinking: {thought}" if thought else ""


def _vector_settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model
    names = ("taskType", "outputDimensionality")
    return passed_on(config, names)


DIALECT = Dialect(
    vendor="google",
    headers=_headers,
    messages=_messages,
    settings=_settings,
    read=_read,
    limits=("maxOutputTokens", "max_output_tokens"),
    sampling="generationConfig",
    tools="google",
    thought=_thought,
)
_EMBEDDING = replace(
    DIALECT,
    messages=lambda messages: {"content": {"parts": [{"text": plain(messages)}]}},
    settings=_vector_settings,
    read=reader(lambda answer: answer["embedding"]["values"]),
    tasks=EMBEDS,
    chats=False,
    thought=None,
)
