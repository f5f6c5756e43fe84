"""A webhook: the prompt is posted to it as JSON, and it answers with JSON that holds an output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.core.errors import BadReply
from evenhand.core.message import Reply
from evenhand.core.provider import Price
from evenhand.providers.chat import ChatProvider, Dialect, seconds
from evenhand.providers.embeddings import looked_up, prompt_body
from evenhand.providers.prices import price_of
from evenhand.providers.wanted import Wanted


def make(wanted: Wanted) -> ChatProvider:
    """A webhook at this address."""
    return ChatProvider(
        id=wanted.id,
        label=wanted.label or wanted.id,
        model="",
        url=wanted.rest,
        key="",
        dialect=DIALECT,
        config=wanted.config,
        price=price_of("", "", wanted.config),
        timeout_s=seconds(wanted.config, wanted.id),
    )


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model
    return {"config": dict(config)} if config else {}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed, price
    _, text = looked_up(body, lambda answer: answer["output"], "output")
    if not isinstance(text, str):
        raise BadReply("the reply's output is not a text", billed=None)
    return Reply(text=text, output=text)


def _nobody(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    del key, config
    return {}


DIALECT = Dialect(
    vendor="webhook",
    version="",
    headers=_nobody,
    messages=prompt_body,
    settings=_settings,
    read=_read,
    chats=False,
)
