"""Ways to a model that can't be recorded: each is watched, so that a run names what went there.

A run that replays, is offline or has a budget doesn't let such a call go.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from evenhand.core.errors import UsageError
from evenhand.doors.recording.wrapping.recorder import Replaced, may_be_meant, recorder_here, unseen
from evenhand.providers.vendor_hosts import is_vendors

_OF_URLLIB3 = ("urllib3.", "botocore.", "pip.")
_CHANNELS = ("secure_channel", "insecure_channel")


def watch_http_client(library: Any) -> list[Replaced]:
    """The standard library's `http.client`, which `urllib.request` and httplib2 use. urllib3 is wrapped itself."""

    def watched(before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def putrequest(self: Any, method: str, url: str, *args: Any, **more: Any) -> Any:
            if recorder_here() is not None and not type(self).__module__.startswith(_OF_URLLIB3):
                whole = url if "://" in url else f"https://{self.host}{url}"
                if method == "POST" and may_be_meant(method, whole):
                    port = "" if self.port in (80, 443) else f":{self.port}"
                    _note(f"POST {self.host}{port}{urlsplit(url).path} (through http.client)")
            return before(self, method, url, *args, **more)

        return putrequest

    return [Replaced.by(library.HTTPConnection, "putrequest", watched)]


def watch_grpc(library: Any) -> list[Replaced]:
    """gRPC, which Google's older clients use."""

    def watched(before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def channel(target: str, *args: Any, **more: Any) -> Any:
            host = target.removeprefix("dns:///").partition(":")[0]
            if recorder_here() is not None and is_vendors(host):
                _note(f"{host} (through gRPC)")
            return before(target, *args, **more)

        return channel

    owners = [library, *([library.aio] if hasattr(library, "aio") else [])]
    return [Replaced.by(owner, name, watched) for owner in owners for name in _CHANNELS]


def watch_websockets(library: Any) -> list[Replaced]:
    """websockets, through which realtime models are talked to."""

    def watched(before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def connect(*args: Any, **more: Any) -> Any:
            _meet_socket(str(args[-1] if args else more.get("uri", "")))
            return before(*args, **more)

        return connect

    connect = library.connect
    if isinstance(connect, type):  # the async one is a class, so that `async with connect(…)` works

        def initialised(before: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(before)
            def begin(self: Any, uri: str, *args: Any, **more: Any) -> None:
                _meet_socket(uri)
                before(self, uri, *args, **more)

            return begin

        return [Replaced.by(connect, "__init__", initialised)]
    return [Replaced.by(library, "connect", watched)]


def _meet_socket(uri: str) -> None:
    recorder, parts = recorder_here(), urlsplit(uri)
    host = parts.hostname or ""
    if recorder is None or not (is_vendors(host) or parts.path.endswith("/realtime")):
        return
    call = f"{host}{parts.path} (through a websocket)"
    if recorder.strict:
        raise UsageError(
            f"a realtime conversation can't be recorded: {call}",
            hint="Evaluate the application's text path, or give evenhand the recorded answers with score_batch.",
        )
    _note(call)


def _note(call: str) -> None:
    error = unseen(call)
    if error is not None:
        raise error
