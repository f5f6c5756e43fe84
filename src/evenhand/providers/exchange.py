"""One request and its answer, in a handle of libcurl's."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pycurl

from evenhand.core.errors import (
    BadReply,
    BadRequest,
    ConnectionFailed,
    ProviderError,
    TimedOut,
    Unreachable,
)
from evenhand.core.scripted import script_answers
from evenhand.providers.http_answer import Headers, HttpAnswer, Listener
from evenhand.providers.http_routes import Route, as_sent, host_of

if TYPE_CHECKING:
    from evenhand.providers.curl_loop import CurlLoop, Ending, KeptConnections, Name
    from evenhand.providers.unpacking import Unpacking

CONNECT_S = 15.0
_WITH_BODIES = ("POST", "PUT", "PATCH")
_LAPSED = -1  # beside libcurl's numbers: nothing came for too long
_WITHOUT_WORDS = {100: "the answer's headers are too long"}  # libcurl's number → what it means
_TIMEOUT_HINT = (
    "It may have been charged for. Set timeoutMs in the provider's config to wait longer."
)
_REACH_HINT = "Look at the address and the network; HTTPS_PROXY and NO_PROXY are honoured."
_OFFLINE_HINT = "--offline scripts models, and no program at another address: is it running?"


class Exchange:
    """A request and its answer, in a handle of libcurl's that is used again and again."""

    def __init__(self, kept: KeptConnections) -> None:
        self.curl: Any = pycurl.Curl()
        self.most = 0
        self.error: BaseException | None = None
        self._kept = kept
        self._is_sent = False
        self.is_stale = False
        """Whether nothing was sent, as the server had closed the connection that was kept."""
        self._is_renewed = False
        self._connection: Name = ("", 0, "", 0)
        self._url = ""
        self._route: Route | None = None
        self._method = ""
        self._headers: Mapping[str, str] | None = None
        self._timeout_s = 0.0
        self._body = b""
        self._read_so_far = 0
        self._head = bytearray()
        self._pieces: list[bytes] = []
        self._length = 0
        self._unpacking: Unpacking | None = None
        self._listener: Listener | None = None
        self._heard_at = 0.0
        self._sent_at = 0.0
        self._first_s: float | None = None  # measured where somebody listens
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.USERAGENT, ""),  # who asks is said by the headers, or not at all
            (pycurl.TCP_KEEPALIVE, 1),
            (pycurl.UPLOAD_BUFFERSIZE, 16 * 1024),
            (pycurl.SOCKOPTFUNCTION, kept.opened),
            (pycurl.PREREQFUNCTION, self._may_send),
            (pycurl.NOPROXY, ""),  # which proxy there is has been decided
            # Nor is it said how to read it a second time: what may have come through once isn't sent again.
            (pycurl.READFUNCTION, self._read),
            (pycurl.WRITEFUNCTION, self._write),
            (pycurl.HEADERFUNCTION, self._head.extend),
        ):
            self.curl.setopt(option, value)

    def prepare(
        self,
        url: str,
        route: Route,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_s: float,
        method: str,
    ) -> None:
        """Sets what is not as it was the last time.

        Raises:
            BadRequest: A header cannot be sent.
        """
        set_option = self.curl.setopt
        if url is not self._url:
            self._url = url
            set_option(pycurl.URL, as_sent(url))
        if route is not self._route:
            self._route = route
            set_option(pycurl.PROXY, route.proxy)
            if route.authorities:
                set_option(pycurl.CAINFO, route.authorities)
                set_option(pycurl.PROXY_CAINFO, route.authorities)
            if route.authorities_folder:
                set_option(pycurl.CAPATH, route.authorities_folder)
                set_option(pycurl.PROXY_CAPATH, route.authorities_folder)
        if body is None and method in _WITH_BODIES:
            body = b""  # some servers want to be told of its length, 0
        way = f"{method} {body is None}"
        if way != self._method:
            self._method = way
            _set_method(self.curl, method, has_body=body is not None)
        if headers != self._headers:
            set_option(pycurl.HTTPHEADER, _header_lines(headers, url))
            self._headers = dict(headers)
        if timeout_s != self._timeout_s:
            self._timeout_s = timeout_s
            set_option(pycurl.TIMEOUT_MS, _milliseconds(timeout_s))
            set_option(pycurl.CONNECTTIMEOUT_MS, _milliseconds(_connect_s(timeout_s)))
        if body is not None:
            set_option(pycurl.POSTFIELDSIZE_LARGE, len(body))
            self._body = body
            self._read_so_far = 0
        self._head.clear()
        self._pieces = []
        self._length = 0
        self._unpacking = None
        self._is_sent = False

    def tell(self, listener: Listener, limit_s: float, curls: CurlLoop) -> Lapse:
        """Tells somebody of the answer while it comes in, as long as something comes within the limit, in seconds."""
        self._listener = listener
        self.curl.setopt(pycurl.TIMEOUT_MS, 0)
        self.curl.setopt(pycurl.HEADERFUNCTION, self._hear)
        return Lapse(self, limit_s, curls)

    def renew(self) -> None:
        """Has the request go out over a new connection."""
        self.is_stale = False
        self._is_renewed = True
        self.curl.setopt(pycurl.FRESH_CONNECT, 1)

    @property
    def heard_at(self) -> float:
        """When something of the answer came last, as `time.monotonic` has it; 0 for not yet."""
        return self._heard_at

    def end(
        self, listener: Listener | None, ending: Ending, route: Route, timeout_s: float
    ) -> None:
        """Tells the listener of an answer that has no body.

        Raises:
            ProviderError: The exchange failed.
        """
        if self.error is not None:
            raise self.error
        if ending.number:
            raise _failure(self.curl, ending, route, timeout_s, is_sent=self._is_sent)
        if listener is not None and not self._length:
            listener.began(*_status_and_headers(self._head))

    def answer(self, ended_at: float) -> HttpAnswer:
        """The answer, now that it is whole.

        Raises:
            ConnectionFailed: It has no end, of which libcurl says nothing.
        """
        headers = Headers(bytes(self._head))
        if not headers.is_whole:
            raise _cut_off(self._url, "the answer's head has no end")
        if self._unpacking is not None and not self._unpacking.is_whole:
            raise _cut_off(self._url, "the answer is packed, and its end is missing")
        if self._is_renewed:
            self._is_renewed = False
            self.curl.setopt(pycurl.FRESH_CONNECT, 0)
        self._body = b""
        info = self.curl.getinfo
        sent_us = info(pycurl.PRETRANSFER_TIME_T)
        pieces, self._pieces = self._pieces, []
        return HttpAnswer(
            info(pycurl.RESPONSE_CODE),
            headers,
            pieces[0] if len(pieces) == 1 else b"".join(pieces),
            (info(pycurl.TOTAL_TIME_T) - sent_us) / 1e6,
            (info(pycurl.STARTTRANSFER_TIME_T) - sent_us) / 1e6
            if self._first_s is None
            else self._first_s,
            time.perf_counter() - ended_at,
        )

    def leave(self) -> None:
        """Uses its connection no more, and drops what came of an answer that is not taken.

        An error and what was being done then refer to each other, so that the answer would stay for a long time.
        """
        self._pieces = []
        if self._is_sent:
            self._is_sent = False
            self._kept.left(self._connection)

    def _may_send(self, there: str, here: str, port_there: int, port: int) -> int:
        """There is a connection, over which the request goes out now; 1 for no."""
        if self._is_sent:  # libcurl would send it a second time, as the first connection was lost
            return 1
        self._connection = here, port, there, port_there
        self.is_stale = self._kept.is_closed(self._connection)
        self._is_sent = not self.is_stale
        if self._is_sent:
            self._kept.joined(self._connection)
            if self._listener is not None:
                self._sent_at = time.perf_counter()
        return int(self.is_stale)

    def _read(self, size: int) -> bytes:
        """Some more of the request, for libcurl."""
        begin = self._read_so_far
        self._read_so_far += size
        return self._body[begin : begin + size]

    def _hear(self, line: bytes) -> None:
        """A line of the answer's head, where somebody listens."""
        self._heard_at = time.monotonic()
        self._head.extend(line)

    def _write(self, data: bytes) -> int | None:
        """Some more of the answer, from libcurl; 0 ends the transfer."""
        is_first = not self._length
        if is_first or self._unpacking is not None:
            unpacked = self._unpacked(data, is_first=is_first)
            if unpacked is None:
                return 0
            data = unpacked
            if not data:  # of packed data, something may have come of which nothing can be read yet
                return None
        self._length += len(data)
        if self._length > self.most:
            self.error = BadReply(
                f"{host_of(self._url)} answered with more than {self.most // 2**20} MB", billed=True
            )
            return 0
        self._pieces.append(data)
        if self._listener is not None:
            self._heard_at = time.monotonic()
            try:
                if is_first:
                    self._first_s = time.perf_counter() - self._sent_at
                    self._listener.began(*_status_and_headers(self._head))
                self._listener.piece(data)
            except BaseException as error:  # noqa: BLE001 (libcurl would print it; whoever waits is told)
                self.error = error
                return 0
        return None

    def _unpacked(self, data: bytes, *, is_first: bool) -> bytes | None:
        """A piece as it is without packing; None, and an error, where it can't be unpacked."""
        begins = (
            is_first
            and self._unpacking is None
            and self._head.lower().find(b"content-encoding") >= 0
        )
        if self._unpacking is None and not begins:
            return data
        from evenhand.providers.unpacking import (  # noqa: PLC0415 (on use)
            NotUnpackable,
            UnknownEncoding,
            Unpacking,
        )

        try:
            if self._unpacking is None:
                self._unpacking = Unpacking(Headers(bytes(self._head)).every("content-encoding"))
            return self._unpacking.unpack(data, self.most - self._length + 1)
        except NotUnpackable as error:
            self.error = _cut_off(self._url, str(error))
        except UnknownEncoding as error:
            if Headers(bytes(self._head)).status >= 400:
                return b""  # the status says what to do, and whether to ask again
            self.error = _unreadable(self._url, str(error))
        return None


class Lapse:
    """Ends an exchange of which nothing has come for too long."""

    def __init__(self, exchange: Exchange, limit_s: float, curls: CurlLoop) -> None:
        self._exchange = exchange
        self._limit_s = limit_s
        self._curls = curls
        self._began = time.monotonic()
        self._timer = curls.loop.call_later(limit_s, self._look)

    def cancel(self) -> None:
        """Looks no more."""
        self._timer.cancel()

    def _look(self) -> None:
        quiet_s = time.monotonic() - max(self._exchange.heard_at, self._began)
        if quiet_s >= self._limit_s:
            self._curls.end(self._exchange.curl, _LAPSED)
        else:
            self._timer = self._curls.loop.call_later(self._limit_s - quiet_s, self._look)


def _set_method(curl: Any, method: str, *, has_body: bool) -> None:
    """Has a handle send requests of this method."""
    curl.setopt(pycurl.HTTPGET, 1)  # forgets what was set before
    if has_body:
        curl.setopt(pycurl.POST, 1)
    curl.setopt(pycurl.NOBODY, int(method == "HEAD"))
    if method == ("POST" if has_body else "GET"):
        curl.unsetopt(pycurl.CUSTOMREQUEST)
    elif method != "HEAD":
        curl.setopt(pycurl.CUSTOMREQUEST, method)


def _header_lines(headers: Mapping[str, str], url: str) -> list[bytes]:
    """The headers as they are sent; raises BadRequest."""
    lines: list[bytes] = [b"Expect:"]  # nobody is asked whether a long body is welcome
    names: set[str] = set()
    signature = next(
        (value for name, value in headers.items() if name.lower() == "authorization"), ""
    )
    is_signed = signature.startswith("AWS4-")  # Amazon's signature is over what is accepted, too
    for name, value in headers.items():
        if name.lower() == "accept-encoding" and not is_signed:
            continue
        line = f"{name}: {value}" if value.strip() else f"{name};"
        if any(letter in line for letter in "\r\n\0") or ":" in name or not name.strip():
            raise BadRequest(
                f"nothing can be sent to {host_of(url)}: the header {name[:40]!r} has a line break or no proper name"
            )
        lines.append(line.encode("utf-8", "surrogateescape"))
        names.add(name.lower())
    if "content-type" not in names:
        lines.append(b"Content-Type:")  # libcurl would call it a form
    if "accept-encoding" not in names:
        lines.append(b"Accept-Encoding: gzip, deflate")  # what `unpacking` unpacks
    return lines


def _status_and_headers(head: bytearray) -> tuple[int, Headers]:
    headers = Headers(bytes(head))
    return headers.status, headers


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _connect_s(timeout_s: float) -> float:
    """Seconds for looking up, connecting and TLS: less than the whole, so that it is known that nothing was sent."""
    return min(CONNECT_S, timeout_s / 2)


def _failure(
    curl: Any, ending: Ending, route: Route, timeout_s: float, *, is_sent: bool
) -> ProviderError:
    """What an error of libcurl's means, and whether anything can have been charged for."""
    number = ending.number
    message = ending.message[:200] or _WITHOUT_WORDS.get(number) or f"libcurl's error {number}"
    if number in (pycurl.E_SEND_FAIL_REWIND, pycurl.E_ABORTED_BY_CALLBACK):  # no second time
        message = "it was closed before an answer came"
    if number == pycurl.E_URL_MALFORMAT:
        return BadRequest(f"nothing can be sent to {route.host}: {message}")
    status = curl.getinfo(pycurl.HTTP_CONNECTCODE)
    if status == 407:
        return Unreachable(
            f"{route.way} cannot be reached: it wants a name and a password",
            hint="Put them into HTTPS_PROXY: http://name:password@proxy:port.",
            status=407,
        )
    if not is_sent:
        if number in (pycurl.E_OPERATION_TIMEDOUT, _LAPSED):
            return ConnectionFailed(
                f"{route.way} could not be reached in {_connect_s(timeout_s):g} s"
            )
        if number in (pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CACERT_BADFILE):
            return ConnectionFailed(
                f"{route.way}: a certificate is not trusted: {message}",
                hint="Behind a company proxy, name its authority with SSL_CERT_FILE.",
            )
        if status >= 400:
            return ConnectionFailed(f"{route.way} cannot be reached: it answered {status}")
        errno = curl.getinfo(pycurl.OS_ERRNO)
        why = os.strerror(errno) if errno and number == pycurl.E_COULDNT_CONNECT else message
        return ConnectionFailed(
            f"{route.way} cannot be reached: {why}",
            hint=_OFFLINE_HINT if script_answers() else _REACH_HINT,
        )
    if number in (pycurl.E_OPERATION_TIMEDOUT, _LAPSED):
        return TimedOut(
            f"{route.host} did not answer in {timeout_s:g} s", billed=None, hint=_TIMEOUT_HINT
        )
    what = "was cut off" if curl.getinfo(pycurl.RESPONSE_CODE) else "was lost"
    return ConnectionFailed(f"the connection to {route.way} {what}: {message}", billed=None)


def _cut_off(url: str, why: str) -> ConnectionFailed:
    return ConnectionFailed(f"the connection to {host_of(url)} was cut off: {why}", billed=None)


def _unreadable(url: str, encoding: str) -> BadRequest:
    return BadRequest(
        f"{host_of(url)} answered in the encoding {encoding[:60]!r}, which was not asked for",
        hint="Have the server answer in gzip, or in none. If you sign accept-encoding, sign `gzip, deflate`.",
        billed=True,
    )
