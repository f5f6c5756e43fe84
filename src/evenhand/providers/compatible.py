"""Servers that speak OpenAI's API: where they are, what their keys are called, and what they can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from evenhand.core.provider import Provider
from evenhand.providers.chat import ChatProvider, Dialect, seconds
from evenhand.providers.prices import price_of
from evenhand.providers.wanted import Wanted


@dataclass(frozen=True, slots=True)
class Server:
    """One of them.

    Attributes:
        name: What people call it.
        address: Where its API begins.
        key: The environment variable that holds the key; empty for a server that wants none.
        bases: Environment variables that name another address; the first that is set counts.
        kinds: What it can be asked for: words of `ENDPOINTS`. The first is meant where the id says none.
    """

    name: str
    address: str
    key: str
    bases: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("chat",)


ENDPOINTS: Mapping[str, tuple[str, str]] = {
    "chat": ("/chat/completions", "openai"),
    "embedding": ("/embeddings", "embeddings"),
    "embeddings": ("/embeddings", "embeddings"),
    "moderation": ("/moderations", "moderation"),
}
"""What can be asked for, as ids say it → the path, and the module whose DIALECT is spoken there."""

DEFAULTS: Mapping[tuple[str, str], str] = {
    ("openai", "embedding"): "text-embedding-3-large",
    ("openai", "embeddings"): "text-embedding-3-large",
    ("openai", "moderation"): "omni-moderation-latest",
}
"""The model that is meant where an id names none."""

_EMBEDS = ("chat", "embedding", "embeddings")

SERVERS: Mapping[str, Server] = {
    "openai": Server(
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        ("OPENAI_API_BASE_URL", "OPENAI_BASE_URL"),
        (*_EMBEDS, "moderation"),
    ),
    "mistral": Server(
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        ("MISTRAL_API_BASE_URL",),
        (*_EMBEDS, "moderation"),
    ),
}


def compatible(wanted: Wanted) -> Provider:
    """A model at one of these servers. `model@address` names the address in the id itself."""
    server = SERVERS[wanted.kind]
    first, _, rest = wanted.rest.partition(":")
    kind, model = (first, rest) if first in ENDPOINTS else ("", wanted.rest)
    if kind and kind not in server.kinds:
        raise wanted.refused(
            f"asks {server.name} for {kind}, which it does not have",
            f"Write {wanted.kind}:{server.kinds[0]}:<model>.",
        )
    kind = kind or server.kinds[0]
    model, _, address = model.partition("@")
    model = str(wanted.config.get("model") or model) or DEFAULTS.get((wanted.kind, kind), "")
    if not model:
        raise wanted.refused("names no model", f"Write {wanted.kind}:{kind}:<model>.")
    base = (address or _base(wanted, server)).rstrip("/")
    path, module = ENDPOINTS[kind]
    dialect: Dialect = import_module(f"evenhand.providers.{module}").DIALECT
    variable = str(wanted.config.get("apiKeyEnvar") or server.key)
    return ChatProvider(
        id=wanted.id,
        label=wanted.label or wanted.id,
        model=model,
        url=base + path,
        key=wanted.setting("apiKey", variable).strip(),
        dialect=dialect,
        config=wanted.config,
        price=price_of(wanted.kind if base == server.address else "", model, wanted.config),
        timeout_s=seconds(wanted.config, wanted.id),
        key_variable=variable,
    )


def _base(wanted: Wanted, server: Server) -> str:
    if wanted.config.get("apiBaseUrl"):
        return str(wanted.config["apiBaseUrl"])
    host = wanted.setting("apiHost", f"{wanted.kind.upper()}_API_HOST")
    if host:
        return f"https://{host}/v1"
    return wanted.setting("apiBaseUrl", *server.bases) or server.address
