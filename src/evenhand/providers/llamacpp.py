"""The server that comes with llama.cpp: plain completion by the model that it has loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.message import Message, Reply
from evenhand.core.provider import Price
from evenhand.providers.chat import ChatProvider, Dialect, passed_on, seconds
from evenhand.providers.embeddings import looked_up, plain
from evenhand.providers.openai import bearer
from evenhand.providers.prices import cost, price_of
from evenhand.providers.said import said
from evenhand.providers.usage import counted
from evenhand.providers.wanted import Wanted

HOME = "http://localhost:8080"
_NAMES = (
    "temperature top_k top_p n_keep stop repeat_penalty repeat_last_n penalize_nl presence_penalty frequency_penalty "
    "mirostat mirostat_tau mirostat_eta seed ignore_eos logit_bias"
).split()


def make(wanted: Wanted) -> ChatProvider:
    """The model of a llama.cpp server, at `config.apiBaseUrl` or LLAMA_BASE_URL where those are set."""
    base = wanted.setting("apiBaseUrl", "LLAMA_BASE_URL") or HOME
    return ChatProvider(
        id=wanted.id,
        label=wanted.label or wanted.id,
        model=wanted.rest,
        url=f"{base.rstrip('/')}/completion",
        key=wanted.setting("apiKey", "LLAMA_CPP_API_KEY"),
        dialect=DIALECT,
        config=wanted.config,
        price=price_of("", wanted.rest, wanted.config),
        timeout_s=seconds(wanted.config, wanted.id),
    )


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    return {"prompt": plain(messages)}


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model  # the server has one
    names = {name: name for name in _NAMES}
    return {"n_predict": config.get("n_predict", 512), **passed_on(config, names)}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed
    answer, found = looked_up(body, lambda answer: answer["content"], "content")
    reason = (
        "length" if answer.get("stop_type") == "limit" or answer.get("stopped_limit") else "stop"
    )
    text = said(found if isinstance(found, str) else None, reason, "content")
    usage = counted(answer, "tokens_evaluated", "tokens_predicted", at="")
    return Reply(text, text, usage, cost(price, usage), finish_reason=reason)


DIALECT = Dialect(
    vendor="llama",
    version="",
    headers=bearer,
    messages=_messages,
    settings=_settings,
    read=_read,
    chats=False,
    limits=("n_predict",),
)
