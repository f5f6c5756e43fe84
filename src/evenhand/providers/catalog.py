"""From the id that a user writes to the provider that it means."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import UsageError
from evenhand.core.provider import Provider
from evenhand.providers.wanted import Wanted

SCHEMES: Mapping[str, str] = {
    "openai:<model>": "OpenAI chat; openai:chat:<model> is the same",
    "openai:<model>@<address>": "a server that speaks OpenAI's API, e.g. openai:llama3@http://localhost:8000/v1",
    "openai:embedding:<model>": "OpenAI embeddings",
    "openai:moderation:<model>": "OpenAI moderation",
    "mistral:<model>": "Mistral chat",
    "mistral:embedding:<model>": "Mistral embeddings",
    "anthropic:<model>": "Anthropic; anthropic:messages:<model> is the same",
    "python:<file.py>:<function>": "a function of yours; call_api(prompt, options, context) by default",
    "file://<file.py>:<function>": "the same",
    "exec:<command>": "a program that is given the prompt and prints the answer",
    "echo": "answers with the prompt",
}

# Known to promptfoo, spoken to here through OpenAI's API at this address (empty: not at all yet).
_ELSEWHERE: Mapping[str, str] = {
    "azure": "",
    "bedrock": "",
    "cohere": "https://api.cohere.ai/compatibility/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai",
    "groq": "https://api.groq.com/openai/v1",
    "http": "",
    "https": "",
    "huggingface": "",
    "litellm": "",
    "ollama": "http://localhost:11434/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "perplexity": "https://api.perplexity.ai",
    "replicate": "",
    "togetherai": "https://api.together.xyz/v1",
    "vertex": "",
    "webhook": "",
    "websocket": "",
    "xai": "https://api.x.ai/v1",
}

COMPATIBLE = frozenset({"openai", "mistral"})


def create(
    id: str,  # noqa: A002 (the word that users write)
    *,
    label: str = "",
    config: Mapping[str, Any] | None = None,
    env: Mapping[str, str],
    base: Path,
) -> Provider:
    """The provider with this id. Opens nothing and asks nobody.

    Args:
        label: Its name in reports; the id where empty.
        config: Its settings.
        env: The environment: keys and addresses.
        base: The folder that relative paths start from.

    Raises:
        UsageError: Nobody knows this id, or its file does not exist.
    """
    settings = config or {}
    kind, _, rest = id.partition(":")
    if id == "echo":
        from evenhand.providers.echo import Echo  # noqa: PLC0415 (a room's neighbours are imported when asked for)

        return Echo(id, label or id)
    if kind in COMPATIBLE and rest:
        from evenhand.providers.compatible import compatible  # noqa: PLC0415 (see above)

        return compatible(Wanted(id, kind, rest, label, settings, env, base))
    if kind == "anthropic" and rest:
        from evenhand.providers.anthropic import anthropic  # noqa: PLC0415 (see above)

        model = rest.removeprefix("messages:")
        return anthropic(id, model, label=label, config=settings, env=env)
    if kind == "python" or (id.startswith("file://") and ".py" in id):
        return _function(id, label, settings, base)
    if kind == "exec" and rest.strip():
        from evenhand.providers.process import ProcessProvider  # noqa: PLC0415 (see above)

        return ProcessProvider(id, label or id, rest.strip(), base, settings)
    raise unknown(id)


def key_missing(provider: Provider) -> str:
    """The environment variable that a provider lacks its key in; empty where it has one, or needs none."""
    from evenhand.providers.chat import ChatProvider  # noqa: PLC0415 (a room's neighbours are imported when asked for)

    if not isinstance(provider, ChatProvider) or not provider.needs_key:
        return ""
    return provider.key_name


def unknown(id: str) -> UsageError:  # noqa: A002 (the word that users write)
    """What to say of an id that nobody here knows."""
    kind = id.partition(":")[0]
    message = f"provider '{id}' is not known"
    if kind in _ELSEWHERE:
        address = _ELSEWHERE[kind]
        hint = (
            f"{kind} speaks OpenAI's API too: use openai:<model> with config: {{apiBaseUrl: {address}}}."
            if address
            else f"{kind} is not supported yet; a Python function can stand in: python:provider.py:call_api."
        )
        return UsageError(message, hint=hint)
    near = difflib.get_close_matches(
        kind, ["openai", "anthropic", "python", "exec", "echo", *_ELSEWHERE], n=1
    )
    families = (
        "Providers: openai, anthropic, python, exec, echo, and any OpenAI-compatible address."
    )
    return UsageError(message, hint=f"Did you mean '{near[0]}'? {families}" if near else families)


def _function(id: str, label: str, config: Mapping[str, Any], base: Path) -> Provider:  # noqa: A002 (see above)
    from evenhand.providers.function import FunctionProvider  # noqa: PLC0415 (see above)

    text = id.removeprefix("python:").removeprefix("file://")
    name, colon, function = text.rpartition(":") if ".py:" in text else (text, "", "")
    path = base / (name if colon else text)
    if not path.is_file():
        raise UsageError(
            f"provider '{id}': {path.name} does not exist", hint=f"Looked in {path.parent}."
        )
    return FunctionProvider(id, label or id, path, function, config)
