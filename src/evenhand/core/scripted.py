"""Where scripted replies come from: a server on a port of its own, in each run another one.

What is asked there is the same request in each run, so its name leaves the address out.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from evenhand.core.encoding import digest
from evenhand.core.message import Origin
from evenhand.core.provider import Request

script_address: ContextVar[str] = ContextVar("scripted", default="")
_ANY_PORT = re.compile(rb"http://127\.0\.0\.1:\d+")
SCRIPTED = "models and judges answered from a script (--offline)"
"""What is said of a gate whose replies were scripted."""
REPLY_LIKE = " · its reply is like "
"""What stands in a script's answer before the shape that a reply would have."""
SCRIPT_HAS_NO_PRICE = "scripted replies (--offline) have no price"
"""Why a bound on costs is not applicable."""
NO_RULE = " has no rule for: "
"""What a script answers that knows no reply."""
A_RULE_SAID_SO = (
    "A rule of offline.jsonl replied that: correct it, or give it the `model` that it is for."
)
"""What to do about a judge's reply that is of no use, and would be the same again."""
_SCRIPTED = b"scripted:"
ReplySource = Literal["provider", "cache", "journal", "replay", "script"]
"""Where a reply came from, for people: an `Origin`, or the script that stands in for a provider."""


@contextlib.contextmanager
def scripted_at(address: str) -> Iterator[None]:
    """Inside, replies from this address are scripted."""
    token = script_address.set(address)
    try:
        yield
    finally:
        script_address.reset(token)


def script_answers() -> bool:
    """Whether a script answers here, in place of models."""
    return bool(script_address.get())


def answers_at(url: str) -> bool:
    """Whether replies from this address are scripted, or nothing is sent there."""
    address = script_address.get()
    return bool(address) and url.startswith(f"{address}/")


def scripted_url(url: str) -> str:
    """This address, but at the script's server, if a script answers in place of models."""
    address = script_address.get()
    if not address or answers_at(url):
        return url
    parts = urlsplit(url)
    return address + urlunsplit(("", "", parts.path, parts.query, ""))


def request_name(request: Request) -> str:
    """The hash of a request, the same in each run: its key; of one for the script, without the address."""
    address = script_address.get()
    return digest(without_address(request.identity)) if address else request.key


def without_address(identity: bytes) -> bytes:
    """The identity of a request, without the script's address where it has it."""
    address = script_address.get()
    return identity.replace(address.encode(), _SCRIPTED) if address else identity


def without_port(identity: bytes) -> bytes:
    """The identity of a request that a script answered in some run, without the address that the script had."""
    return _ANY_PORT.sub(_SCRIPTED, identity)


def came_from(origin: Origin, identity: bytes, *, scripted: bool) -> ReplySource:
    """Where a reply came from, for people: that of a provider, in a scripted run, from the script.

    >>> came_from("provider", b'{"url": "http://127.0.0.1:80/v1"}', scripted=True)
    'script'
    """
    by_script = scripted and origin == "provider" and _ANY_PORT.search(identity)
    return "script" if by_script else origin


def journaled_name(key: str, identity: bytes, *, scripted: bool) -> str:
    """The hash of a request that a run's journal has; see `request_name`."""
    return digest(without_port(identity)) if scripted else key
