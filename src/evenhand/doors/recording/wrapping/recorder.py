"""Which requests of the process's clients go through the run, while its transports are wrapped.

A request that is no model's, or that no run has to do with, is looked at and sent as it would have been.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from evenhand.core.errors import CodeError
from evenhand.core.message import CallRole
from evenhand.core.own_requests import own_request
from evenhand.core.record import Record
from evenhand.doors.recording import background
from evenhand.doors.recording.outgoing import own_trial
from evenhand.engine.call_context import VARIABLE, alive, meet, pass_by
from evenhand.engine.strays import trial_here
from evenhand.providers.app_call import Prices
from evenhand.providers.vendor_hosts import asks_a_model, may_ask_a_model


class Recorder(Record, frozen=True):
    """How calls are recorded; see `evenhand.recording.install`.

    Attributes:
        role: What they are recorded as; None for what their trial does just now.
        prices: Of models that the price list does not know.
        strict: Whether what can't be recorded is an error. Otherwise it is sent, and the report names it.
    """

    role: CallRole | None
    prices: Prices
    strict: bool


recorders: list[Recorder] = []
"""The recorders of this process; the last one installed is in force."""


def recorder_here() -> Recorder | None:
    """The recorder, where a run may have to do with what is sent here; None for none."""
    if not recorders or own_request.get():
        return None
    if trial_here() is None and not alive and VARIABLE not in os.environ:
        return None
    return recorders[-1]


def may_be_meant(method: str, url: str) -> bool:
    """Whether a request may ask a model, whatever its body is, or gets an answer that a trial waits for."""
    if method == "POST":
        return may_ask_a_model(url)
    return method == "GET" and background.trial_of(method, url) is not None


def is_meant(method: str, url: str, body: Callable[[], bytes]) -> bool:
    """Whether a request that may be meant is."""
    return method != "POST" or asks_a_model(url, body)


def unseen(call: str) -> CodeError | None:
    """Notes a call that asks a model and can't be recorded; returns why it must not be sent, where it must not."""
    trial = own_trial()
    return meet(call) if trial is None else pass_by(call, trial)


_stale: WeakKeyDictionary[FunctionType, Any] = WeakKeyDictionary()
"""What couldn't be put back, by what has wrapped it."""


class Replaced(Record, frozen=True):
    """An attribute that has been given another value, until it is put back."""

    owner: Any
    name: str
    before: Any
    after: Any

    @staticmethod
    def by(owner: Any, name: str, wrapped: Callable[[Any], Any]) -> Replaced:
        """Gives the attribute the value that `wrapped` makes of its own."""
        before = getattr(owner, name)
        # A mock that outlived an earlier wrapping has put that back: only what is below it counts.
        while isinstance(before, FunctionType) and before in _stale:
            before = _stale[before]
        after = wrapped(before)
        setattr(owner, name, after)
        return Replaced(owner, name, before, after)

    def put_back(self) -> None:
        """Restores it, unless somebody has replaced it since: what we left there then only passes on."""
        if getattr(self.owner, self.name) is self.after:
            setattr(self.owner, self.name, self.before)
        elif isinstance(self.after, FunctionType):
            _stale[self.after] = self.before


# respx and VCR.py replace methods of httpx or httpcore, or the connections of urllib3: their answers are what the
# test wants. Tools that only watch, such as OpenTelemetry's, wrap a method as well, and go on to it.
_HTTPX = ("httpx", "httpx2")
_URLLIB3 = ("urllib3", "botocore")
_MOCKS = ("vcr", "respx", "pytest_httpx", "responses", "requests_mock", "pook", "mocket")
"""These say which method they stand in for, as those do that only watch."""


def answers_httpx(transport: Any, before: Any) -> bool:
    """Whether something else than the library answers what this transport sends.

    Args:
        transport: One of httpx's or httpx2's.
        before: Its method that sends, as it was before it was wrapped.
    """
    if _is_replaced(before, *_HTTPX):
        return True
    pool: Any = type(getattr(transport, "_pool", transport))
    methods = (getattr(pool, name, None) for name in ("handle_request", "handle_async_request"))
    return any(_is_replaced(method, _library(pool)) for method in methods if method is not None)


def answers_urllib3(pool: Any, before: Any) -> bool:
    """Whether something else than urllib3 or botocore answers what this pool sends; see `answers_httpx`."""
    return _is_replaced(before, *_URLLIB3) or _is_replaced(pool.ConnectionCls, *_URLLIB3)


def _is_replaced(thing: Any, *libraries: str) -> bool:
    """Whether a method or a class that belongs to one of these libraries has been replaced."""
    code = getattr(thing, "__globals__", {}).get("__name__", "")
    if code.partition(".")[0] in _MOCKS:
        return True
    return _library(thing if isinstance(thing, type) else inspect.unwrap(thing)) not in libraries


def _library(thing: Any) -> str:
    return str(getattr(thing, "__module__", "")).partition(".")[0]
