"""Where a model was asked, as evidence keeps it: scheme, host and port, and whether that is the vendor's own server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from ipaddress import ip_address
from urllib.parse import urlsplit

from evenhand.providers.servers import SERVERS

_OWN: Mapping[str, tuple[str, str]] = {
    "anthropic": ("anthropic", "HOME"),
    "google": ("google", "HOME"),
    "palm": ("google", "HOME"),
    "huggingface": ("huggingface", "ROUTER"),
    "hf": ("huggingface", "ROUTER"),
    "llama": ("llama", "HOME"),
    "ollama": ("ollama", "HOME"),
    "replicate": ("replicate", "HOME"),
}
"""The first word of an id → the module and the name of the address that its models are at."""
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_VERTEX = "aiplatform.googleapis.com"
_BY_ADDRESS = frozenset({"http", "https", "webhook"})


def origin(url: str) -> str:
    """Scheme, host and port of an address, without user, path and query; empty for what is no address."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}"


def is_this_machine(host: str) -> bool:
    """Whether a host of an address is this machine's loopback."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_vendors(model: str, address: str) -> bool:
    """Whether a model was asked where its vendor answers.

    Args:
        model: Its id, e.g. `anthropic:claude-haiku-4-5`.
        address: An `origin`. An id that is an address itself (`https://…`) names its own.
    """
    kind = model.partition(":")[0]
    if kind in _BY_ADDRESS:
        return address == origin(model.removeprefix("webhook:"))
    if kind in ("azure", "azureopenai"):
        parts = urlsplit(address)
        return parts.scheme == "https" and (parts.hostname or "").endswith(_AZURE)
    if kind == "vertex":
        parts = urlsplit(address)
        return parts.scheme == "https" and (parts.hostname or "").endswith(_VERTEX)
    own = home(kind)
    return bool(own) and address == origin(own)


def home(kind: str) -> str:
    """The address at which models of this kind are asked, unless a config names another; empty where there is no one.

    >>> home("google")
    'https://generativelanguage.googleapis.com'
    """
    if kind in SERVERS:
        return SERVERS[kind].address
    if kind not in _OWN:
        return ""
    module, name = _OWN[kind]
    address: str = getattr(import_module(f"evenhand.providers.{module}"), name)
    return address


def homes() -> set[str]:
    """The addresses of all vendors, and of servers that run on one's own machine."""
    return {home(kind) for kind in (*SERVERS, *_OWN)}


def shown_host(address: str) -> str:
    """The host, and the port where there is one: what people call a server."""
    return address.partition("://")[2] or address
