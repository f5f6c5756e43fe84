"""One request that an application sends to a model by itself, through its vendor's SDK, as a call of the run.

The request is fixed: its bytes and its headers are the application's. What comes back is read only for tokens, price
and text; the application is given the bytes. So a body that cannot be read in full is still an answer, and an error
that would stop a run is the application's own to deal with: it may have another model to fall back on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec.structs import replace as record_replace

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import (
    BadReply,
    BadRequest,
    ConnectionFailed,
    ProviderError,
    UsageError,
)
from evenhand.core.message import CHATS, Prompt, Reply, Task, Usage
from evenhand.core.provider import Answer, Host, Price, RateLimits, Request
from evenhand.core.scripted import answers_at
from evenhand.providers import anthropic, completion, http, openai, responses
from evenhand.providers.allowance import hidden, most_written
from evenhand.providers.answer_text import NoAnswer
from evenhand.providers.chat import address_of, count
from evenhand.providers.faults import fault, unreadable
from evenhand.providers.prices import bound, cost, is_price, price_of
from evenhand.providers.servers import SERVERS
from evenhand.providers.streams import error_instead, whole

KINDS = ("chat/completions", "responses", "embeddings", "messages", "completions")
"""The endpoints at which models answer, by the end of their path: the longer one first."""

_NAMES = {
    "chat/completions": "openai:chat",
    "messages": "anthropic:messages",
    "completions": "openai:completion",
}
_ASKS = ("messages", "input", "prompt")  # a body that asks a model has one of these
_LIMITS = {
    "chat/completions": openai.DIALECT.limits,
    "responses": responses.DIALECT.limits,
    "messages": anthropic.DIALECT.limits,
    "completions": completion.DIALECT.limits,
}
_MEANT = ("anthropic-version", "anthropic-beta", "openai-beta")  # headers that change the answer
_OF_THE_CONNECTION = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
)
_HOMES = {
    "openai": urlsplit(SERVERS["openai"].address).hostname,
    "anthropic": urlsplit(anthropic.HOME).hostname,
}

Prices = Mapping[str, tuple[float, float]]
"""What a model costs by its name: US dollars per million tokens in, and out."""


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


@dataclass(slots=True)
class AppCall:
    """One request of an application's. Implements `evenhand.core.provider.Provider`, for this request alone.

    Attributes:
        text: The conversation, as people read it.
        streams: Whether the answer is to come in pieces.
        live: Told of the answer while it comes in.
        method: How it is sent: an answer that was made in the background is got with GET.
        tried: Whether it has been sent.
        begun: Whether a part of the answer has been passed on.
    """

    kind: str
    url: str
    headers: Mapping[str, str]
    sent: bytes
    body: Mapping[str, Any]
    timeout_s: float
    price: Price | None
    id: str
    account: str
    live: http.Listener | None = None
    method: str = "POST"
    tried: bool = False
    begun: bool = False
    paid: bool = field(init=False, default=True)
    label: str = field(init=False)
    tasks: frozenset[Task] = field(init=False, default=CHATS)
    text: str = field(init=False)
    streams: bool = field(init=False)
    asked: Request = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.label = self.id
        self.text = _text_of(self.body)
        self.streams = bool(self.body.get("stream"))
        meant = {name: self.headers[name] for name in _MEANT if name in self.headers}
        identity = encode({"body": self.body, "headers": meant, "url": address_of(self.url)})
        longest = self._longest()
        self.asked = Request(
            identity=identity,
            key=digest(identity),
            payload=self.sent,
            deterministic=not self.speaks
            or self.body.get("temperature") == 0
            or self.body.get("seed") is not None,
            tokens_in=len(self.sent) // 4,
            cost_bound_usd=bound(self.price, len(self.sent), longest),
            cost_hidden_usd=bound(self.price, 0, hidden(longest)) or 0.0,
        )

    @classmethod
    def of(
        cls, url: str, headers: Mapping[str, str], sent: bytes, timeout_s: float, prices: Prices
    ) -> AppCall | None:
        """The call that this POST is; None for one that asks no model.

        Args:
            headers: With lower-case names.
            sent: Its body.
            timeout_s: Seconds that one attempt may take; for a stream, that it may pause.
            prices: Of models that the price list does not know, or not rightly.
        """
        kind = kind_of(url)
        try:
            body = decode(sent) if kind else None
        except ValueError:
            return None
        if not isinstance(body, dict) or not any(name in body for name in _ASKS):
            return None
        asked = cast("dict[str, Any]", body)
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        vendor = "anthropic" if kind == "messages" else "openai"
        model = str(asked.get("model") or "")
        price = prices.get(model)
        at_home = parts.hostname == _HOMES[vendor]
        # A script has another port in each run: it is no part of a model's name.
        elsewhere = "" if at_home or answers_at(url) else f"@{host}"
        return cls(
            kind=kind,
            url=url,
            headers=headers,
            sent=sent,
            body=asked,
            timeout_s=timeout_s,
            price=Price(*price, as_of="given")
            if price
            else price_of(vendor, model, {}, at_home=at_home),
            id=f"{_NAMES.get(kind, f'openai:{kind}')}:{model}{elsewhere}",
            account=f"{host} #{digest(_key(headers), vendor)[:8]}",
        )

    @property
    def speaks(self) -> bool:
        """Whether it answers in words, which vectors are not."""
        return self.kind != "embeddings"

    def _longest(self) -> int:
        if not self.speaks:
            return 0
        prompts: object = self.body.get("prompt")  # a completion answers each of a list
        several = len(cast("list[object]", prompts)) if isinstance(prompts, list) else 1
        return most_written(self.body, _LIMITS[self.kind]) * max(1, several)

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
            begun=False,
        )
        free = None if self.asked.cost_bound_usd is None else 0.0
        call.asked = record_replace(call.asked, cost_bound_usd=free, cost_hidden_usd=0.0)
        return call

    def request(self, prompt: Prompt) -> Request:
        del prompt  # what is asked stands
        return self.asked

    async def send(self, request: Request, host: Host) -> Answer:
        del host  # nothing of the user's runs here
        self.tried = True
        headers = {k: v for k, v in self.headers.items() if k not in _OF_THE_CONNECTION}
        listener = self if self.streams else None
        name = urlsplit(self.url).netloc.rpartition("@")[2]
        try:
            answer = await http.transport().post(
                self.url,
                headers,
                request.payload or None,
                self.timeout_s,
                method=self.method,
                listener=listener,
            )
        except ProviderError as error:
            if self.begun:
                raise CutOff(error.message, hint=error.hint, billed=None) from None
            raise
        if self.begun:
            told = error_instead(answer.body)
            if told:
                raise CutOff(f"{name} answered with an error: {told}", billed=None)
            if not answer.body.lstrip().startswith(b"{") and whole(self.kind, answer.body) is None:
                raise CutOff(f"the stream from {name} ended before its time", billed=None)
        else:
            error = _problem(answer, name)
            if error is not None:
                error.answer = (answer.status, answer.headers, answer.body)
                raise error
        return Answer(answer.body, answer.latency_s, self._rates(answer.headers))

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """Passes the head of a stream on; an error is kept back, as it may be mended by asking again."""
        if status == 200 and self.live is not None:
            self.begun = True
            self.live.began(status, headers)

    def piece(self, data: bytes) -> None:
        """Passes a piece on."""
        if self.begun and self.live is not None:
            self.live.piece(data)

    def _rates(self, headers: Mapping[str, str]) -> RateLimits | None:
        dialect = anthropic.DIALECT if self.kind == "messages" else openai.DIALECT
        return dialect.rates(headers, time.time())

    def reply(self, body: bytes) -> AppReply:
        unanswered, pending = "", _pending(self.kind, body)
        try:
            reply = _not_yet(body) if pending else read_answer(self.kind, body, self.price)
        except NoAnswer as error:
            reply, unanswered = _spent(self.kind, body, self.price), error.message
        except (BadReply, ValueError, TypeError, LookupError):
            reply = Reply("")  # the application's SDK may make more of it
        return AppReply(
            **{f.name: getattr(reply, f.name) for f in fields(Reply)},
            body=body,
            unanswered=unanswered,
            pending=pending,
        )

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
    usage = _mapping(answer.get("usage"))
    tokens = Usage(
        count(usage.get("input_tokens", usage.get("prompt_tokens"))),
        count(usage.get("output_tokens", usage.get("completion_tokens"))),
    )
    return Reply(
        "",
        usage=tokens,
        cost_usd=cost(price, tokens),
        model=str(answer.get("model") or ""),
        finish_reason="error",
    )


def _whole(kind: str, body: bytes) -> dict[str, Any]:
    if not body.lstrip().startswith(b"{"):
        return whole(kind, body) or {}
    try:
        return _mapping(decode(body))
    except ValueError:
        return {}


def read_answer(kind: str, body: bytes, price: Price | None = None) -> Reply:
    """The reply in the body of an answer, or in its stream.

    Args:
        kind: The endpoint, one of KINDS.
        body: As it came.
        price: What the model costs.

    Raises:
        NoAnswer: There is none in it.
        BadReply: It is something else.
        ValueError, TypeError, LookupError: The same.
    """
    value = None
    if not body.lstrip().startswith(b"{"):
        value = whole(kind, body)
        body = encode(value, ordered=False)
    if kind == "messages":
        return anthropic.DIALECT.read(body, False, price)
    if kind == "chat/completions":
        return openai.DIALECT.read(body, False, price)
    if kind == "completions":
        return completion.DIALECT.read(body, False, price)
    answer = value or _mapping(decode(body))
    usage = _mapping(answer.get("usage"))
    if kind == "responses":
        details = _mapping(usage.get("input_tokens_details"))
        tokens = Usage(
            count(usage.get("input_tokens")),
            count(usage.get("output_tokens")),
            count(details.get("cached_tokens")),
        )
        return _response(answer, tokens, cost(price, tokens))
    tokens = Usage(count(usage.get("prompt_tokens")), 0)
    text = f"{len(answer['data'])} vectors"
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
    path = urlsplit(url).path
    return next((kind for kind in KINDS if path.endswith(f"/{kind}")), "")


def checked(prices: Prices | None) -> Prices:
    """The prices that somebody has given.

    Raises:
        UsageError: One of them isn't one.
    """
    for model, price in cast("Mapping[str, object]", prices or {}).items():
        several = cast("Sequence[object]", price) if isinstance(price, (tuple, list)) else ()
        if len(several) != 2 or not all(map(is_price, several)):
            raise UsageError(
                f"prices: {price!r} for {model!r} isn't a pair of prices",
                hint="Write {model: (in, out)}, in US dollars per million tokens, from 0 on.",
            )
    return prices or {}


def content_type(body: bytes) -> str:
    """What kind of content an answer that was kept is."""
    return "application/json" if body.lstrip().startswith(b"{") else "text/event-stream"


def _problem(answer: http.HttpAnswer, name: str) -> ProviderError | None:
    """What is wrong with an answer that came whole. Nothing that an application is told ends the run."""
    if answer.status != 200:
        hint = "Look at the key that your application's client was made with."
        error = fault(answer, host=name, key_hint=hint)
        if error.fatal:
            return BadRequest(error.message, hint=error.hint, status=error.status, body=error.body)
        return error
    if "text/event-stream" in answer.headers.get("content-type", ""):
        return None
    problem = unreadable(answer, host=name)
    if problem is None:
        try:
            decode(answer.body)
        except ValueError as error:
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


def _key(headers: Mapping[str, str]) -> str:
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-api-key") or headers.get("api-key") or bearer


def _text_of(body: Mapping[str, Any]) -> str:
    """The conversation of any of these APIs: system prompt first, a blank line between messages."""
    parts = [body.get(name) for name in ("system", "instructions", "messages", "input", "prompt")]
    return "\n\n".join(filter(None, map(_plain, parts)))


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n\n".join(filter(None, map(_plain, cast("list[object]", content))))
    if not isinstance(content, dict):
        return ""
    part = cast("dict[str, Any]", content)
    return _plain(part.get("text") or part.get("content"))


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
