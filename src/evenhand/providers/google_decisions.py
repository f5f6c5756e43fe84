"""Decision models over Gemini's Decisions API.

The form is that of the types of `google-genai` 3.6 (`_gaos/types/decisions`), and of its own tests, which send the
model's bare name. A state is sent as a text, JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.core.decision import DecisionRequest
from evenhand.core.encoding import encode
from evenhand.core.json_shapes import as_mapping
from evenhand.core.message import Reply, Usage
from evenhand.core.provider import Price
from evenhand.providers.chat import ChatProvider, counted
from evenhand.providers.decisions import DECIDES, no_messages, reader, settings_of
from evenhand.providers.google import DIALECT, provider_at
from evenhand.providers.system_one import answers_by_name, noul_question
from evenhand.providers.wanted import Wanted


def make(wanted: Wanted) -> ChatProvider:
    """A decision model of Google's, `google:decisions:<model>`."""
    return provider_at(wanted, wanted.rest.partition(":")[2], "decisions", DECISIONS)


def _input(request: DecisionRequest) -> dict[str, Any]:
    return {
        "input": encode(request.state, ordered=False).decode(),
        "questions": {name: noul_question(one, "") for name, one in request.questions.items()},
    }


def _tokens(value: Mapping[str, Any]) -> Usage:
    usage = counted(value, "total_input_tokens", "total_output_tokens", "total_cached_tokens")
    if usage.tokens_in is not None and usage.tokens_out is None:  # nothing is written
        return Usage(usage.tokens_in, 0, usage.tokens_cached)
    return usage


def _answers(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answers by name. Where the input was blocked there are none."""
    blocked = as_mapping(value.get("prompt_feedback")).get("block_reason")
    return {} if blocked else answers_by_name(value)


_read_answers = reader(_answers, _tokens)


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    reply = _read_answers(body, parsed, price)
    return reply if reply.output else replace(reply, refused=True, finish_reason="content_filter")


DECISIONS = replace(
    DIALECT,
    messages=no_messages,
    settings=settings_of,
    read=_read,
    tasks=DECIDES,
    decides=_input,
    most_questions=1000,
    limits=(),
    sampling="",
    structured=None,
    tools="",
    thought=None,
)
