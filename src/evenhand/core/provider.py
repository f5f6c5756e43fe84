"""What a vendor's room has to offer the engine: one attempt, and no policy.

Retries, rates, budget, journal and cache are the engine's, in one place, for every provider alike.

A call goes request → send → reply:
`request` turns a prompt into bytes that say all that the answer depends on; `send` makes one attempt and returns the
raw answer or raises a ProviderError that says what kind of failure it was; `reply` reads the raw answer. `request`
and `reply` are pure, so a journaled answer is read again by the very code that read it the first time.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, cast, runtime_checkable

from evenhand.core.message import Prompt, Reply, Task
from evenhand.core.record import Record

T = TypeVar("T")


class Lasting(Protocol):
    """Something that serves a whole run: an engine, a worker process."""

    def close(self) -> None:
        """Lets go of it. Called once, when the run ends, however it ends."""
        ...


L = TypeVar("L", bound=Lasting)


class Request(Record, frozen=True):
    """One model call, ready to be sent any number of times.

    Attributes:
        identity: Canonical JSON of everything that the answer depends on (address, API version, model, the whole
            body), and of nothing else: no key, no header of the transport, no name for reports.
        key: The hash of `identity`.
        payload: What the provider needs to send it; for HTTP, the body.
        deterministic: Asked the same again, the answer should be the same (temperature 0, or a seed).
        tokens_in: A guess at the tokens it sends, for rate limits.
        cost_bound_usd: More than this it cannot cost; None where the price is not known.
        cost_hidden_usd: What it costs on top where a vendor bills the longest reply there is, whatever limit the
            request sets: some do, for reasoning that nobody sees.
        stated: The worst price is what somebody has said that a call costs at most, and not that of its tokens.
        beyond: What it asks for that the price of its tokens doesn't cover, in words; empty for nothing.
        tokens_out: The most tokens that can come back; None where that is not known.
        unsent: What the answer depends on beside the request, as a script does: another run is given the answer only
            where this is the same. Empty for nothing.
    """

    identity: bytes
    key: str
    payload: Any
    deterministic: bool = True
    tokens_in: int = 0
    cost_bound_usd: float | None = None
    cost_hidden_usd: float = 0.0
    stated: bool = False
    beyond: str = ""
    tokens_out: int | None = None
    unsent: str = ""


class RateLimits(Record, frozen=True):
    """What the headers of an answer said of the account's limits. None where they did not."""

    requests_limit: float | None = None
    requests_remaining: float | None = None
    requests_reset_s: float | None = None
    tokens_limit: float | None = None
    tokens_remaining: float | None = None
    tokens_reset_s: float | None = None


class Answer(Record, frozen=True):
    """What came back from one attempt, as it came.

    Attributes:
        body: The raw bytes; this is what the journal and the cache keep.
        latency_s: Seconds from sending to the last byte, as it came in here.
        rates: What the headers said of the account's limits, if anything.
        first_byte_s: Seconds from sending to the first byte; None where it is not known.
        queued_s: Seconds that it was here and nobody had time for it, which are no part of the latency; None where it
            did not come over the network.
    """

    body: bytes
    latency_s: float
    rates: RateLimits | None = None
    first_byte_s: float | None = None
    queued_s: float | None = None


class Host(Protocol):
    """A place to run the user's code, lent by the run: off the event loop, imported once, its prints kept."""

    async def load(self, path: Path, name: str) -> Callable[..., Any]:
        """The function `name` (or `Class.method`) of a Python file.

        The file is imported once in a run, under a name of its own, so that two folders' `prompts.py` do not meet;
        its folder is on `sys.path`.

        Raises:
            CodeError: The file cannot be imported, or has no such function.
        """
        ...

    async def call(
        self,
        function: Callable[..., Awaitable[T] | T],
        *args: object,
        name: str,
        limit_s: float | None = None,
    ) -> T:
        """Runs a user's function, plain or async, and waits for it. A plain one runs off the event loop.

        Args:
            name: What to call it when it raises, hangs or dies, e.g. `grader.py:get_assert`.
            limit_s: Seconds before it is given up; None for the run's own limit.

        Raises:
            CodeError: It raised or took too long.
        """
        ...

    def lasting(self, make: Callable[[float], L]) -> L:
        """What `make` makes of the run's time limit for a call, in seconds: once in a run, and closed with it."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A provider that cannot be asked without a key: said before anything is sent, and by `evenhand check`."""

    @property
    def needs_key(self) -> bool:
        """Whether nothing can be asked for want of a key."""
        ...

    @property
    def key_name(self) -> str:
        """The environment variable that holds the key."""
        ...


@runtime_checkable
class Provider(Protocol):
    """Something that answers prompts: a vendor's API, a function, a program."""

    @property
    def id(self) -> str:
        """As the user asked for it, e.g. `openai:chat:gpt-5-mini`."""
        ...

    @property
    def label(self) -> str:
        """The provider's name in reports: the user's label, or the id."""
        ...

    @property
    def account(self) -> str:
        """What rates, gates and fatal errors belong to: vendor, address and a fingerprint of the key.

        Empty for what has no limits (echo, functions).
        """
        ...

    @property
    def paid(self) -> bool:
        """Whether a call may cost money, so that it is recorded before it is sent, and counted."""
        ...

    @property
    def tasks(self) -> frozenset[Task]:
        """The tasks that a provider can be asked for. It is asked for nothing else."""
        ...

    def request(self, prompt: Prompt) -> Request:
        """What would be sent for this prompt. Pure."""
        ...

    async def send(self, request: Request, host: Host) -> Answer:
        """Makes one attempt.

        Raises:
            ProviderError: Of the class that says what to do next.
        """
        ...

    def reply(self, body: bytes) -> Reply:
        """Reads an answer; `latency_s`, `origin` and `attempts` are filled in by the engine. Pure.

        Raises:
            BadReply: The answer is not what the API promises.
        """
        ...

    async def close(self) -> None:
        """Lets go of connections."""
        ...


@runtime_checkable
class TakesQuestions(Protocol):
    """A provider that takes only so many typed questions in one request."""

    @property
    def most_questions(self) -> int:
        """How many, at least 1."""
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """A provider whose answers hang on files: a run is not resumed after one of them has changed."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that decide what is answered."""
        ...


def fallback_id(ids: Sequence[str]) -> str:
    """The id of several judges, each in place of the one before: a list can stand wherever an id does. One is itself.

    >>> fallback_id(["openai:chat:gpt-5", "google:gemini-2.5-flash"])
    'fallback:["openai:chat:gpt-5","google:gemini-2.5-flash"]'
    """
    return ids[0] if len(ids) == 1 else "fallback:" + json.dumps(list(ids), separators=(",", ":"))


SEVERAL = ("cascade:", "fallback:")
"""What ids of several judges begin with."""


def judge_id(judge: object) -> object:
    """The id of a judge that is written as a list, which is a fallback, or as a cascade; anything else as it is.

    >>> judge_id({"first": "a:b", "then": "c:d"})
    'cascade:{"first":"a:b","then":"c:d"}'
    """
    if isinstance(judge, (list, tuple)):
        return fallback_id(cast("Sequence[str]", judge))
    if isinstance(judge, Mapping) and ("first" in judge or "then" in judge):
        return "cascade:" + json.dumps(judge, sort_keys=True, separators=(",", ":"), default=str)
    return judge


MODEL_KEYS = ("id", "label", "config")
"""What a model with settings of its own is written with, where an id can stand."""


def misset(model: Mapping[str, Any]) -> list[str]:
    """What is wrong with a model that is written with its settings.

    >>> misset({"id": "openai:chat:gpt-5-mini", "temperature": 0})
    ["'temperature' is not known: a model has id, label, config"]
    """
    wrong = [
        f"{key!r} is not known: a model has {', '.join(MODEL_KEYS)}"
        for key in model
        if key not in MODEL_KEYS
    ]
    id_, label, config = (model.get(key) for key in MODEL_KEYS)
    if not isinstance(id_, str) or not id_.strip():
        wrong.append(f"id is {id_!r:.60}, not a model's id such as 'openai:chat:gpt-5-mini'")
    if label is not None and not isinstance(label, str):
        wrong.append(f"label is {label!r:.60}, not a text")
    if config is not None and not isinstance(config, Mapping):
        wrong.append(f"config is {config!r:.60}, not settings such as {{'temperature': 0}}")
    return wrong


def judging_task(provider: Provider, task: Task) -> Task | None:
    """What a judge is asked for where an assertion asks for this task; None where it can do neither.

    A decision model stands in for a judge that writes.
    """
    if task in provider.tasks:
        return task
    return "decide" if task == "generate" and "decide" in provider.tasks else None


Saying = Literal["remote", "lasts", "answers_by_request_alone", "parses", "shows_thoughts"]
"""What a provider may say of itself in an attribute of this name, true or false; see `says`."""


def says(provider: Provider, what: Saying) -> bool:
    """What a provider says of itself, beside what every provider has. It need say none of it.

    Args:
        what: `remote`: It is asked over the network. `lasts`: Another run may be given its answers; they do, unless it
            says otherwise. `answers_by_request_alone`: Its answers hang on nothing but the request. `parses`: Its
            answers are JSON, and their output what that holds. `shows_thoughts`: What it thought stands before them.
    """
    return bool(getattr(provider, what, what == "lasts"))


class Price(Record, frozen=True):
    """US dollars per million tokens.

    Attributes:
        usd_out: Of what is answered, thoughts included.
        usd_cached: Of what is sent and read from the vendor's cache; None for the price of all that is sent.
        as_of: The month in which it was right; `config` or `given` where the user says what a token costs.
        long: Where long input costs more: what all tokens of a call cost that sends more than `long_from`.
        long_from: That number of tokens.
    """

    usd_in: float
    usd_out: float
    usd_cached: float | None = None
    as_of: str = ""
    long: Price | None = None
    long_from: int = 0

    def at(self, tokens_in: int) -> Price:
        """What the tokens of a call cost that sends so many."""
        return self.long if self.long is not None and tokens_in > self.long_from else self
