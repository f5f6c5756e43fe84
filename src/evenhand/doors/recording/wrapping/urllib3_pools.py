"""urllib3, with which requests, botocore and so boto3 talk: the method that all its pools send with."""

from __future__ import annotations

import asyncio
import functools
import inspect
import io
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from evenhand.core.errors import CodeError, ProviderError, TimedOut
from evenhand.core.record import Record
from evenhand.doors.recording.exchange import Exchange, ResponseHead, hop, refusal, refuse_to_block
from evenhand.doors.recording.outgoing import Outgoing, exchange_for, running_loop, trial_for
from evenhand.doors.recording.transport import ON_LOOP
from evenhand.doors.recording.wrapping.own_routes import (
    Incoming,
    in_thread,
    is_usual_bundle,
    trusts_usual,
)
from evenhand.doors.recording.wrapping.recorder import (
    Recorder,
    Replaced,
    answers_urllib3,
    is_meant,
    may_be_meant,
    recorder_here,
)
from evenhand.engine.call_context import pass_by
from evenhand.providers.app_call import Sender
from evenhand.providers.http_answer import HttpAnswer, Listener

_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_PIECE = 65_536


def wrap(library: Any) -> list[Replaced]:
    """Wraps the pools of urllib3."""
    answered = _streamed(library)

    def wrapped(before: Callable[..., Any]) -> Callable[..., Any]:
        named = inspect.signature(inspect.unwrap(before)).bind

        @functools.wraps(before)
        def urlopen(self: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = recorder_here()
            if recorder is None:
                return before(self, *args, **kwargs)
            more: dict[str, Any] = named(self, *args, **kwargs).arguments
            more |= more.pop("response_kw", {})
            method, url = more["method"], _whole_url(self, more["url"])
            if not may_be_meant(method, url) or answers_urllib3(self, before):
                return before(self, *args, **kwargs)
            more["body"] = sent = _read(more.get("body"))
            sent = sent.encode() if isinstance(sent, str) else sent or b""
            del more["self"]
            through = functools.partial(before, self, **more)
            if not is_meant(method, url, lambda: sent):
                return through()
            headers = self.headers if more.get("headers") is None else more["headers"]
            own = {_text(name).lower(): _text(value) for name, value in headers.items()}
            call = _PoolCall(
                pool=self,
                request=Outgoing(method, url, own),
                body=sent,
                timeout=more.get("timeout"),
                through=through,
            )
            answer = _answer(call, recorder)
            return through() if answer is None else answered(answer, method, url, more)

        return urlopen

    return [Replaced.by(library.connectionpool.HTTPConnectionPool, "urlopen", wrapped)]


class _PoolCall(Record, frozen=True, kw_only=True):
    """What a pool is about to send, its body read, and how it would."""

    pool: Any
    request: Outgoing
    body: bytes
    timeout: Any
    through: Callable[..., Any]

    @property
    def sender(self) -> Sender | None:
        """Sends it by the pool, where that goes a way of its own."""
        return in_thread(self._send) if _has_own_route(self.pool) else None

    def _send(self, listener: Listener | None) -> HttpAnswer:
        started = time.perf_counter()
        response = self.through(preload_content=False)
        try:
            incoming = Incoming(response.status, response.headers, listener, started)
            return incoming.read(_unpacked(response))
        finally:
            response.release_conn()


def _unpacked(response: Any) -> Iterator[bytes]:
    """The pieces of an answer as they come; urllib3's `stream` waits for full ones."""
    while piece := response.read1(_PIECE, decode_content=True):
        yield piece


def _has_own_route(pool: Any) -> bool:
    if type(pool).__module__.partition(".")[0] not in ("urllib3", "botocore"):  # of a socket's
        return True
    if pool.proxy is not None or pool.conn_kw.get("source_address"):
        return True
    if pool.scheme != "https":
        return False
    others = ("cert_file", "ca_cert_dir", "assert_hostname", "assert_fingerprint")
    if pool.cert_reqs in ("CERT_NONE", ssl.CERT_NONE) or any(getattr(pool, o) for o in others):
        return True
    return not (is_usual_bundle(pool.ca_certs) and trusts_usual(pool.conn_kw.get("ssl_context")))


def _answer(
    call: _PoolCall, recorder: Recorder
) -> tuple[ResponseHead, Exchange | None, asyncio.AbstractEventLoop | None] | None:
    """What a run answers; None for what is to be sent as it would have been."""
    trial = trial_for(call.request)
    if isinstance(trial, CodeError):
        return refusal(trial), None, None
    if trial is None or trial.home is None:
        return None
    loop = trial.home.loop
    if running_loop() is loop:
        if recorder.strict:
            return refuse_to_block(trial), None, None
        error = pass_by(f"{call.request.name} ({ON_LOOP})", trial)
        return None if error is None else (refusal(error), None, None)
    exchange = exchange_for(
        trial,
        call.request,
        call.body,
        _seconds(call.timeout),
        role=recorder.role,
        prices=recorder.prices,
        sender=call.sender,
    )
    try:
        return hop(loop, exchange.opened), exchange, loop
    except ProviderError as error:
        raise _raised(call.pool, call.request.url, error) from error


class _Pieces(io.RawIOBase):
    """The pieces of an exchange as a file."""

    def __init__(self, exchange: Exchange, loop: asyncio.AbstractEventLoop, failed: Any) -> None:
        self._exchange, self._loop, self._failed = exchange, loop, failed
        self._left = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(functools.partial(self.read, _PIECE), b""))
        if not self._left:
            try:
                self._left = hop(self._loop, self._exchange.next)
            except ProviderError as error:
                raise self._failed(str(error)) from error
        piece, self._left = self._left[:size], self._left[size:]
        return piece

    read1 = read

    def close(self) -> None:
        if not self.closed and not self._exchange.done:
            hop(self._loop, self._exchange.close)
        super().close()


def _streamed(library: Any) -> Callable[..., Any]:
    """Makes answers of urllib3's own kind."""

    class Streamed(library.HTTPResponse):
        """One whose pieces are handed on as they come: urllib3 would wait until a block of them is full."""

        def stream(self, amt: int | None = _PIECE, decode_content: bool | None = None) -> Any:
            del decode_content  # what comes through a run is unpacked already
            return _each(self._fp, amt or _PIECE)

    def answered(
        answer: tuple[ResponseHead, Exchange | None, asyncio.AbstractEventLoop | None],
        method: str,
        url: str,
        more: Mapping[str, Any],
    ) -> Any:
        head, exchange, loop = answer
        live = head.body is None and exchange is not None and loop is not None
        file: Any = io.BytesIO(head.body or b"")
        if head.body is None and exchange is not None and loop is not None:
            file = _Pieces(exchange, loop, library.exceptions.ProtocolError)
        return (Streamed if live else library.HTTPResponse)(
            body=file,
            headers=dict(head.headers),
            status=head.status,
            version=11,
            reason="OK" if head.status < 400 else "",
            preload_content=more.get("preload_content", True),
            decode_content=more.get("decode_content", True),
            request_method=method,
            request_url=url,
            enforce_content_length=False,
        )

    return answered


def _each(file: Any, size: int) -> Iterator[bytes]:
    while piece := file.read(size):
        yield piece
    file.close()


def _raised(pool: Any, url: str, error: ProviderError) -> Exception:
    from urllib3 import exceptions  # noqa: PLC0415 (it is there: its pool has asked)

    if isinstance(error, TimedOut):
        return exceptions.ReadTimeoutError(pool, url, str(error))
    return exceptions.ProtocolError(str(error))


def _seconds(timeout: Any) -> float | None:
    """The time for reading, of a `Timeout` or a number; None where it isn't said."""
    read = getattr(timeout, "read_timeout", timeout)
    return float(read) if isinstance(read, (int, float)) else None


def _whole_url(pool: Any, url: str) -> str:
    if url.startswith(("http://", "https://")):  # as a proxy is told
        return url
    host = f"[{pool.host}]" if ":" in pool.host else pool.host
    port = "" if pool.port in (None, _PORTS.get(pool.scheme)) else f":{pool.port}"
    return f"{pool.scheme}://{host}{port}{url}"


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _read(body: Any) -> bytes | str | None:
    """What is to be sent, out of all that urllib3 takes."""
    if body is None or isinstance(body, (bytes, str)):
        return body
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body)
    if hasattr(body, "read"):
        read = body.read()
        return read if isinstance(read, (bytes, str)) else bytes(read)
    parts = cast("Iterable[bytes | str]", body)
    return b"".join(part.encode() if isinstance(part, str) else part for part in parts)
