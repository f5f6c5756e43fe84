"""Google's Gemini, by its own API: generateContent and embedContent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import BadReply
from evenhand.core.message import Message, Reply, ToolCall, Usage
from evenhand.core.provider import Price
from evenhand.providers.answer_text import answer_text, ending
from evenhand.providers.chat import ChatProvider, Dialect, passed_on, seconds
from evenhand.providers.embeddings import EMBEDS, looked_up, plain, reader
from evenhand.providers.prices import cost, price_of
from evenhand.providers.usage import counted, listed, mapping, number
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
_BESIDE = {
    "safetySettings": "safetySettings",
    "toolConfig": "toolConfig",
    "cachedContent": "cachedContent",
}


def make(wanted: Wanted) -> ChatProvider:
    """A model of Google's, with a key of Google AI Studio; `google:embedding:<model>` for embeddings."""
    kind, _, model = wanted.rest.partition(":")
    embeds = kind in ("embedding", "embeddings")
    model = model if embeds else wanted.rest
    if not model:
        raise wanted.refused("names no model", "Write google:gemini-2.5-flash, say.")
    host = wanted.setting("apiHost", "GOOGLE_API_HOST")
    base = f"https://{host}" if host else ""
    base = (wanted.setting("apiBaseUrl", "GOOGLE_API_BASE_URL") or base or HOME).rstrip("/")
    version = str(wanted.config.get("apiVersion") or VERSION)
    variable = str(wanted.config.get("apiKeyEnvar") or KEYS[0])
    action = "embedContent" if embeds else "generateContent"
    return ChatProvider(
        id=wanted.id,
        label=wanted.label or wanted.id,
        model=model,
        url=f"{base}/{version}/models/{model}:{action}",
        key=wanted.setting("apiKey", variable, *KEYS).strip(),
        dialect=_EMBEDDING if embeds else DIALECT,
        config=wanted.config,
        price=price_of("google", model, wanted.config, at_home=base == HOME),
        timeout_s=seconds(wanted.config, wanted.id),
        key_variable=variable,
    )


def _headers(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    del config
    return {"x-goog-api-key": key} if key else {}


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    """System messages go where this API wants them; what the model said is the model's."""
    said: list[Mapping[str, Any]] = []
    for m in messages:
        if m.role != "system":
            role = "model" if m.role in ("assistant", "model") else "user"
            said += m.items or ({"role": role, "parts": _parts(m)},)
    body: dict[str, Any] = {"contents": said}
    system = [part for m in messages if m.role == "system" for part in _parts(m)]
    if system:
        body["systemInstruction"] = {"parts": system}
    return body


def _parts(message: Message) -> list[object]:
    if isinstance(message.content, str):
        return [{"text": message.content}]
    parts: list[object] = []
    for block in message.content:
        url = str(mapping(block.get("image_url")).get("url") or "")
        if block.get("type") == "text":
            parts.append({"text": block.get("text", "")})
        elif url.startswith("data:"):
            kind, _, data = url.removeprefix("data:").partition(";base64,")
            parts.append({"inlineData": {"mimeType": kind, "data": data}})
        elif url:
            parts.append({"fileData": {"fileUri": url}})
        else:  # in this API's own words already
            parts.append(block)
    return parts


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model  # it is in the address
    generation = {**passed_on(config, _GENERATION), **mapping(config.get("generationConfig"))}
    if config.get("responseSchema"):
        generation["responseSchema"] = config["responseSchema"]
        generation.setdefault("responseMimeType", "application/json")
    body = passed_on(config, _BESIDE)
    if generation:
        body["generationConfig"] = generation
    if config.get("systemInstruction"):
        instruction = config["systemInstruction"]
        body["systemInstruction"] = (
            {"parts": [{"text": instruction}]} if isinstance(instruction, str) else instruction
        )
    tools = config.get("tools")
    if tools:
        body["tools"] = [_tool_of(mapping(tool)) for tool in tools]
    body.update(mapping(config.get("passthrough")))
    return body


def _tool_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool in this API's words, also where it was written in OpenAI's."""
    function = mapping(tool.get("function"))
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
    thought = number(mapping(answer.get("usageMetadata")).get("thoughtsTokenCount"))
    usage = Usage(usage.tokens_in, (usage.tokens_out or 0) + (thought or 0), usage.tokens_cached)
    model = str(answer.get("modelVersion") or "")
    candidates = listed(answer.get("candidates"))
    if not candidates:
        why = mapping(answer.get("promptFeedback")).get("blockReason")
        if not why:
            raise BadReply("the reply holds no candidates", billed=None)
        return Reply(
            text="",
            output="",
            usage=usage,
            cost_usd=cost(price, usage),
            model=model,
            finish_reason="content_filter",
            refused=True,
        )
    candidate = mapping(candidates[0])
    content = listed(mapping(candidate.get("content")).get("parts"))
    parts = [part for part in map(mapping, content) if not part.get("thought")]
    asked = [mapping(part["functionCall"]) for part in parts if part.get("functionCall")]
    calls = asked if any(call.get("name") for call in asked) else []
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
            ToolCall(str(c.get("name") or ""), mapping(c.get("args")), str(c.get("id") or ""))
            for c in calls
        ),
        items=({"role": "model", "parts": content},) if calls else (),
    )


def _rated(answer: Mapping[str, Any], candidate: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was rated as more than negligible, as `guardrails` reads it: that is a flag in promptfoo, too."""
    flagged = [
        any(mapping(rating).get("probability") != "NEGLIGIBLE" for rating in listed(rated))
        for rated in (
            mapping(answer.get("promptFeedback")).get("safetyRatings"),
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
    for part in map(mapping, content):
        if part.get("thought"):
            return "a thought"
        for name in part:
            if name not in _OF_TEXT:
                return name
    return ""


def _thought(body: bytes) -> str:
    answer = mapping(decode(body))
    candidate = mapping(next(iter(listed(answer.get("candidates"))), None))
    parts = map(mapping, listed(mapping(candidate.get("content")).get("parts")))
    thought = "".join(str(part.get("text") or "") for part in parts if part.get("thought"))
    return f"Thinking: {thought}" if thought else ""


def _vector_settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model
    names = ("taskType", "outputDimensionality")
    return passed_on(config, {name: name for name in names})


DIALECT = Dialect(
    vendor="google",
    version="",
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
