"""Answers that are made in the background: asked for with POST, and got with GET once they are there.

How this works: what a vendor answers while it is at work (`queued`, `in_progress`) is handed on as it is, once. Its
trial remembers at which address the answer will be. What is got from there is a call of the trial's, with the text, the
tokens and the cost; and what is got after that is no business of the run's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from evenhand.core.errors import ProviderError
from evenhand.core.scripted import scripted_url
from evenhand.engine.call_context import OwnCalls
from evenhand.engine.trial import LiveTrial, present
from evenhand.providers.answer_text import NoAnswer
from evenhand.providers.app_call import AppCall, AppReply
from evenhand.providers.chat import address_of


def trial_of(method: str, url: str) -> LiveTrial | None:
    """The trial that waits for what this request gets; None for every other request."""
    return None if call_of(method, url, {}) is None else present.get()


def call_of(method: str, url: str, headers: Mapping[str, str]) -> AppCall | None:
    """The call that this request is, where it gets an answer that a trial waits for; headers have lower-case names."""
    trial = present.get()
    if method != "GET" or trial is None or trial.own is None or not trial.own.pending:
        return None
    url = scripted_url(url)
    call = trial.own.pending.get(_plain(url))
    if call is None or trial.home is None or trial.home.over:
        return None
    return cast("AppCall", call).retrieval(url, headers)


def note(own: OwnCalls, call: AppCall, reply: AppReply) -> None:
    """Notes what an application has been given: an answer, none, or one that is still to come."""
    if reply.unanswered:
        own.unanswered = unanswered(reply.unanswered)
    address = _plain(call.url)
    if call.method == "POST" and reply.pending:
        own.pending[f"{address}/{reply.pending}"] = call
    elif call.method == "GET" and not reply.pending:
        own.pending.pop(address, None)


def unanswered(why: str) -> ProviderError:
    """The error of a trial whose application was given no answer, and has asked for no other."""
    return NoAnswer(
        f"the application was given no answer, and asked for no other: {why}",
        hint="If your application asks again, or goes on from it, the trial has a verdict.",
        billed=None,
    )


def _plain(url: str) -> str:
    return address_of(url).partition("?")[0].rstrip("/")
