"""Moderation over HTTP: a text in, the categories that it violates out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_mapping, is_object
from evenhand.core.message import Reply, Task, Usage
from evenhand.core.provider import Price
from evenhand.providers.chat import Dialect
from evenhand.providers.embeddings import input_text, looked_up
from evenhand.providers.openai import bearer, rates

MODERATES: frozenset[Task] = frozenset({"moderate"})
"""The tasks of a model that moderates and does nothing else."""


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": model, **(config.get("passthrough") or {})}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    """Reads a verdict on a text. Moderation is charged for by the text, or not at all: tokens are not counted."""
    del parsed
    answer, first = looked_up(body, lambda answer: answer["results"][0], "moderation")
    result = as_mapping(first)
    flags, scores = result.get("categories"), result.get("category_scores")
    if not is_object(flags) or not is_object(scores):
        raise BadReply("the reply's moderation cannot be read", billed=None)
    flagged = {str(name): _score(scores.get(name)) for name, flag in flags.items() if flag is True}
    return Reply(
        text="",
        output=flagged,
        usage=Usage(),
        cost_usd=0.0 if price is not None and price.usd_in == 0 else None,
        model=str(answer.get("model") or ""),
    )


def _score(value: object) -> float:
    """How sure it is; a category that is flagged without a number counts whole."""
    return float(value) if type(value) in (int, float) else 1.0  # pyright: ignore[reportArgumentType]


DIALECT = Dialect(
    vendor="openai",
    version="",
    headers=bearer,
    messages=input_text,
    settings=_settings,
    read=_read,
    rates=rates,
    chats=False,
    tasks=MODERATES,
)
