"""Hands an application's own model calls to the run, so that what it asks is recorded like all else.

    recording.install()

records those of the whole process. A single client is recorded by what it is made with:

    client = OpenAI(http_client=recording.http_client())
    client = AsyncAnthropic(http_client=recording.async_http_client())

Outside a trial such a client is an ordinary one. In a trial each request to a model goes the way of `model.generate`:
the journal, the cache, the budget and the limits of the run hold for it, and the run asks again where that makes sense.
The application gets the vendor's answer, whether it is a reply or an error.

    with recording.role("judge"):
        grade(answer)  # what this asks is recorded as a judge's

Tools of an application are recorded as well, so that a run that replays need not run them:

    @recording.tool
    def look_up(order: str) -> dict: ...

The spans of an application that OpenTelemetry instruments become steps of the trial that they are made in:

    provider.add_span_processor(recording.SpanProcessor())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.core.arguments import checked
from evenhand.core.errors import UsageError
from evenhand.core.lazy import lazily
from evenhand.core.message import CallRole
from evenhand.engine.call_context import during as role
from evenhand.providers.app_call import Prices

if TYPE_CHECKING:
    from evenhand.doors.recording.installing import Installed as Installed
    from evenhand.doors.recording.installing import install as install
    from evenhand.doors.recording.spans import SpanProcessor as SpanProcessor
    from evenhand.doors.recording.tools import tool as tool
    from evenhand.doors.recording.transport import AsyncTransport as AsyncTransport
    from evenhand.doors.recording.transport import Transport as Transport

__all__ = [
    "AsyncTransport",
    "Installed",
    "SpanProcessor",
    "Transport",
    "async_http_client",
    "http_client",
    "install",
    "role",
    "tool",
]
__getattr__, __dir__ = lazily(
    __name__,
    {
        "AsyncTransport": "transport",
        "Installed": "installing",
        "SpanProcessor": "spans",
        "Transport": "transport",
        "install": "installing",
        "tool": "tools",
    },
)

_LIBRARIES = ("httpx2", "httpx")
_CONNECTIONS = 1000


@checked
def http_client(
    *, role: CallRole | None = None, prices: Prices | None = None, library: Any = None
) -> Any:
    """A client for the plain half of an SDK, e.g. `OpenAI(http_client=…)`.

    Args:
        role: What its calls are recorded as; None for set-up in a fixture, judge in a scorer, and subject elsewhere.
        prices: What models cost that the price list does not know: name → (US dollars per million tokens in, out).
        library: The module that the client is to be of; None for `httpx2`, or `httpx` where there is none.

    Raises:
        UsageError: Neither is installed, or a price is none.
    """
    from evenhand.doors.recording.transport import Transport  # noqa: PLC0415 (the engine, not wanted before)

    chosen = library or _library()
    limits = chosen.Limits(max_connections=_CONNECTIONS)
    transport = Transport(chosen.Client(limits=limits), role=role, prices=prices)
    # Redirects are followed as the SDKs' own clients do, where httpx by itself does not.
    return chosen.Client(transport=transport, follow_redirects=True)


@checked
def async_http_client(
    *, role: CallRole | None = None, prices: Prices | None = None, library: Any = None
) -> Any:
    """A client for the async half of an SDK, e.g. `AsyncOpenAI(http_client=…)`; see `http_client`."""
    from evenhand.doors.recording.transport import AsyncTransport  # noqa: PLC0415 (imported on use)

    chosen = library or _library()
    limits = chosen.Limits(max_connections=_CONNECTIONS)
    transport = AsyncTransport(chosen.AsyncClient(limits=limits), role=role, prices=prices)
    return chosen.AsyncClient(transport=transport, follow_redirects=True)


def _library() -> Any:
    """What the SDKs talk HTTP with: the newer ones with `httpx2`, the older ones with `httpx`."""
    for name in _LIBRARIES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UsageError(
        "a recording client needs httpx2 or httpx, and neither is installed",
        hint="Both SDKs bring one: pip install openai, or pip install anthropic.",
    )
