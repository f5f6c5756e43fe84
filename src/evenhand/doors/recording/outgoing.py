"""What an application is about to send, whatever library it sends it with, and the trial that it belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from evenhand.core.errors import CodeError
from evenhand.core.message import CallRole, ToolCall
from evenhand.core.record import Record
from evenhand.core.scripted import scripted_url
from evenhand.doors.recording import background
from evenhand.doors.recording.exchange import Exchange
from evenhand.engine.call_context import meet, phase
from evenhand.engine.strays import is_elsewhere, trial_here
from evenhand.engine.trial import LiveTrial
from evenhand.providers.app_call import AppCall, Prices, Sender
from evenhand.providers.http import TIMEOUT_S

RETRIES = "x-stainless-retry-count"


class Outgoing(Record, frozen=True):
    """A request without its body.

    Attributes:
        method: In capitals.
        url: Whole.
        headers: With lower-case names.
    """

    method: str
    url: str
    headers: Mapping[str, str]

    @property
    def name(self) -> str:
        """A name for people: `POST api.openai.com/v1/responses`."""
        parts = urlsplit(self.url)
        return f"{self.method} {parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def is_retried(self) -> bool:
        """Whether the SDK sends it again: its run has done so, as often as makes sense."""
        return self.headers.get(RETRIES, "0") != "0"


def own_trial() -> LiveTrial | None:
    """The trial that code is at work for, if its run is still under way; None for none."""
    trial = trial_here()
    if trial is None or trial.home is None or trial.home.over or is_elsewhere(trial):
        return None
    return trial


def trial_for(request: Outgoing) -> LiveTrial | CodeError | None:
    """The trial that a request belongs to; None for what is no run's business; why it must not be sent."""
    waiting = background.trial_of(request.method, request.url)
    if waiting is not None:
        return waiting
    if request.method != "POST":
        return None
    return own_trial() or meet(request.name)


def exchange_for(
    trial: LiveTrial,
    request: Outgoing,
    body: bytes,
    timeout_s: float | None,
    *,
    role: CallRole | None,
    prices: Prices,
    sender: Sender | None = None,
) -> Exchange:
    """The exchange that asks for the trial.

    Args:
        timeout_s: Seconds that one attempt may take; for a stream, that it may pause. None or 0 for the usual.
        role: What it is recorded as; None for what its trial does just now.
        prices: Of models that the price list does not know.
        sender: Sends it as the application's client would, where that goes a way of its own; None elsewhere.
    """
    before = trial.own.asked if trial.own is not None else ()
    call = _call(request, body, timeout_s or TIMEOUT_S, prices, before)
    if call.url == request.url:  # a scripted model is asked where it is
        call.sender = sender
    return Exchange(trial, call, role or role_of(call), request.is_retried)


def role_of(call: AppCall) -> CallRole:
    """What a call counts as where nobody says: as what its trial does just now; but what asks no model, as set-up."""
    return phase.get() if call.asks_a_model else "setup"


def _call(
    request: Outgoing, body: bytes, timeout_s: float, prices: Prices, asked: Sequence[ToolCall]
) -> AppCall:
    call = background.call_of(request.method, request.url, request.headers)
    if call is not None:
        return call
    url, headers = request.url, request.headers
    call = AppCall.of(url, headers, body, timeout_s, prices, asked)
    # Only models are scripted: an application's other services are asked where they are.
    if call.place is None or scripted_url(url) == url:
        return call
    return AppCall.of(scripted_url(url), headers, body, timeout_s, prices, asked)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread; None for none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
