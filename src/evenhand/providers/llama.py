"""The server of llama.cpp: the model that it was started with, asked by its own API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.core.message import Reply
from evenhand.core.provider import Price
from evenhand.providers.answer_text import answer_text, ending, unfinished
from evenhand.providers.chat import ChatProvider, Dialect, chat_provider, counted, passed_on
from evenhand.providers.embeddings import looked_up, prompt_body
from evenhand.providers.prices import cost
from evenhand.providers.wanted import Wanted

HOME = "http://localhost:8080"
_NAMES = (
    "n_predict temperature top_k top_p min_p typical_p n_keep stop repeat_penalty repeat_last_n penalize_nl "
    "presence_penalty frequency_penalty mirostat mirostat_tau mirostat_eta seed ignore_eos logit_bias grammar "
    "json_schema cache_prompt".split()
)
_LONGEST = 512
"""Tokens of an answer where the config does not say, as in promptfoo."""


def make(wanted: Wanted) -> ChatProvider:
    """`llama`, or `llama:<name>`: a server has one model, so the name is only a label.

    Its address is `config.apiBaseUrl` or LLAMA_BASE_URL.
    """
    base = wanted.setting("apiBaseUrl", "LLAMA_BASE_URL") or HOME
    return chat_provider(
        wanted,
        DIALECT,
        model=wanted.rest,
        url=f"{base.rstrip('/')}/completion",
        key=wanted.setting("apiKey"),
    )


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model  # the server has one
    settings = passed_on(config, _NAMES)
    if config.get("max_tokens") is not None:
        settings.setdefault("n_predict", config["max_tokens"])
    return {"n_predict": _LONGEST, **settings, **(config.get("passthrough") or {})}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed
    answer, written = looked_up(body, lambda answer: answer["content"], "completion")
    stop_type = answer.get("stop_type") or "eos"
    cut = stop_type == "limit" or answer.get("stopped_limit") is True
    ended = "length" if cut else "stop" if stop_type in ("eos", "word") else stop_type
    reason = ending(ended, answer.get("error"))
    if answer.get("stop") is False:
        raise unfinished("stop: false")
    text = answer_text(written if isinstance(written, str) else None, reason, "content")
    usage = counted(answer, "tokens_evaluated", "tokens_predicted", at="")
    model = answer.get("model")
    return Reply(
        text=text,
        output=text,
        usage=usage,
        cost_usd=cost(price, usage),
        model=model if isinstance(model, str) else "",
        finish_reason=reason,
    )


DIALECT = Dialect(
    vendor="llama",
    messages=prompt_body,
    settings=_settings,
    read=_read,
    limits=("n_predict",),
    chats=False,
)
