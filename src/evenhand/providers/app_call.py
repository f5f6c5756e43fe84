"""One request that an application sends to a model by itself, through its vendor's SDK, as a call of the run.

The request is fixed: its bytes and its headers are the application's. What comes back is read only for tokens, price
and text; the application is given the bytes. So a body that cannot be read in full is still an answer, and an error
that would stop a run is the application's own to deal with: it may have another model to fall back on.

What is posted to an address that is not known is a call, too: nobody knows what it costs, and its answer is recorded
as it came. So a run that replays sends nothing, and one with a budget nothing that nobody can price.
"""

from __future__ import annotations

import json
import re
import time
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from types import NoneType
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from msgspec.structs import replace as record_replace

from evenhand.core.encoding import decode, decoded, digest, encode
from evenhand.core.errors import BadReply, BadRequest, ConnectionFailed, ProviderError, UsageError
from evenhand.core.json_shapes import as_mapping, is_array, is_object, number
from evenhand.core.message import CHATS, Prompt, Reply, Task, ToolCall, Usage
from evenhand.core.provider import Answer, Host, Price, RateLimits, Request
from evenhand.core.scripted import answers_at
from evenhand.providers import http, responses
from evenhand.providers.agent_servers import served_answer
from evenhand.providers.allowance import LONGEST_REPLY, hidden, most_written
from evenhand.providers.answer_text import NoAnswer, unfinished
from evenhand.providers.chat import ANSWERS, address_of
from evenhand.providers.endpoints import (
    Endpoint,
    Place,
    endpoint_of,
    is_free,
    place_asked,
    place_of,
)
from evenhand.providers.faults import fault, unreadable
from evenhand.providers.http_answer import answered
from evenhand.providers.own_ids import models_ids, with_ids
from evenhand.providers.prices import bound, cost, is_price, is_stated, price_of
from evenhand.providers.streams import error_instead, in_pieces, whole
from evenhand.providers.surcharges import billed_beyond, hears, surcharges

_MEANT = ("anthropic-version", "anthropic-beta", "openai-beta")  # headers that change the answer
_OF_THE_CONNECTION = frozenset({"host", "connection", "content-length", "transfer-encoding"})
_BOUNDARY = re.compile(r"boundary=\"?([^\";]+)")
_EVENTS = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry)?:")
_WORDS = (
    "system",
    "systemInstruction",
    "system_instruction",
    "instructions",
    "messages",
    "contents",
    "content",
    "input",
    "prompt",
)

_FREE = Price(0.0, 0.0, as_of="given")
Prices = Mapping[str, tuple[float, float] | tuple[float, float, float]]
"""What a model costs by its name, or what is asked at an address by `host/path`: US dollars per million tokens in, and
out; as a third number what one call costs at most, where tokens don't say it."""


Sender = Callable[[http.Listener | None], Awaitable[http.HttpAnswer]]
"""Sends a request as the application's own client would, and tells the listener of the answer while it comes in."""


class CutOff(ConnectionFailed):
    """A stream broke off after the application had begun to read it, so that it cannot be asked for again."""

    retryable = False


class AppReply(Reply, frozen=True):
    """What a model answered an application, with the bytes that the application is to get.

    Attributes:
        unanswered: Why it is no answer, such as an unknown ending; empty for one. The application is given it all the
            same, as it may know what to do.
        pending: The id of an answer that is still being made in the background; empty for one that is there.
    """

    body: bytes = b""
    unanswered: str = ""
    pending: str = ""

    @property
    def billed_later(self) -> bool:
        """Whether what it costs is said with another answer."""
        return bool(self.pending)


@dataclass(slots=True, kw_only=True)
class AppCall:
    """One request of an application's. Implements `evenhand.core.provider.Provider`, for this request alone.

    Attributes:
        place: The address; None for one that is not known.
        model: The model that is asked; empty where nobody says.
        body: What is asked, as JSON; empty for what is none.
        most_usd: What it costs at most, where the user has said so.
        text: The conversation, as people read it.
        streams: Whether the answer is to come in pieces.
        head: Status and headers of an answer that came whole, from an address that is not known.
        live: Told of the answer while it comes in.
        method: How it is sent: an answer that was made in the background is got with GET.
        tried: Whether it has been sent.
        given: The status, the headers and the parts of the answer that have been passed on; None before the first.
        sender: Sends it; None for the run's own HTTP client.
        ids: The model's ids of calls of tools that the request names otherwise; see `own_ids`.
    """

    place: Place | None
    model: str
    url: str
    headers: Mapping[str, str]
    sent: bytes
    body: Mapping[str, Any]
    timeout_s: float
    price: Price | None
    most_usd: float | None
    id: str
    account: str
    live: http.Listener | None = None
    method: str = "POST"
    head: tuple[int, Mapping[str, str]] | None = None
    tried: bool = False
    given: tuple[int, Mapping[str, str], bytearray] | None = None
    sender: Sender | None = None
    ids: Mapping[str, str] = field(default_factory=dict[str, str])
    paid: bool = field(init=False, default=True)
    label: str = field(init=False)
    tasks: frozenset[Task] = field(init=False, default=CHATS)
    text: str = field(init=False)
    streams: bool = field(init=False)
    beyond: str = field(init=False)
    own_request: Request = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.label = self.id
        # The conversation of any of these APIs: system prompt first, a blank line between messages.
        parts = [self.body.get(name) for name in _WORDS]
        self.text = "\n\n".join(filter(None, map(_plain, parts)))
        endpoint = self.place.endpoint if self.place is not None else None
        self.streams = endpoint is not None and bool(self.body.get("stream", endpoint.streams))
        meant = {name: self.headers[name] for name in _MEANT if name in self.headers}
        content = self.body or _as_text(self.sent, self.headers)
        if self.ids:
            content = with_ids(content, self.ids)
        identity = encode({"body": content, "headers": meant, "url": address_of(self.url)})
        longest = self._longest(endpoint)
        stated = is_stated(self.price)
        self.beyond = surcharges(self.body, self.headers).uncovered(stated=stated)
        if not self.beyond and hears(self.sent):
            self.beyond = "sound"
        worst_usd = bound(None if self.beyond else self.price, len(self.sent), longest)
        extra_usd = bound(self.price, 0, hidden(longest))
        if self.most_usd is not None:
            worst_usd, extra_usd = self.most_usd, None
        self.own_request = Request(
            identity=identity,
            key=digest(identity),
            payload=self.sent,
            deterministic=endpoint is not None and self._is_determined(endpoint),
            tokens_in=len(self.sent) // 4,
            cost_bound_usd=worst_usd,
            cost_hidden_usd=extra_usd or 0.0,
            stated=self.most_usd is not None,
            beyond=self.beyond,
        )

    @classmethod
    def of(
        cls,
        url: str,
        headers: Mapping[str, str],
        sent: bytes,
        timeout_s: float,
        prices: Prices,
        asked: Sequence[ToolCall] = (),
    ) -> AppCall:
        """The call that this POST is.

        Args:
            headers: With lower-case names.
            sent: Its body.
            timeout_s: Seconds that one attempt may take; for a stream, that it may pause.
            prices: Of models that the price list does not know, or not rightly, and of addresses.
            asked: The calls of tools that models asked the application for before.
        """
        body = as_mapping(decoded(sent))
        place = place_asked(url, body)
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        # A script has another port in each run: it is no part of a name.
        host_in_id = "" if answers_at(url) else host
        model = (place.model if place is not None else "") or str(body.get("model") or "")
        at_home = place is not None and parts.hostname == place.endpoint.home
        stated = prices.get(model) if place is not None else None
        stated = stated or prices.get(f"{host}{parts.path}") or prices.get(host)
        price = Price(stated[0], stated[1], as_of="given") if stated else None
        if price is None and place is not None:
            price = price_of(place.endpoint.vendor, model, {}, at_home=at_home)
        elif price is None and is_free(url):
            price = _FREE
        if place is None:
            named = f"POST {host_in_id}{parts.path}"
        else:
            named = f"{place.endpoint.prefix}:{model}"
            named += f"@{host}" if host_in_id and not at_home else ""
        vendor = place.endpoint.vendor if place is not None else ""
        return cls(
            place=place,
            model=model,
            url=url,
            headers=headers,
            sent=sent,
            body=body,
            timeout_s=timeout_s,
            price=price,
            most_usd=stated[2] if stated and len(stated) == 3 else None,
            ids=models_ids(body, asked) if place is not None else {},
            id=named,
            account=f"{host} #{digest(_key(headers, url), vendor)[:8]}",
        )

    @property
    def kind(self) -> str:
        """The endpoint's kind; empty where it is not known."""
        return "" if self.place is None else self.place.endpoint.kind

    @property
    def speaks(self) -> bool:
        """Whether the application's call is answered in words that are understood here."""
        return self.place is not None and self.place.endpoint.speaks

    @property
    def asks_a_model(self) -> bool:
        """Whether a model answers, for all that is known; nobody charges for counting tokens, or for filing a file."""
        return self.place is not None or not is_free(self.url)

    @property
    def lasts(self) -> bool:
        """Whether another run may be given the answer: what an unknown address does beside answering is not known."""
        return self.place is not None

    def _is_determined(self, endpoint: Endpoint) -> bool:
        at = endpoint.dialect.sampling
        sampling = as_mapping(self.body.get(at)) if at else self.body
        settled = sampling.get("temperature") == 0 or sampling.get("seed") is not None
        return settled or not endpoint.speaks

    def _longest(self, endpoint: Endpoint | None) -> int:
        if endpoint is None:
            return 0 if self.price is _FREE else LONGEST_REPLY
        if not endpoint.speaks:
            return 0
        prompts: object = self.body.get("prompt")  # a completion answers each of a list
        several = len(prompts) if is_array(prompts) else 1
        return most_written(self.body, endpoint.dialect.limits) * max(1, several)

    def retrieval(self, url: str, headers: Mapping[str, str]) -> AppCall:
        """The call that gets the answer to this one, which was made in the background.

        Nothing is set aside for it: what this one can cost was booked when it was taken on.
        """
        body = {k: v for k, v in self.body.items() if k not in ("stream", "background")}
        if "stream=true" in urlsplit(url).query.lower().split("&"):
            body["stream"] = True
        call = replace(
            self,
            url=url,
            headers=headers,
            sent=b"",
            body=body,
            live=None,
            method="GET",
            tried=False,
            given=None,
            sender=None,
        )
        free = None if self.own_request.cost_bound_usd is None else 0.0
        call.own_request = record_replace(
            call.own_request, cost_bound_usd=free, cost_hidden_usd=0.0
        )
        return call

    def request(self, prompt: Prompt) -> Request:
        del prompt  # what is asked stands
        return self.own_request

    async def send(self, request: Request, host: Host) -> Answer:
        del request, host  # what is asked stands
        self.tried = True
        name = urlsplit(self.url).netloc.rpartition("@")[2]
        try:
            answer = await (self.sender or self._post)(self if self.streams else None)
        except ProviderError as error:
            if self.given is not None:
                raise self._cut_off(error.message, error.hint) from None
            raise
        if self.given is not None:
            problem = error_instead(answer.body)
            if problem:
                raise self._cut_off(f"{name} answered with an error: {problem}")
            if in_pieces(self.kind, answer.body) and whole(self.kind, answer.body) is None:
                raise self._cut_off(f"the stream from {name} ended before its time")
        else:
            error = _problem(answer, name, known=self.place is not None)
            if self.place is None:
                self.head = answer.status, answer.headers
            if error is not None:
                error.answer = (answer.status, answer.headers, answer.body)
                raise error
        return answered(answer, self._rates(answer.headers))

    def _cut_off(self, message: str, hint: str = "") -> CutOff:
        error = CutOff(message, hint=hint, billed=None)
        if self.given is not None:
            status, headers, parts = self.given
            error.answer = status, headers, bytes(parts)
        return error

    async def _post(self, listener: http.Listener | None) -> http.HttpAnswer:
        headers = {k: v for k, v in self.headers.items() if k not in _OF_THE_CONNECTION}
        return await http.transport().post(
            self.url,
            headers,
            self.own_request.payload or None,
            self.timeout_s,
            method=self.method,
            listener=listener,
        )

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """Passes the head of a stream on; an error is kept back, as it may be mended by asking again."""
        if status in ANSWERS and self.live is not None:
            self.given = status, headers, bytearray()
            self.live.began(status, headers)

    def piece(self, data: bytes) -> None:
        """Passes a piece on."""
        if self.given is not None and self.live is not None:
            self.given[2].extend(data)
            self.live.piece(data)

    def _rates(self, headers: Mapping[str, str]) -> RateLimits | None:
        if self.place is None:
            return None
        return self.place.endpoint.dialect.rates(headers, time.time())

    def reply(self, body: bytes) -> AppReply:
        unanswered, pending = "", _pending(self.kind, body)
        try:
            reply = _not_yet(body) if pending else self._read(body)
        except NoAnswer as error:
            reply, unanswered = _spent(self.kind, body, self.price), error.message
        except (BadReply, ValueError, TypeError, LookupError):
            error = _whole(self.kind, body).get("error") if self.place is not None else None
            unanswered = unfinished("error", error).message if error else ""
            reply = Reply("")  # the application's SDK may make more of it
        beyond = billed_beyond(body).uncovered(stated=is_stated(self.price))
        if reply.cost_usd is not None and (self.beyond or beyond):
            reply = replace(reply, cost_usd=None)
        return AppReply(
            **{f.name: getattr(reply, f.name) for f in fields(Reply)},
            body=body,
            unanswered=unanswered,
            pending=pending,
        )

    def _read(self, body: bytes) -> Reply:
        if self.place is not None:
            return read_answer(self.kind, body, self.price)
        served = None
        with suppress(NoAnswer):  # of which the application has been told, and makes what it will
            served = served_answer(body)
        if served is not None:
            usd = cost(self.price, served.usage) if self.price else served.cost_usd
            return replace(served, cost_usd=usd)
        try:
            text = body.decode()
        except UnicodeDecodeError:
            text = f"{len(body):,} bytes"
        usd = 0.0 if self.price == _FREE and self.most_usd is None else None
        return Reply(text=text, output=text, cost_usd=usd)

    async def close(self) -> None:
        await http.close()


_AT_WORK = ("queued", "in_progress")


def _pending(kind: str, body: bytes) -> str:
    """The id of an answer that a vendor is still making in the background; empty for every other one."""
    if kind != "responses" or not any(state.encode() in body for state in _AT_WORK):
        return ""
    answer = _whole(kind, body)
    return str(answer.get("id") or "") if answer.get("status") in _AT_WORK else ""


def _not_yet(body: bytes) -> Reply:
    answer = _whole("responses", body)
    return Reply(
        "", cost_usd=0.0, model=str(answer.get("model") or ""), finish_reason=str(answer["status"])
    )


def _spent(kind: str, body: bytes, price: Price | None) -> Reply:
    """What an answer that is none has cost, and how it ended: its words are nobody's answer."""
    answer = _whole(kind, body)
    usage = as_mapping(answer.get("usage"))
    tokens = Usage(
        number(usage.get("input_tokens", usage.get("prompt_tokens"))),
        number(usage.get("output_tokens", usage.get("completion_tokens"))),
    )
    return Reply(
        "",
        usage=tokens,
        cost_usd=cost(price, tokens),
        model=str(answer.get("model") or ""),
        finish_reason="error",
    )


def _whole(kind: str, body: bytes) -> Mapping[str, Any]:
    body = body.removeprefix(BOM_UTF8)
    if not body.lstrip().startswith(b"{"):
        return whole(kind, body) or {}
    return as_mapping(decoded(body))


def read_answer(kind: str, body: bytes, price: Price | None = None) -> Reply:
    """The reply in the body of an answer, or in its stream.

    Args:
        body: As it came.
        price: What the model costs.

    Raises:
        NoAnswer: There is none in it.
        BadReply: It is something else.
        ValueError, TypeError, LookupError: The same.
    """
    value = None
    body = body.removeprefix(BOM_UTF8)
    if in_pieces(kind, body):
        value = whole(kind, body)
        body = encode(value, ordered=False)
    dialect = endpoint_of(kind).dialect
    if kind != "responses" and "embed" not in dialect.tasks:
        return dialect.read(body, False, price)
    answer = value or as_mapping(decode(body))
    usage = as_mapping(answer.get("usage"))
    if kind == "responses":
        details = as_mapping(usage.get("input_tokens_details"))
        tokens = Usage(
            number(usage.get("input_tokens")),
            number(usage.get("output_tokens")),
            number(details.get("cached_tokens")),
        )
        return _response(answer, tokens, cost(price, tokens))
    read = usage.get("prompt_tokens", answer.get("prompt_eval_count"))
    tokens = Usage(number(read), 0)
    vectors = answer.get("data") or answer.get("embeddings") or [answer["embedding"]]
    text = f"{len(vectors)} vectors"
    return Reply(
        text=text,
        output=text,
        usage=tokens,
        cost_usd=cost(price, tokens),
        model=str(answer.get("model") or ""),
        finish_reason="stop",
    )


def kind_of(url: str) -> str:
    """The endpoint that this address is; empty for one at which no model answers."""
    place = place_of(url)
    return "" if place is None else place.endpoint.kind


_WRITE_PRICES = (
    "Write {model: (in, out)}, in US dollars per million tokens, from 0 on; as a third number, what one call costs at"
    " most where it costs something else than tokens."
)


def checked_prices(prices: Prices | None) -> Prices:
    """The prices that somebody has given.

    Raises:
        UsageError: One of them isn't one.
    """
    if not isinstance(prices, (Mapping, NoneType)):  # pyright: ignore[reportUnnecessaryIsInstance] (a mistake)
        raise UsageError(f"prices is {prices!r:.60}, not a dict", hint=_WRITE_PRICES)
    items: Mapping[str, object] = prices or {}  # whatever a caller without type checks gave
    for model, price in items.items():
        several = cast("Sequence[object]", price) if isinstance(price, (tuple, list)) else ()
        if len(several) not in (2, 3) or not all(map(is_price, several)):
            raise UsageError(
                f"prices: {price!r} for {model!r} isn't a pair of prices",
                hint=_WRITE_PRICES,
            )
    return prices or {}


def content_type(body: bytes) -> str:
    """What kind of content an answer that was kept is."""
    if body.lstrip()[:1] in (b"{", b"["):
        return "application/json"
    if _EVENTS.match(body):
        return "text/event-stream"
    try:
        body.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain; charset=utf-8"


def _problem(answer: http.HttpAnswer, name: str, *, known: bool) -> ProviderError | None:
    """What is wrong with an answer that came whole. Nothing that an application is told ends the run."""
    if not known and 200 <= answer.status < 300:
        return None
    if answer.status not in ANSWERS:
        hint = "Look at the key that your application's client was made with."
        error = fault(answer, host=name, key_hint=hint)
        if error.fatal:
            return BadRequest(error.message, hint=error.hint, status=error.status, body=error.body)
        return error
    if "text/event-stream" in answer.headers.get("content-type", ""):
        return None
    answer = record_replace(answer, body=answer.body.removeprefix(BOM_UTF8))
    problem = unreadable(answer, host=name)
    if problem is None:
        try:
            json.loads(answer.body)  # as the SDKs do, which take NaN for a number
        except (ValueError, RecursionError) as error:
            problem = BadReply(f"{name} answered with half a document: {error}", billed=None)
    return problem


def _response(answer: Mapping[str, Any], tokens: Usage, usd: float | None) -> Reply:
    """OpenAI's newer shape, without what was thought: a list of items, some of them messages, some calls of tools."""
    reason = responses.ended(answer)
    if not reason and not isinstance(answer.get("output"), list):
        raise LookupError("output")
    items = responses.said_in(answer, reason)
    text = "".join(items.texts) or items.refusal
    return Reply(
        text=text or (encode(items.calls, ordered=False).decode() if items.calls else ""),
        output=text or items.calls or "",
        usage=tokens,
        cost_usd=usd,
        model=str(answer.get("model") or ""),
        finish_reason=reason or ("tool_calls" if items.calls else "stop"),
        refused=bool(items.refusal) or reason == "content_filter",
        tool_calls=items.tools,
    )


def _key(headers: Mapping[str, str], url: str) -> str:
    known = (headers.get(name) for name in ("x-api-key", "api-key", "x-goog-api-key"))
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    in_address = parse_qs(urlsplit(url).query).get("key", [""])[0]  # as Google takes it, too
    return next(filter(None, known), "") or bearer or in_address


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    if is_array(content):
        return "\n\n".join(filter(None, map(_plain, content)))
    if not is_object(content):
        return ""
    part = content
    return _plain(part.get("text") or part.get("content") or part.get("parts"))


def _as_text(sent: bytes, headers: Mapping[str, str]) -> object:
    """What is sent and is no JSON object: a form, without what divides its parts, which is another one each time."""
    divider = _BOUNDARY.search(headers.get("content-type", ""))
    if divider is not None:
        sent = sent.replace(divider[1].strip().encode(), b"boundary")
    try:
        return sent.decode()
    except UnicodeDecodeError:
        return {"bytes": len(sent), "digest": digest(sent)}
