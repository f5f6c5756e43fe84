"""A journaled answer, read again without the provider that asked for it: the address says whose it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from evenhand.core.encoding import decode, decoded, encode
from evenhand.core.errors import EvenhandError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.listed_steps import listed_steps
from evenhand.core.message import Reply
from evenhand.providers import anthropic, google, openai
from evenhand.providers.agent_servers import served_answer
from evenhand.providers.answer_text import NoAnswer
from evenhand.providers.app_call import kind_of, read_answer

_AGENT = b'{"agent":'


def journaled_reply(identity: bytes, body: bytes) -> Reply:
    """What a model answered.

    Args:
        identity: The request as it was journaled.
        body: The answer as it came.

    An answer in no known form is its JSON, or its text. An empty body is an empty reply.
    """
    try:
        return _read(_address(identity), body)
    except (EvenhandError, ValueError, TypeError, LookupError, AttributeError):
        return _as_it_is(body)


def _read(url: str, body: bytes) -> Reply:
    # An answer that was made in the background is at its own address, below the one that it was asked for at.
    kind = kind_of(url) or kind_of(url.rpartition("/")[0])
    if kind:
        reply = read_answer(kind, body)
    elif ":generateContent" in url:
        reply = google.DIALECT.read(body, False, None)
    elif ":rawPredict" in url:
        reply = anthropic.DIALECT.read(body, False, None)
    else:
        return _as_it_is(body)
    return reply


def _as_it_is(body: bytes) -> Reply:
    """What a function, a program or a web service answered."""
    if body.startswith(_AGENT):
        from evenhand.providers.command_agents.agent import (  # noqa: PLC0415 (seldom there)
            agent_reply,
        )

        reply = agent_reply(body)
        if reply is not None:
            return reply
    with suppress(NoAnswer):
        served = served_answer(body)
        if served is not None:
            return served
    try:
        value = decode(body)
    except ValueError:
        text = body.decode("utf-8", "replace").strip()
        return Reply(text, text)
    fields = as_mapping(value)
    if isinstance(fields.get("answer"), dict):  # the bridge's
        inner = encode(fields["answer"], ordered=False)
        return replace(openai.DIALECT.read(inner, False, None), cost_usd=fields.get("cost_usd"))
    output = fields.get("output", value)
    text = output if isinstance(output, str) else body.decode("utf-8", "replace")
    return Reply(text, output, steps=listed_steps(fields.get("steps")))


def _address(identity: bytes) -> str:
    url = as_mapping(decoded(identity)).get("url")
    return url if isinstance(url, str) and urlsplit(url).scheme else ""
