"""From the id that a user writes to the provider that it means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean, nearest
from evenhand.core.plugins import PROVIDERS, Plugin, plugin, plugins
from evenhand.core.provider import Keyed, Provider
from evenhand.core.secrets import known, redacted
from evenhand.providers.missing_keys import only_judges_asked
from evenhand.providers.servers import KINDS, SERVERS
from evenhand.providers.wanted import Fill, Wanted, plainly_filled

_OWN: Mapping[str, str] = {
    "anthropic:<model>": "Anthropic; anthropic:messages:<model> is the same",
    "azure:<deployment>": "Azure OpenAI chat; azure:chat:<deployment> is the same",
    "azure:responses:<deployment>": "Azure OpenAI, the responses API",
    "azure:completion:<deployment>": "Azure OpenAI, plain completion",
    "azure:embedding:<deployment>": "Azure OpenAI embeddings",
    "google:<model>": "Google Gemini, with a key of Google AI Studio",
    "google:decisions:<model>": "Google's Decisions API: typed questions, answered with probabilities",
    "google:embedding:<model>": "Google embeddings",
    "huggingface:chat:<model>": "Hugging Face chat; huggingface:text-generation:<model> is the same",
    "huggingface:feature-extraction:<model>": "Hugging Face embeddings",
    "huggingface:text-classification:<model>": "Hugging Face classification",
    "litellm:<vendor>/<model>": "a hundred more vendors through LiteLLM: its proxy, or pip install 'evenhand[litellm]'",
    "llama": "the model of a llama.cpp server, plain completion; llama:<name> is the same",
    "ollama:<model>": "Ollama, plain completion; ollama:completion:<model> is the same",
    "ollama:chat:<model>": "Ollama chat",
    "ollama:embeddings:<model>": "Ollama embeddings",
    "replicate:moderation:<owner>/<model>": "Llama Guard on Replicate, moderation",
    "vertex:<model>": "Gemini or Claude on Google's Vertex AI",
    "vertex:embedding:<model>": "Vertex AI embeddings",
    "systemone:<model>@<address>": "a decision model behind /v1/systemone (llama.cpp, Ollama, SGLang, vLLM, TypeSafe); "
    "systemone:<address> too",
    "decisions:<address>": "a decision model behind SGLang's own /v1/decisions",
    "python:<file.py>:<function>": "a function of yours; call_api(prompt, options, context) by default",
    "file://<file.py>:<function>": "the same",
    "file://<file.js>": "a provider in JavaScript: a class or an object with callApi, or a function",
    "agent:<command>": "an agent that is a program, in a folder of its own: agent:claude, agent:codex, agent:./my.sh",
    "exec:<command>": "a program that is given the prompt and prints the answer",
    "http://…, https://…": "a web service: method, headers, body and what to make of the answer are in its config",
    "http, https": "the same, with the address in its config",
    "webhook:<address>": "a web service that is posted {prompt} and answers {output}",
    "echo": "answers with the prompt",
    "cascade:{<first, then>}": "a cheap judge, and a dearer one where that isn't sure; "
    "judge: {first: a, then: b} is the same",
    "fallback:[<id>, <id>]": "judges, each in place of the one before when that is over its quota or out of reach; "
    "judge: [a, b] is the same",
}


def _schemes() -> dict[str, str]:
    """How ids are written → what they mean."""
    schemes: dict[str, str] = {}
    for kind, server in SERVERS.items():
        first = next(iter(server.kinds))
        for task in server.kinds:
            form = f"{kind}:<model>" if task == first else f"{kind}:{task}:<model>"
            same = f"; {kind}:{task}:<model> is the same" if task == first else ""
            schemes[form] = f"{server.name}, {KINDS[task]}{same}"
        if kind == "openai":
            schemes["openai:<model>@<address>"] = (
                "a server that speaks OpenAI's API, e.g. openai:llama3@http://localhost:8000/v1"
            )
    return {**schemes, **_OWN}


SCHEMES: Mapping[str, str] = _schemes()
"""How ids are written → what they mean."""

KEYS: Mapping[str, str] = {
    **{kind: server.key for kind, server in SERVERS.items()},
    "anthropic": "ANTHROPIC_API_KEY",
    "azure": "AZURE_API_KEY",
    "google": "GOOGLE_API_KEY",
    "huggingface": "HF_TOKEN",
    "replicate": "REPLICATE_API_TOKEN",
    "vertex": "GOOGLE_ACCESS_TOKEN",
}
"""The first word of an id → the environment variable that holds its key; no word, or an empty one, for none."""

_MODULES: Mapping[str, str] = {
    **dict.fromkeys(SERVERS, "compatible"),
    "agent": "command_agents.agent",
    "anthropic": "anthropic",
    "azure": "azure",
    "azureopenai": "azure",
    "cascade": "cascade",
    "decisions": "system_one",
    "echo": "echo",
    "exec": "process",
    "fallback": "fallback",
    "file": "function",
    "google": "google",
    "hf": "huggingface",
    "http": "web",
    "https": "web",
    "huggingface": "huggingface",
    "litellm": "bridge",
    "llama": "llama",
    "ollama": "ollama",
    "palm": "google",
    "python": "function",
    "replicate": "replicate",
    "systemone": "system_one",
    "vertex": "vertex",
    "webhook": "webhook",
}
"""The first word of an id → the module that makes what it means."""

_BRIDGED: Mapping[str, str] = {
    "ai21": "ai21",
    "bedrock": "bedrock",
    "cloudflare-ai": "cloudflare",
    "databricks": "databricks",
    "meta": "meta_llama",
    "sagemaker": "sagemaker_chat",
    "snowflake": "snowflake",
    "watsonx": "watsonx",
}
"""What LiteLLM speaks to → its own word for it."""

_REFUSED: Mapping[str, str] = {
    "browser": "A browser is not driven here.",
    "evenhand": "evenhand:user belongs under `provider` of a test or of defaultTest.",
    "golang": "Write exec: and a program that prints the answer.",
    "mcp": "A server is no model. Give its tools to one: config: {mcp: {server: {command: …}}}. In Python: MCPWorld.",
    "package": "Packages of JavaScript are not loaded as providers.",
    "promptfoo": "promptfoo:simulated-user belongs under `provider` of a test or of defaultTest; manual input and red "
    "teaming are not part of an evaluation here.",
    "ruby": "Write exec: and a program that prints the answer.",
    "sequence": "Sequences of prompts are a red-team strategy, and not part of an evaluation here.",
    "websocket": "Put a Python function in its place: python:provider.py:call_api.",
    "ws": "Put a Python function in its place: python:provider.py:call_api.",
    "wss": "Put a Python function in its place: python:provider.py:call_api.",
}
"""Known to promptfoo, and not had here → what to do instead."""


def create(
    id: str,  # noqa: A002 (the word that users write)
    *,
    label: str = "",
    config: Mapping[str, Any] | None = None,
    env: Mapping[str, str],
    base: Path,
    fill: Fill = plainly_filled,
) -> Provider:
    """The provider with this id. Opens nothing and asks nobody.

    Args:
        label: Its name in reports; the id where empty.
        env: The environment: keys and addresses.
        base: The folder that relative paths start from.
        fill: Fills in the templates of its settings, where it has any.

    Raises:
        UsageError: Nobody knows this id, or its file does not exist.
    """
    settings = config or {}
    known.learn_environment(env)
    known.learn_settings([id, settings])
    known.learn([env.get(str(settings.get("apiKeyEnvar")), "")])
    kind, colon, rest = id.partition(":")
    module = "function" if _SCRIPT.search(id) else _MODULES.get(kind)
    if module == "google" and settings.get("vertexai"):
        module = "vertex"
    elif module == "google" and rest.startswith("decisions:"):
        module = "google_decisions"
    nothing = not rest.strip() if colon else kind not in _ALONE
    added = plugin(PROVIDERS, kind) if module is None else None
    if added is None and (module is None or (nothing and module != "function")):
        raise unknown(id)
    # An id is written to results and messages: a key in an address is left out of it, and stays in `rest`.
    description = Wanted(
        id=str(redacted(id)),
        kind=kind,
        rest=rest,
        label=label,
        config=settings,
        env=env,
        base=base,
        fill=fill,
    )
    if added is not None:
        return _made(added, description)
    return import_module(f"evenhand.providers.{module}").make(description)


def _made(added: Plugin, wanted: Wanted) -> Provider:
    """What a package's provider is for this id."""
    make = added.load()
    if not callable(make):
        raise added.broken(f"is {make!r}, not a function of what is wanted")
    try:
        provider: object = make(wanted)
    except (Exception, SystemExit) as error:
        raise added.broken("cannot be made", error) from error
    if not isinstance(provider, Provider):
        raise added.broken(f"is not a provider: it made {type(provider).__name__}")
    return provider


def is_ours(kind: str) -> bool:
    """Whether the first word of an id is ours, so that no package's is asked for."""
    return kind in _MODULES


_UNTIMED = ("echo", "python:", "file:")


def timed(id: str, seconds: float | None) -> dict[str, object]:  # noqa: A002 (the word that users write)
    """The setting that gives one attempt so many seconds; nothing for None, and for what knows no such limit."""
    if seconds is None or id.startswith(_UNTIMED):
        return {}
    return {"timeout" if id.startswith("exec:") else "timeoutMs": seconds * 1000}


_SCRIPT = re.compile(r"^[^:]*\.[cm]?[jt]s(?::[\w.$]+)?$")
"""A JavaScript file, also without `file://`."""

_ALONE = ("echo", "http", "https", "llama")
"""What is an id without anything after it."""


def key_missing(provider: Provider, *, judges: bool = False) -> str:
    """The environment variable that a provider lacks its key in; empty where it has one, or needs none.

    Args:
        judges: It judges, or is asked by a scorer.
    """
    from evenhand.providers.wrapped import Wrapped  # noqa: PLC0415 (imported on use)

    while isinstance(provider, Wrapped):
        provider = provider.provider
    if not isinstance(provider, Keyed):
        return ""
    if only_judges_asked.get():
        lent = getattr(provider, "has_lent_key", False)
        return provider.key_name if judges and (provider.needs_key or lent) else ""
    return provider.key_name if provider.needs_key else ""


def unknown(id: str) -> UsageError:  # noqa: A002 (the word that users write)
    """What to say of an id that nobody here knows."""
    kind, _, rest = id.partition(":")
    message = f"provider '{id}' is not known"
    if kind in _MODULES:
        form = next(form for form in SCHEMES if form.startswith((f"{kind}:", kind)))
        return UsageError(f"provider '{id}' is not complete", hint=f"Write {form}.")
    if kind in _BRIDGED:
        hint = (
            f"Write litellm:{_BRIDGED[kind]}/{rest or '<model>'} (pip install 'evenhand[litellm]')."
        )
        return UsageError(message, hint=hint)
    if kind in _REFUSED:
        return UsageError(f"provider '{id}' is not supported", hint=_REFUSED[kind])
    if kind == "file":
        return UsageError(message, hint="Write file://<file.py>:<function>.")
    meant = _with_colon(id)
    if meant:
        return UsageError(message, hint=f"Did you mean '{meant}'?")
    from evenhand.providers.prices import listed_models  # noqa: PLC0415 (for an error only)

    models = listed_models()
    model = nearest(id, models) if ":" not in id else ""
    if model:
        return UsageError(message, hint=f"Did you mean '{models[model]}:{model}'?")
    near = did_you_mean(kind, [*_MODULES, *_BRIDGED, *plugins(PROVIDERS)])
    return UsageError(message, hint=f"{near} `evenhand info providers` lists all of them.".lstrip())


_VENDORS = {
    "bedrock": "litellm:bedrock/",
    "gemini": "google:",
    "vertex_ai": "vertex:",
    "googleai": "google:",
    "google-gla": "google:",
    "google-vertex": "vertex:",
    "together": "togetherai:",
    "together_ai": "togetherai:",
    "fireworks_ai": "fireworks:",
    "hf": "huggingface:chat:",
    "huggingface": "huggingface:chat:",
    "ollama": "ollama:chat:",
    "ollama_chat": "ollama:chat:",
    "mistralai": "mistral:",
    "grok": "xai:",
    "x-ai": "xai:",
    "azure_ai": "azure:",
    "openai-api": "openai:",
    "openai-responses": "openai:responses:",
    "mockllm": "echo",
}
"""What LiteLLM, Inspect and pydantic-ai call vendors, and how an id of ours begins."""
_NO_VENDORS = ("agent", "echo", "exec", "file", "http", "https", "python", "webhook")


def _with_colon(id: str) -> str:  # noqa: A002 (the word that users write)
    """The id that was probably meant by one as LiteLLM and Inspect write it, `openai/gpt-5`; empty for none."""
    vendor, mark, model = id.partition("/")
    if not mark or ":" in vendor:
        vendor, mark, model = id.partition(":")
    if not mark or not model:
        return ""
    vendor = vendor.lower()
    begin = _VENDORS.get(vendor, "")
    if not begin and vendor in _BRIDGED:
        begin = f"litellm:{_BRIDGED[vendor]}/"
    elif not begin and vendor in (*_MODULES, *plugins(PROVIDERS)) and vendor not in _NO_VENDORS:
        begin = f"{vendor}:"
    return begin if begin in ("", "echo") else begin + model
