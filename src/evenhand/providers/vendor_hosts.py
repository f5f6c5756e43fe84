"""The hosts at which vendors' models answer, for requests of clients that nobody has said anything about.

A client that was made for recording asks models, so all that it posts counts. Any other client of the process may talk
to anybody. Its request is one to a model where it goes to a vendor's host, or where address and body are those of a
known API: the end of a path alone, such as `/messages`, is used for other things, too.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import as_mapping
from evenhand.providers.addresses import homes
from evenhand.providers.endpoints import place_asked, place_of

_HERE = ("localhost", "127.0.0.1")
HOSTS = frozenset(urlsplit(home).hostname or "" for home in homes()).difference(_HERE) | {
    "api.cohere.com",
    "aiplatform.googleapis.com",
    "api-inference.huggingface.co",
    "dashscope.aliyuncs.com",
    "ollama.com",
}
"""The hosts of vendors that have one."""

_OF_CUSTOMERS = re.compile(
    r"(?:\.openai\.azure\.com|\.services\.ai\.azure\.com|\.inference\.ai\.azure\.com|\.models\.ai\.azure\.com"
    r"|-aiplatform\.googleapis\.com|^aiplatform\.[\w-]+\.rep\.googleapis\.com|\.api\.openai\.com"
    r"|^bedrock(?:-agent)?-runtime(?:-fips)?\.[\w-]+\.(?:amazonaws\.com(?:\.cn)?|vpce\.amazonaws\.com)"
    r"|^bedrock-mantle\.[\w-]+\.api\.aws|\.endpoints\.huggingface\.cloud)$"
)
"""Hosts that are different for each customer or region."""

_TELEMETRY = re.compile(r"/traces/ingest$")
_NAMED_IN_PATH = re.compile(r"/(?:deployments|models?)/")


def is_vendors(host: str) -> bool:
    """Whether a vendor's models answer at this host, in lower case."""
    return host in HOSTS or _OF_CUSTOMERS.search(host) is not None


@functools.lru_cache(1024)
def _looks(host: str, path: str) -> bool | None:
    """Whether this is an address of a model: True, False, or None where the body has to tell."""
    if _TELEMETRY.search(path):
        return False
    if is_vendors(host):
        return True
    return None if place_of(f"http://{host}{path}") is not None else False


def asks_a_model(url: str, body: Callable[[], bytes]) -> bool:
    """Whether what is posted here asks a model.

    Args:
        body: Returns what is posted. Called only where the address leaves it open.
    """
    parts = urlsplit(url)
    looks = _looks(parts.hostname or "", parts.path)
    return _speaks(url, body()) if looks is None else looks


def may_ask_a_model(url: str) -> bool:
    """Whether what is posted here may ask a model, whatever it is."""
    parts = urlsplit(url)
    return _looks(parts.hostname or "", parts.path) is not False


def _speaks(url: str, sent: bytes) -> bool:
    body = as_mapping(decoded(sent))
    place = place_asked(url, body)
    if place is None:
        return False
    return bool(place.model or body.get("model") or _NAMED_IN_PATH.search(urlsplit(url).path))
