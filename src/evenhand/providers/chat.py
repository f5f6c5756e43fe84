"""A chat API over HTTP: everything that vendors have in common. What differs is data, in a `Dialect`.

What a request's identity holds: the address, the API version, the whole body, and the headers by which a gateway may
choose a model, as canonical JSON. So two requests with the same identity ask the same thing, whatever key, label, time
limit or retry policy they are sent with. Where a config has written what a prompt might have, such as a system prompt,
it says so: that is a setting. What is sent has its keys in the order in which they were written: models answer in the
order of a schema's properties.
"""

from __future__ import annotations

import re
import time
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import field
from msgspec.structs import replace

from evenhand.core.decision import DecisionRequest
from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import AuthError, BadReply, BadRequest, UsageError
from evenhand.core.json_shapes import as_mapping, is_mapping, is_whole, number
from evenhand.core.message import CHATS, Message, Prompt, Reply, Task, Usage
from evenhand.core.provider import Answer, Host, Price, Provider, RateLimits, Request
from evenhand.core.ranges import MILLISECONDS
from evenhand.core.record import MutableRecord, Record
from evenhand.core.request_settings import ASKED, CONFIGURED
from evenhand.core.scripted import NO_RULE, scripted_url
from evenhand.providers import http
from evenhand.providers.allowance import hidden, most_written
from evenhand.providers.faults import fault, unreadable
from evenhand.providers.http_answer import HttpAnswer, answered
from evenhand.providers.meant_headers import headers_mark, meant_headers
from evenhand.providers.missing_keys import PLACEHOLDER, set_key
from evenhand.providers.prices import bound, call_bound, is_stated, price_of
from evenhand.providers.refusals import refusal, refused
from evenhand.providers.retry_after import duration
from evenhand.providers.structured import WithSchema, identity_with_schema
from evenhand.providers.surcharges import billed_beyond, hears, surcharges
from evenhand.providers.wanted import Wanted

T = TypeVar("T")
ANSWERS = (200, 201, 203)  # 201: it was made anew; 203: a proxy had a hand in it
_UNHEARD_OF = (400, 422)  # what servers say of a field that they do not know


def unsaid(headers: Mapping[str, str], now: float) -> RateLimits | None:
    """What headers say of an account's limits where a vendor says nothing there."""
    del headers, now
    return None


def bearer(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    """The headers that say who asks."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    if config.get("organization"):
        headers["openai-organization"] = str(config["organization"])
    return headers


def rates(headers: Mapping[str, str], now: float) -> RateLimits | None:
    """What the headers of an answer of OpenAI's say of the account's limits."""
    del now  # these headers count seconds, not dates
    remaining = headers.get("x-ratelimit-remaining-requests")
    tokens = headers.get("x-ratelimit-remaining-tokens")
    if remaining is None and tokens is None:
        return None
    return RateLimits(
        requests_limit=duration(headers.get("x-ratelimit-limit-requests", "")),
        requests_remaining=duration(remaining or ""),
        requests_reset_s=duration(headers.get("x-ratelimit-reset-requests", "")),
        tokens_limit=duration(headers.get("x-ratelimit-limit-tokens", "")),
        tokens_remaining=duration(tokens or ""),
        tokens_reset_s=duration(headers.get("x-ratelimit-reset-tokens", "")),
    )


Shape = Callable[[Reply, bytes, Mapping[str, Any]], Reply]
"""Gives a reply another output, from the answer's body and the settings that it was asked with."""


class Dialect(Record, frozen=True, kw_only=True):
    """What one vendor's chat API does its own way.

    Attributes:
        vendor: Its name, lower-case.
        version: The API version that goes into the identity; empty for none.
        headers: The headers for a key (empty for none) and a config.
        messages: The part of the body that carries the conversation.
        settings: The rest of the body, from model and config.
        read: The reply in an answer's body; `parsed` says that its text is to be JSON.
        rates: What an answer's headers say of the account's limits.
        tasks: What it can be asked for.
        chats: Whether it takes a conversation. What does not is given the prompt as one text, as it was rendered.
        sampling: Where in the body temperature and seed stand; empty for the body itself.
        limits: The settings of the body that bound the length of a reply; none where nothing does.
        thought: What the model thought before it answered, in an answer's body; for those that show it.
        structured: The key of the body, and its value, that hold the model to a schema; None where the settings have
            asked for another form already. No function: it cannot be held to one.
        decides: The part of the body that carries typed questions; for decision models.
        most_questions: How many of them one request may hold.
        tools: Whose form the tools in its settings are in: `openai` (chat), `responses`, `anthropic` or `google`;
            empty where it takes none.
    """

    vendor: str
    version: str = ""
    headers: Callable[[str, Mapping[str, Any]], dict[str, str]] = bearer
    messages: Callable[[Sequence[Message]], dict[str, Any]]
    settings: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    read: Callable[[bytes, bool, Price | None], Reply]
    rates: Callable[[Mapping[str, str], float], RateLimits | None] = unsaid
    tasks: frozenset[Task] = CHATS
    chats: bool = True
    sampling: str = ""
    limits: tuple[str, ...] = ()
    thought: Callable[[bytes], str] | None = None
    structured: (
        Callable[[Mapping[str, Any], Mapping[str, Any]], tuple[str, object] | None] | None
    ) = None
    decides: Callable[[DecisionRequest], dict[str, Any]] | None = None
    most_questions: int = 1
    tools: str = ""


class ChatProvider(MutableRecord, kw_only=True):
    """One model at one address, with one key. Implements `evenhand.core.provider.Provider`.

    Attributes:
        shows_thoughts: What it thought stands before its answers.
        uncovered: What it is asked for that the price of tokens doesn't cover, in words; empty for nothing.
    """

    id: str
    label: str
    model: str
    url: str
    key: str
    dialect: Dialect
    config: Mapping[str, Any]
    price: Price | None
    timeout_s: float = http.TIMEOUT_S
    key_variable: str = ""
    remote: ClassVar[bool] = True
    answers_by_request_alone: ClassVar[bool] = True
    # What is made of the above:
    account: str = ""
    paid: bool = True
    shows_thoughts: bool = False
    shape: Shape | None = None
    uncovered: str = ""
    _host: str = ""
    _local: bool = False
    _headers: dict[str, str] = field(default_factory=dict[str, str])
    _prefix: bytes = b""
    _suffix: bytes = b""
    _routing: bytes = b""
    _headers_mark: str = ""
    _settings: dict[str, Any] = field(default_factory=dict[str, Any])
    _bounds: tuple[int, bool] = (0, False)
    _parsed: bool = False
    _schemaless: bool = False
    _most_usd: float | None = None

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            _ = parts.port  # read here, as a bad one is noticed only then
        except ValueError as error:
            raise UsageError(
                f"provider '{self.id}': {self.url} is not an address: {error}"
            ) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"provider '{self.id}': {self.url} is not an address",
                hint="Write it out, from http:// or https:// on.",
            )
        self.url = scripted_url(self.url)  # also where the config or the id names an address
        parts = urlsplit(self.url)
        self._host = parts.netloc.rpartition("@")[2]
        self._local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self.account = f"{self._host} #{digest(self.key, self.dialect.vendor)[:8]}"
        self._headers = {
            "content-type": "application/json",
            **self.dialect.headers(self.key, self.config),
        }
        written: Mapping[object, object] = self.config.get("headers") or {}
        self._headers.update({str(k): str(v) for k, v in written.items()})
        meant = meant_headers(written)
        self._headers_mark = headers_mark(written)
        self._routing = b"," + encode({"headers": meant})[1:-1] if meant else b""
        # Keys in canonical order: body, configured, headers, url, version.
        tail = encode({"url": address_of(self.url), "version": self.dialect.version})
        self._prefix, self._suffix = b'{"body":', b"," + tail[1:]
        self.shows_thoughts = bool(self.config.get("showThinking"))
        self._settings = self.dialect.settings(self.model, self.config)
        self._bounds = _bounds(self._settings, self.dialect)
        self.uncovered = self._uncovered(self._settings)
        self._most_usd = call_bound(self.config)
        self._parsed = _wants_object(self.config)

    def request(self, prompt: Prompt) -> Request:
        settings, (limit, deterministic) = self._settings, self._bounds
        beyond, most_usd = self.uncovered, self._most_usd
        if prompt.config:
            config = {**self.config, **prompt.config}
            settings = self.dialect.settings(self.model, config)
            limit, deterministic = _bounds(settings, self.dialect)
            beyond, most_usd = self._uncovered(settings), call_bound(config)
        messages = prompt.messages
        if not self.dialect.chats:
            messages = (Message("user", prompt.text),)
        content = self.dialect.messages(messages)
        if prompt.decisions is not None and self.dialect.decides is not None:
            content, deterministic = self.dialect.decides(prompt.decisions), True
        whole = _joined(settings, content)
        if any(m.items for m in messages):  # settings may be written in the prompt, too
            limit, deterministic = _bounds(whole, self.dialect)
        body = encode(whole)
        payload: bytes | WithSchema = encode(whole, ordered=False)
        form = None
        if prompt.schema is not None and self.dialect.structured is not None:
            form = self.dialect.structured(prompt.schema, settings)
        if form is not None:
            key, value = form
            payload = WithSchema(encode({**whole, key: value}, ordered=False), payload)
            body = identity_with_schema(whole, key, value, body)
        # Vendors have one place for both, so the body doesn't tell.
        configured = sorted(ASKED & settings.keys() - content.keys())
        named = encode({CONFIGURED: configured})[1:-1] if configured else b""
        own = (b",", named) if named else ()
        identity = b"".join((self._prefix, body, *own, self._routing, self._suffix))
        if not beyond and hears(body):
            beyond = "sound"
        worst_usd = bound(None if beyond else self.price, len(body), limit)
        extra_usd = bound(self.price, 0, hidden(limit))
        if most_usd is not None:
            worst_usd, extra_usd = most_usd, None
        return Request(
            identity=identity,
            key=digest(identity),
            payload=payload,
            deterministic=deterministic,
            tokens_in=len(body) // 4,
            cost_bound_usd=worst_usd,
            cost_hidden_usd=extra_usd or 0.0,
            stated=most_usd is not None,
            beyond=beyond,
            tokens_out=limit,
            unsent=self._headers_mark,
        )

    def uncovered_by(self, settings: Mapping[str, Any]) -> str:
        """What a prompt's own settings ask for that the price of tokens doesn't cover, in words; empty for nothing."""
        return self._uncovered(self.dialect.settings(self.model, {**self.config, **settings}))

    def _uncovered(self, settings: Mapping[str, Any]) -> str:
        return surcharges(settings, self._headers).uncovered(stated=is_stated(self.price))

    async def send(self, request: Request, host: Host) -> Answer:
        del host  # nothing of the user's runs here
        if self.needs_key or self.has_lent_key:
            raise AuthError(f"no API key for {self.id}", hint=set_key(self.key_name))
        payload = request.payload
        if not isinstance(payload, WithSchema):
            return self._answer(await self._post(payload))
        if not self._schemaless:
            try:
                return self._answer(await self._post(payload.body))
            except BadRequest as error:
                # A script without a rule would have none without the schema either.
                if error.status not in _UNHEARD_OF or NO_RULE in error.message:
                    raise
        answer = self._answer(await self._post(payload.plain))
        self._schemaless = True
        return answer

    def _post(self, body: bytes) -> Awaitable[HttpAnswer]:
        return http.transport().post(self.url, self._headers, body, self.timeout_s)

    def _answer(self, answer: HttpAnswer) -> Answer:
        """What came back, read as an answer; raises ProviderError."""
        chats = "generate" in self.dialect.tasks
        # Some servers, and Windows' proxies, put a byte order mark before their JSON.
        if answer.body.startswith(BOM_UTF8):
            answer = replace(answer, body=answer.body.removeprefix(BOM_UTF8))
        if answer.status not in ANSWERS:
            if chats and refusal(answer.body, answer.status) is not None:
                return answered(answer)
            raise fault(answer, host=self._host, key_hint=f"Look at the key in {self.key_name}.")
        problem = unreadable(answer, host=self._host)
        if problem is not None:
            raise problem
        return answered(answer, self.dialect.rates(answer.headers, time.time()))

    def reply(self, body: bytes) -> Reply:
        try:
            reply = self.dialect.read(body, self._parsed, self.price)
        except BadReply:
            words = refusal(body) if "generate" in self.dialect.tasks else None
            if words is None:
                raise
            # Azure charges for what its filter reads, and doesn't say how much that was.
            return refused(words, None if self.dialect.vendor == "azure" else 0.0)
        if reply.cost_usd is not None and self._costs_more(body):
            reply = replace(reply, cost_usd=None)
        if self.shape is not None:
            reply = self.shape(reply, body, self.config)
        if self.dialect.thought is None or not self.shows_thoughts:
            return reply
        thought = self.dialect.thought(body)
        if not thought or not reply.text or not isinstance(reply.output, str):
            return reply  # what was thought alone is no answer
        text = f"{thought}\n\n{reply.text}"
        return replace(reply, text=text, output=text, spoken=reply.text)

    def _costs_more(self, body: bytes) -> bool:
        """Whether tokens alone don't say what an answer cost."""
        beyond = billed_beyond(body).uncovered(stated=is_stated(self.price))
        return bool(self.uncovered or beyond)

    async def close(self) -> None:
        await http.close()

    @property
    def batch_headers(self) -> Mapping[str, str]:
        """The headers that go with a batch of its requests."""
        return {name: value for name, value in self._headers.items() if name != "content-type"}

    @property
    def tasks(self) -> frozenset[Task]:
        return self.dialect.tasks

    @property
    def most_questions(self) -> int:
        """How many typed questions one request may hold."""
        setting = self.config.get("maxQuestions")
        return setting if is_whole(setting) and setting > 0 else self.dialect.most_questions

    @property
    def parses(self) -> bool:
        """Whether its answers are JSON, and their output what that holds."""
        return self._parsed

    @property
    def needs_key(self) -> bool:
        """Whether nothing can be asked for want of a key; a server on this machine may do without."""
        return not self.key and self._wants_key

    @property
    def has_lent_key(self) -> bool:
        """Whether its key opens nothing, and it can't do without: it was made to be priced, and not to be asked."""
        return self.key == PLACEHOLDER and self._wants_key

    @property
    def _wants_key(self) -> bool:
        without = self._local or not self.key_variable
        return not without and self.config.get("apiKeyRequired") is not False

    @property
    def key_name(self) -> str:
        return self.key_variable


def chat_provider(
    wanted: Wanted,
    dialect: Dialect,
    *,
    model: str,
    url: str,
    key: str = "",
    key_variable: str = "",
    vendor: str = "",
    at_home: bool = True,
    config: Mapping[str, Any] | None = None,
) -> ChatProvider:
    """The model at this address that somebody asks for; its price and its time limit are what its config says.

    Args:
        vendor: Whose price list holds; empty for nobody's.
        at_home: The address is that vendor's own.
        config: Its settings, where they are others than those that were written.

    Raises:
        UsageError: The price or the time limit is none, or the address can't be one.
    """
    settings = wanted.config if config is None else config
    return ChatProvider(
        id=wanted.id,
        label=wanted.label or wanted.id,
        model=model,
        url=url,
        key=key,
        dialect=dialect,
        config=settings,
        price=price_of(vendor, model, settings, at_home=at_home),
        timeout_s=seconds(settings, wanted.id),
        key_variable=key_variable,
    )


def _bounds(settings: Mapping[str, Any], dialect: Dialect) -> tuple[int, bool]:
    """The most tokens that can come back, and whether the same question has the same answer."""
    inner: object = settings
    if dialect.sampling:
        inner = next((v for k, v in settings.items() if _camel(k) == dialect.sampling), None)
    sampling: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
    longest = most_written(settings, dialect.limits) if "generate" in dialect.tasks else 0
    return longest, sampling.get("temperature") == 0 or sampling.get("seed") is not None


def _joined(settings: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """A body of its settings and of what a prompt says. Settings in the prompt go over these, key by key.

    Google has two spellings of each key, of which a request may have but one: that of the prompt.
    """
    whole = dict(settings)
    for key, value in added.items():
        before: object = whole.pop(key, None)
        if before is None:
            before = whole.pop(_camel(key), None)
        whole[key] = value
        if is_mapping(value) and is_mapping(before):
            over = value
            rest = before
            names = set(map(_camel, over))
            if "parts" in names:  # the role belongs to the parts that are replaced
                names.add("role")
            whole[key] = {**{k: v for k, v in rest.items() if _camel(k) not in names}, **over}
    return whole


def _camel(name: str) -> str:
    return re.sub(_UNDERSCORE, lambda match: match[1].upper(), name) if "_" in name else name


_UNDERSCORE = r"(?<=[A-Za-z0-9])_([a-z])"
_SECRET = re.compile(
    r"(?<=[?&])([^=&#]*(?:key|token|secret|password|sig|signature))=[^&#]*", re.IGNORECASE
)


def address_of(url: str) -> str:
    """An address without who asks: no user, password or key in it, so that none is kept with the request."""
    start, slashes, rest = url.partition("//")
    host, slash, path = rest.partition("/")
    return "".join((start, slashes, host.rpartition("@")[2], slash, _SECRET.sub(r"\1=", path)))


def _wants_object(config: Mapping[str, Any]) -> bool:
    shape = config.get("response_format")
    return isinstance(shape, Mapping) and shape.get("type") == "json_schema"  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def seconds(config: Mapping[str, Any], id: str, name: str = "timeoutMs") -> float:  # noqa: A002 (the word that users write)
    """The time limit of one attempt, from `timeoutMs` or another setting; 300 s where there is none.

    Raises:
        UsageError: It is not a number of milliseconds.
    """
    setting = config.get(name) or 300_000
    try:
        value = float(setting)
    except (TypeError, ValueError, OverflowError):
        value = 0.0
    if value not in MILLISECONDS or not value:
        raise UsageError(
            f"provider '{id}': {MILLISECONDS.problem(name, setting) or f'{name} is 0'}"
        )
    return value / 1000


def read_as(kind: type[T], decoder: msgspec.json.Decoder[T], body: bytes, what: str) -> T:
    """An answer's JSON, as this kind of thing. Half a character, as a broken emoji leaves it, is kept.

    Raises:
        BadReply: It is not JSON, or not of this kind; `what` it should have been.
    """
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if not isinstance(error, (msgspec.ValidationError, RecursionError)):
            try:
                return msgspec.convert(decode(body), kind)
            except (ValueError, msgspec.ValidationError, RecursionError):
                pass
        raise BadReply(f"the reply is not {what}: {error}", billed=None) from None


def passed_on(config: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The settings that go to the vendor as they are.

    Args:
        names: What they are called. Where a vendor has other words: config name → the vendor's name.
    """
    theirs = names if isinstance(names, Mapping) else {name: name for name in names}
    return {theirs[ours]: config[ours] for ours in theirs if config.get(ours) is not None}


def asks_for_batches(provider: Provider) -> bool:
    """Whether a model's config says `batch: true`: it is asked in batches, also in a run without `--batch`."""
    return isinstance(provider, ChatProvider) and provider.config.get("batch") is True


def counted(
    answer: object, tokens_in: str, tokens_out: str, cached: str = "", *, at: str = "usage"
) -> Usage:
    """The tokens of an answer; None for what it does not say, or what cannot be a number of tokens.

    Args:
        tokens_in: What the vendor calls those that it read.
        tokens_out: Those that it wrote.
        cached: Those that it had read before; a dot leads further in.
        at: Where in the answer the counts are; empty for the answer itself.
    """
    whole = as_mapping(answer)
    counts = as_mapping(whole.get(at)) if at else whole
    inner, _, last = cached.rpartition(".")
    return Usage(
        number(counts.get(tokens_in)),
        number(counts.get(tokens_out)),
        number((as_mapping(counts.get(inner)) if inner else counts).get(last)),
    )
