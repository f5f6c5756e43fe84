"""The addresses at which models answer, and what is asked there of whom.

An application says by itself where it asks. So an address is known by the end of its path, whatever server it is at.
What is asked at an address that is not listed here is a call, too, of which no more is known than its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.record import Record
from evenhand.providers import (
    anthropic,
    cohere,
    converse,
    embeddings,
    google,
    ollama,
    openai,
    responses,
)
from evenhand.providers.chat import Dialect
from evenhand.providers.servers import SERVERS

_ASKS = ("messages", "input", "prompt")


class Endpoint(Record, frozen=True, kw_only=True):
    """One way to ask a model.

    Attributes:
        kind: What is asked, as streams and batches know it.
        path: How its address ends. The model is named in it, where the body doesn't name it.
        prefix: How ids of its models begin.
        dialect: Reads what is answered.
        vendor: Whose price list holds; empty for nobody's.
        home: The host at which that is certain.
        asks: What a body has that asks for something: one of these.
        streams: Whether the answer comes in pieces where the body doesn't say.
        names: Whether the body always names the model.
    """

    kind: str
    path: re.Pattern[str]
    prefix: str
    dialect: Dialect
    vendor: str = ""
    home: str = ""
    asks: tuple[str, ...] = _ASKS
    streams: bool = False
    names: bool = False

    @property
    def speaks(self) -> bool:
        """Whether the model answers in words, which vectors are not."""
        return "generate" in self.dialect.tasks


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def _by_end(*ends: str) -> re.Pattern[str]:
    return re.compile(rf"/(?:{'|'.join(ends)})$")


def _by_model(action: str, above: str = "models") -> re.Pattern[str]:
    return re.compile(rf"/{above}/(?P<model>[^/]+):{action}$")


_of_openai = partial(Endpoint, vendor="openai", home=_host(SERVERS["openai"].address))
_of_anthropic = partial(Endpoint, dialect=anthropic.DIALECT, kind="messages")
_of_google = partial(Endpoint, vendor="google", home=_host(google.HOME))
_of_gemini = partial(
    _of_google, kind="generateContent", prefix="google", dialect=google.DIALECT, asks=("contents",)
)
_of_ollama = partial(Endpoint, dialect=ollama.CHAT, streams=True, names=True)
_of_converse = partial(Endpoint, kind="converse", prefix="bedrock", dialect=converse.DIALECT)
_RAW = "(?:rawPredict|streamRawPredict)"

ENDPOINTS: tuple[Endpoint, ...] = (
    _of_ollama(kind="api/chat", path=_by_end("api/chat"), prefix="ollama:chat"),
    _of_ollama(kind="api/generate", path=_by_end("api/generate"), prefix="ollama:completion"),
    Endpoint(
        kind="api/embed",
        path=_by_end("api/embed", "api/embeddings"),
        prefix="ollama:embedding",
        dialect=embeddings.DIALECT,
        names=True,
    ),
    Endpoint(kind="v2/chat", path=_by_end("v2/chat"), prefix="cohere:chat", dialect=cohere.DIALECT),
    _of_openai(
        kind="chat/completions",
        path=_by_end("(?:chat|agents|fim)/completions"),
        prefix="openai:chat",
        dialect=openai.DIALECT,
    ),
    _of_openai(
        kind="responses",
        path=_by_end("responses"),
        prefix="openai:responses",
        dialect=responses.DIALECT,
    ),
    _of_openai(
        kind="embeddings",
        path=_by_end("embeddings"),
        prefix="openai:embeddings",
        dialect=embeddings.DIALECT,
    ),
    _of_anthropic(
        path=_by_end("messages"),
        prefix="anthropic:messages",
        vendor="anthropic",
        home=_host(anthropic.HOME),
    ),
    _of_openai(
        kind="completions",
        path=_by_end("completions"),
        prefix="openai:completion",
        dialect=openai.COMPLETION,
    ),
    _of_openai(
        kind="moderations",
        path=_by_end("moderations"),
        prefix="openai:moderation",
        dialect=openai.MODERATION,
    ),
    _of_gemini(path=_by_model("generateContent")),
    _of_gemini(path=_by_model("streamGenerateContent"), streams=True),
    _of_google(
        kind="embedContent",
        path=_by_model("(?:embedContent|batchEmbedContents)"),
        prefix="google:embedding",
        dialect=embeddings.DIALECT,
        asks=("content", "requests"),
    ),
    _of_anthropic(path=_by_model(_RAW, "publishers/anthropic/models"), prefix="vertex"),
    Endpoint(
        kind="chat/completions",
        path=_by_model(_RAW, "publishers/mistralai/models"),
        prefix="vertex",
        dialect=openai.DIALECT,
    ),
    _of_anthropic(
        path=re.compile(r"/model/(?P<model>[^/]*anthropic\.[^/]+)/invoke$"), prefix="bedrock"
    ),
    _of_converse(path=re.compile(r"/model/(?P<model>[^/]+)/converse$")),
    _of_converse(path=re.compile(r"/model/(?P<model>[^/]+)/converse-stream$"), streams=True),
)
"""All that is known; where two fit, the first one counts."""

_BY_KIND = {endpoint.kind: endpoint for endpoint in reversed(ENDPOINTS)}
_FREE = re.compile(
    r"(?:count_?tokens|computeTokens|tokenize|detokenize|input_tokens|/files)$", re.IGNORECASE
)


class Place(Record, frozen=True):
    """An address: its endpoint, and the model that it names; empty where the body does."""

    endpoint: Endpoint
    model: str


def place_of(url: str) -> Place | None:
    """The endpoint at this address; None for one that is not known."""
    path = urlsplit(url).path
    for endpoint in ENDPOINTS:
        match = endpoint.path.search(path)
        if match is not None:
            return Place(endpoint, unquote(match.groupdict().get("model") or ""))
    return None


def place_asked(url: str, body: Mapping[str, Any]) -> Place | None:
    """The endpoint at this address, if a body of this kind asks it; None for every other service.

    An application's own service may be at a path of a vendor's: `/api/chat` is Ollama's, and where the Vercel AI SDK
    has its agents. What `useChat` posts has messages in parts, as no vendor's API has them.
    """
    place = place_of(url)
    if place is None or not any(name in body for name in place.endpoint.asks):
        return None
    if place.endpoint.names and not body.get("model"):
        return None
    messages = map(as_mapping, as_array(body.get("messages")))
    return None if any("parts" in message for message in messages) else place


def endpoint_of(kind: str) -> Endpoint:
    """The first endpoint of this kind.

    Raises:
        LookupError: There is none.
    """
    return _BY_KIND[kind]


def is_free(url: str) -> bool:
    """Whether nobody charges for what is asked at this address: tokens are counted, or a file is filed."""
    return _FREE.search(urlsplit(url).path) is not None
