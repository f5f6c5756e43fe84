"""Models at servers that speak OpenAI's API, whatever it is that they are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from evenhand.core.ranges import NUMBER
from evenhand.providers.chat import ChatProvider, Dialect, chat_provider
from evenhand.providers.servers import SERVERS, CompatibleServer
from evenhand.providers.wanted import Wanted

_ENDPOINTS: Mapping[str, tuple[str, str, str]] = {
    "chat": ("/chat/completions", "openai", "DIALECT"),
    "responses": ("/responses", "responses", "DIALECT"),
    "completion": ("/completions", "openai", "COMPLETION"),
    "embedding": ("/embeddings", "embeddings", "DIALECT"),
    "moderation": ("/moderations", "openai", "MODERATION"),
    "decisions": ("/decisions", "decisions", "DIALECT"),
}
"""What can be asked for → the path, and the module and the name of the dialect that is spoken there."""

_RESPONSES = r"gpt-(?!35)(?:[6-9]|\d\d|5\.(?:[6-9]|\d\d))(?![\d])"
# Models from here on are asked through the responses API where an id does not say how.

_FROM_ENVIRONMENT: Mapping[str, tuple[str, type]] = {
    "OPENAI_TEMPERATURE": ("temperature", float),
    "OPENAI_MAX_TOKENS": ("max_tokens", int),
    "OPENAI_MAX_COMPLETION_TOKENS": ("max_completion_tokens", int),
    "OPENAI_TOP_P": ("top_p", float),
    "OPENAI_PRESENCE_PENALTY": ("presence_penalty", float),
    "OPENAI_FREQUENCY_PENALTY": ("frequency_penalty", float),
    "OPENAI_STOP": ("stop", str),
}


def make(wanted: Wanted) -> ChatProvider:
    """A model at one of these servers. `model@address` names the address in the id itself."""
    server = SERVERS[wanted.kind]
    kind, model = _kind(wanted, server)
    model, _, address = model.partition("@")
    config = {**_environment(wanted), **wanted.config}
    model = str(config.get("model") or model) or server.kinds[kind]
    if not model:
        raise wanted.refused("names no model", f"Write {wanted.kind}:{kind}:<model>.")
    base = (address or _base(wanted, server)).rstrip("/")
    path = _ENDPOINTS[kind][0]
    variable = str(config.get("apiKeyEnvar") or server.key)
    return chat_provider(
        wanted,
        dialect_of(kind),
        model=model,
        url=base + path,
        key=wanted.setting("apiKey", variable).strip(),
        key_variable=variable,
        vendor=wanted.kind,
        at_home=base == server.address,
        config=config,
    )


def dialect_of(kind: str) -> Dialect:
    """How this kind of thing is asked for."""
    _, module, name = _ENDPOINTS[kind]
    return getattr(import_module(f"evenhand.providers.{module}"), name)


def split_kind(rest: str) -> tuple[str, str]:
    """The kind that an id names, empty for none, and the model: of `embeddings:x`, `embedding` and `x`."""
    first, _, model = rest.partition(":")
    kind = "embedding" if first == "embeddings" else first
    return (kind, model) if kind in _ENDPOINTS else ("", rest)


def _kind(wanted: Wanted, server: CompatibleServer) -> tuple[str, str]:
    kind, model = split_kind(wanted.rest)
    if not kind:
        routed = "responses" in server.kinds and wanted.kind == "openai"
        kind = "responses" if routed and re.match(_RESPONSES, model) else next(iter(server.kinds))
        first = model.partition(":")[0]
        if wanted.kind == "openai" and first in _NOT_HERE:
            raise wanted.refused(
                f"asks for OpenAI's {first}, which is not supported",
                "Write agent:codex, which runs Codex."
                if first.startswith("codex")
                else "Text can be asked for: openai:chat:<model>, openai:responses:<model>.",
            )
    if kind not in server.kinds:
        raise wanted.refused(
            f"asks {server.name} for {kind}, which is not known here",
            f"Write {wanted.kind}:{next(iter(server.kinds))}:<model>, or name the address: "
            f"openai:{kind}:<model> with config: {{apiBaseUrl: {server.address}}}.",
        )
    return kind, model


_NOT_HERE = frozenset(
    "agents agents-api assistant chatkit codex codex-app-server codex-desktop codex-sdk codex-security image live "
    "realtime speech transcription tts video".split()
)


def _base(wanted: Wanted, server: CompatibleServer) -> str:
    if wanted.config.get("apiBaseUrl"):
        return str(wanted.config["apiBaseUrl"])
    host = wanted.setting("apiHost", f"{wanted.kind.upper()}_API_HOST")
    if host:
        return f"https://{host}/v1"
    named = f"{wanted.kind.upper()}_API_BASE_URL"
    return wanted.setting("apiBaseUrl", named, *server.bases) or server.address


def _environment(wanted: Wanted) -> dict[str, Any]:
    """The settings that the environment has for OpenAI's models."""
    settings: dict[str, Any] = {}
    if wanted.kind != "openai":
        return settings
    for variable, (name, kind) in _FROM_ENVIRONMENT.items():
        text = wanted.env.get(variable)
        if not text:
            continue
        try:
            settings[name] = kind(text)
            if kind is not str and settings[name] not in NUMBER:
                raise ValueError(text)  # noqa: TRY301 (told like what is no number at all)
        except ValueError:
            raise wanted.refused(
                f"cannot use {variable}={text!r}", "It is a number; or unset it."
            ) from None
    return settings
