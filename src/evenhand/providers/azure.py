"""Azure OpenAI: OpenAI's API under an address, a deployment and an API version of your own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.providers.chat import ChatProvider, chat_provider
from evenhand.providers.compatible import dialect_of, split_kind
from evenhand.providers.wanted import Wanted

VERSION = "2024-12-01-preview"
_KEY = "AZURE_API_KEY"
_PATHS = {"chat": "/chat/completions", "completion": "/completions", "embedding": "/embeddings"}


def make(wanted: Wanted) -> ChatProvider:
    """A deployment. Its address is `config.apiHost`, `config.apiBaseUrl` or AZURE_API_HOST."""
    kind, deployment = split_kind(wanted.rest)
    kind = kind or "chat"
    deployment = deployment or wanted.setting("deployment", "AZURE_DEPLOYMENT_NAME")
    if kind not in (*_PATHS, "responses"):
        raise wanted.refused(
            f"asks Azure for {kind}, which is not known here", "Write azure:chat:<deployment>."
        )
    if not deployment:
        raise wanted.refused("names no deployment", f"Write azure:{kind}:<deployment>.")
    host = wanted.setting("apiHost", "AZURE_API_HOST", "AZURE_OPENAI_API_HOST")
    base = f"https://{host}" if host else ""
    base = (
        wanted.setting(
            "apiBaseUrl",
            *(
                []
                if base
                else ["AZURE_API_BASE_URL", "AZURE_OPENAI_API_BASE_URL", "AZURE_OPENAI_BASE_URL"]
            ),
        )
        or base
    )
    if not base:
        raise wanted.refused(
            "has no address", "Set AZURE_API_HOST, e.g. my-resource.openai.azure.com."
        )
    version = wanted.setting("apiVersion", "AZURE_API_VERSION", "OPENAI_API_VERSION") or VERSION
    variable = str(wanted.config.get("apiKeyEnvar") or _KEY)
    token = wanted.setting("azureADToken", "AZURE_OPENAI_AD_TOKEN", "AZURE_TOKEN")
    key = wanted.setting("apiKey", variable, "AZURE_OPENAI_API_KEY")
    # A deployment has no list price: what it runs, its name need not say.
    return chat_provider(
        wanted,
        replace(dialect_of(kind), vendor="azure", headers=_by_key if key else _by_token),
        model=deployment,
        url=_url(base.rstrip("/"), kind, deployment, version),
        key=(key or token).strip(),
        key_variable=variable,
    )


def _url(base: str, kind: str, deployment: str, version: str) -> str:
    if kind == "responses":
        return f"{base}/openai/v1/responses"
    return f"{base}/openai/deployments/{deployment}{_PATHS[kind]}?api-version={version}"


def _by_key(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    del config
    return {"api-key": key} if key else {}


def _by_token(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    del config
    return {"authorization": f"Bearer {key}"} if key else {}
