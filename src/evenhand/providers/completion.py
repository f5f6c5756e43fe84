"""OpenAI's plain completions: a text goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.core.json_shapes import as_mapping
from evenhand.core.message import Reply
from evenhand.core.provider import Price
from evenhand.providers.answer_text import answer_text, besides, ending
from evenhand.providers.chat import Dialect, counted, passed_on
from evenhand.providers.embeddings import looked_up, prompt_body
from evenhand.providers.openai import bearer, rates
from evenhand.providers.prices import cost

_NAMES = "max_tokens temperature top_p presence_penalty frequency_penalty best_of stop seed suffix".split()


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {} if config.get("omitDefaults") else {"max_tokens": 1024, "temperature": 0}
    own = passed_on(config, {name: name for name in _NAMES})
    return {"model": model, **defaults, **own, **(config.get("passthrough") or {})}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed
    answer, first = looked_up(body, lambda answer: answer["choices"][0], "completion")
    choice = as_mapping(first)
    usage = counted(answer, "prompt_tokens", "completion_tokens")
    reason = ending(choice.get("finish_reason"), choice.get("error") or answer.get("error"))
    written = choice.get("text")
    text = answer_text(
        written if isinstance(written, str) else None,
        reason,
        "choices[0].text",
        besides(choice, "text", "message"),
    )
    return Reply(
        text=text,
        output=text,
        usage=usage,
        cost_usd=cost(price, usage),
        model=str(answer.get("model") or ""),
        finish_reason=reason,
        refused=reason == "content_filter",
    )


DIALECT = Dialect(
    vendor="openai",
    version="",
    headers=bearer,
    messages=prompt_body,
    settings=_settings,
    read=_read,
    limits=("max_tokens",),
    rates=rates,
    chats=False,
)
