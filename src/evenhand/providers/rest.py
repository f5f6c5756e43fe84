"""A code host's REST API: JSON in and out, with rate limits waited for, as long as that is bearable.

A question is asked again when it was refused for its rate, or failed. A change is not: by then somebody else may have
made another one, so whoever wanted it has to look first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from evenhand.core.encoding import decode, decoded, encode
from evenhand.core.errors import (
    AuthError,
    BadReply,
    ConnectionFailed,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
)
from evenhand.core.json_shapes import as_mapping
from evenhand.core.version import __version__
from evenhand.providers.http import HttpAnswer, transport
from evenhand.providers.retry_after import retry_after, until

PATIENCE_S = 120.0
TIMEOUT_S = 30.0
TRIES = 6
_LIMITED = ("rate limit", "abuse detection")


class Waited(ProviderError):
    """A change was refused for its rate. The wait is over: look, and try again."""


def is_gone(error: ProviderError) -> bool:
    """Whether something is not there, or not for this token to see."""
    return error.status in (404, 410)


@dataclass(slots=True)
class Api:
    """One host's API.

    Attributes:
        headers: Sent with each request: the token, as a rule.
        patience_s: Seconds to wait for rate limits, all waits together.
        sleep: Waits so many seconds.
    """

    root: str
    headers: Mapping[str, str]
    patience_s: float = PATIENCE_S
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _waited: float = field(default=0.0)

    async def ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> tuple[Any, Mapping[str, str]]:
        """Sends one request; the answer's JSON (None for none), and its headers.

        Args:
            method: GET, POST, PATCH, PUT or DELETE.
            path: Below the root, or a whole address below it.
            body: What is sent as JSON.

        Raises:
            AuthError: The token is wrong, or may not do this: its status says which.
            RateLimited: It would have to wait longer than it may.
            Waited: A change was refused for its rate, and can be tried again now.
            ProviderError: Anything else; see `is_gone`.
        """
        failures = refusals = 0
        while True:
            try:
                answer = await self._sent(method, path, body)
            except (ConnectionFailed, TimedOut, Overloaded):
                failures += 1
                if method != "GET" or failures >= TRIES:
                    raise
                await self.sleep(2.0 ** (failures - 1))
                continue
            wait = _wait_of(answer, refusals)
            if wait is None:
                _raise_for(answer, self.root)
                return _json(answer), answer.headers
            refusals += 1
            await self._wait(wait, answer.status)
            if method != "GET":
                raise Waited(f"{self.root} was at its rate limit", status=answer.status)

    async def _wait(self, seconds: float, status: int) -> None:
        """Waits, as long as all waits together may take; raises RateLimited where that would be too long."""
        if self._waited + seconds > self.patience_s:
            raise RateLimited(
                f"{self.root} is at its rate limit, and asks to wait {seconds:,.0f} s more",
                hint="Run this step again later.",
                status=status,
            )
        self._waited += seconds
        await self.sleep(seconds)

    async def _sent(self, method: str, path: str, body: Mapping[str, object] | None) -> HttpAnswer:
        url = path if path.startswith(self.root) else self.root + path
        headers = {
            "Accept": "application/json",
            "User-Agent": f"evenhand/{__version__}",
            **({"Content-Type": "application/json"} if body is not None else {}),
            **self.headers,
        }
        data = None if body is None else encode(body)
        answer = await transport().post(url, headers, data, TIMEOUT_S, method)
        if answer.status >= 500:
            raise Overloaded(f"{self.root} answered {answer.status}", status=answer.status)
        return answer


def _wait_of(answer: HttpAnswer, refusals: int) -> float | None:
    """Seconds that a refusal for its rate asks to wait; None for an answer that is none."""
    if answer.status not in (403, 429):
        return None
    wait_s = retry_after(answer.headers)
    if wait_s is None and answer.headers.get("x-ratelimit-remaining") == "0":
        wait_s = _until_reset(answer.headers)
    text = answer.body[:2000].decode("utf-8", "replace").lower()
    if wait_s is None and answer.status == 403 and not any(word in text for word in _LIMITED):
        return None
    return max(1.0, wait_s) if wait_s is not None else 15.0 * 2.0**refusals


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until the moment that `x-ratelimit-reset` names, in seconds since 1970, by the host's own clock."""
    text = headers.get("x-ratelimit-reset", "")
    if not text.isdecimal() or len(text) > 11:
        return None
    return until(datetime.fromtimestamp(int(text), UTC).isoformat(), headers.get("date", ""))


def _raise_for(answer: HttpAnswer, root: str) -> None:
    if answer.status < 300:
        return
    message = f"{root} answered {answer.status}{_message(answer)}"
    if answer.status == 401:
        raise AuthError(f"{message}: the token is wrong or has expired", status=401)
    if answer.status == 403:
        raise AuthError(message, status=403)
    raise ProviderError(message, status=answer.status)


def _message(answer: HttpAnswer) -> str:
    message = as_mapping(decoded(answer.body)).get("message")
    return f" ({message:.200})" if isinstance(message, str) and message else ""


def _json(answer: HttpAnswer) -> Any:
    if not answer.body.strip():
        return None
    try:
        return decode(answer.body)
    except ValueError as error:
        raise BadReply(f"what was answered is not JSON: {error}", status=answer.status) from error
