"""Hugging Face: chat through its router, and the tasks that measure a text on its inference API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.core.message import Reply
from evenhand.core.provider import Price
from evenhand.providers.chat import ChatProvider, Dialect, chat_provider
from evenhand.providers.compatible import dialect_of
from evenhand.providers.embeddings import CLASSIFIES, EMBEDS, labelled, looked_up, plain, reader
from evenhand.providers.wanted import Wanted

ROUTER = "https://router.huggingface.co"
_KEYS = ("HF_TOKEN", "HF_API_TOKEN")
_CHAT = ("chat", "text-generation")


def make(wanted: Wanted) -> ChatProvider:
    """A model on Hugging Face, or an endpoint of one's own at `config.apiEndpoint`."""
    kind, _, model = wanted.rest.partition(":")
    if kind not in (*_CHAT, *_DIALECTS) or not model:
        kinds = ", ".join((*_CHAT, *_DIALECTS))
        raise wanted.refused(
            "does not say what is asked for", f"Write huggingface:<kind>:<model>, of: {kinds}."
        )
    own = wanted.setting("apiEndpoint") or wanted.setting("apiBaseUrl")
    if kind in _CHAT:
        routed = wanted.config.get("inferenceProvider")
        model = f"{model}:{routed}" if routed and ":" not in model else model
        base = (own or f"{ROUTER}/v1").rstrip("/").removesuffix("/chat/completions")
        url, dialect = f"{base}/chat/completions", dialect_of("chat")
    else:
        base = f"{ROUTER}/hf-inference/models/{model}/pipeline/{kind}"
        url, dialect = own or base, _DIALECTS[kind]
    config = wanted.config
    if config.get("max_new_tokens") is not None:
        config = {"max_tokens": config["max_new_tokens"], **config}
    return chat_provider(
        wanted,
        dialect,
        model=model,
        url=url,
        key=wanted.setting("apiKey", *_KEYS).strip(),
        key_variable=_KEYS[0],
        config=config,
    )


def _vector(answer: Any) -> object:
    """The one row of the answer, where it is a list of rows."""
    return answer[0] if isinstance(answer[0], list) else answer


def _classified(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed, price
    _, classification = looked_up(body, lambda answer: answer, "classification")
    return Reply(text="", output=labelled(classification))


def _nothing(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model  # it is in the address
    return {**(config.get("passthrough") or {})}


_EMBEDDING = Dialect(
    vendor="huggingface",
    messages=lambda messages: {"inputs": plain(messages)},
    settings=_nothing,
    read=reader(_vector),
    tasks=EMBEDS,
    chats=False,
)
_DIALECTS: Mapping[str, Dialect] = {
    "feature-extraction": _EMBEDDING,
    "text-classification": replace(_EMBEDDING, read=_classified, tasks=CLASSIFIES),
}
