"""Models on Google's Vertex AI: Gemini, Claude and embeddings, asked with an access token or an API key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from evenhand.core.message import Message
from evenhand.providers import anthropic, google
from evenhand.providers.chat import ChatProvider, Dialect, bearer, chat_provider, passed_on
from evenhand.providers.embeddings import EMBEDS, plain, reader
from evenhand.providers.wanted import Wanted

TOKEN = "GOOGLE_ACCESS_TOKEN"  # noqa: S105 (a variable's name)
HOST = "aiplatform.googleapis.com"
VERSION = "v1"
REGION = "us-central1"
_CLAUDE_VERSION = "vertex-2023-10-16"
_TOKENS = (TOKEN, "VERTEX_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN")
_PROJECTS = ("VERTEX_PROJECT_ID", "GOOGLE_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT")


def make(wanted: Wanted) -> ChatProvider:
    """A model on Vertex AI: `vertex:<model>`, or `vertex:embedding:<model>`.

    With an API key (`config.apiKey`, VERTEX_API_KEY) it is asked without a project, as in Vertex's express mode.
    Otherwise it is asked in a project and a region, with a token that Google's tools print.
    """
    kind, _, model = wanted.rest.partition(":")
    embeds = kind in ("embedding", "embeddings")
    model = model if embeds or kind == "chat" else wanted.rest
    if not model:
        raise wanted.refused("names no model", "Write vertex:gemini-2.5-flash, say.")
    claude = not embeds and "claude" in model
    if not (embeds or claude or "gemini" in model):
        raise wanted.refused(
            "is a model that is not spoken to on Vertex here", f"Write litellm:vertex_ai/{model}."
        )
    key = wanted.setting("apiKey", "VERTEX_API_KEY").strip()
    express = bool(key) and wanted.config.get("expressMode") is not False and not claude
    token = wanted.setting("accessToken", *_TOKENS).strip()
    action = "predict" if embeds else "rawPredict" if claude else "generateContent"
    publisher = wanted.setting("publisher", "VERTEX_PUBLISHER") or "google"
    place = "" if express else _place(wanted)
    at = f"publishers/{'anthropic' if claude else publisher}/models/{model}:{action}"
    base, home = _base(wanted, express=express)
    version = wanted.setting("apiVersion", "VERTEX_API_VERSION") or VERSION
    dialect = _EMBEDDING if embeds else _CLAUDE if claude else _GEMINI
    vendor = "" if claude else "google"  # a region has a price of its own for Claude
    return chat_provider(
        wanted,
        replace(dialect, headers=google.DIALECT.headers) if express else dialect,
        model=model,
        url=f"{base}/{version}/{place}{at}",
        key=key if express else token,
        key_variable=TOKEN,
        vendor=vendor,
        at_home=home,
    )


def _place(wanted: Wanted) -> str:
    """The part of the address that says whose project is asked, and where."""
    project = wanted.setting("projectId", *_PROJECTS)
    if not project:
        raise wanted.refused(
            "names no project",
            "Set VERTEX_PROJECT_ID in the environment, or projectId in its config.",
        )
    return f"projects/{quote(project, safe='')}/locations/{quote(_region(wanted), safe='')}/"


def _region(wanted: Wanted) -> str:
    return wanted.setting("region", "VERTEX_REGION", "GOOGLE_CLOUD_LOCATION") or REGION


def _base(wanted: Wanted, *, express: bool) -> tuple[str, bool]:
    """Where the API begins, and whether that is Google's own address."""
    base = wanted.setting("apiBaseUrl", "VERTEX_API_BASE_URL")
    host = wanted.setting("apiHost", "VERTEX_API_HOST")
    if base or host:
        return (base or f"https://{host}").rstrip("/"), False
    region = _region(wanted)
    return f"https://{HOST if express or region == 'global' else f'{region}-{HOST}'}", True


def _claude_settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """As for Anthropic's own API, except that the model is in the address and the version in the body."""
    settings = anthropic.DIALECT.settings(model, config)
    del settings["model"]
    version = config.get("anthropicVersion") or config.get("anthropic_version")
    return {"anthropic_version": str(version or _CLAUDE_VERSION), **settings}


def _embedded(messages: Sequence[Message]) -> dict[str, Any]:
    return {"instances": [{"content": plain(messages)}]}


def _embedding_settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model  # it is in the address
    names = ("autoTruncate", "outputDimensionality")
    parameters = passed_on(config, names)
    return {"parameters": parameters} if parameters else {}


_GEMINI = replace(google.DIALECT, headers=bearer)
_CLAUDE = replace(anthropic.DIALECT, version="", headers=bearer, settings=_claude_settings)
_EMBEDDING = Dialect(
    vendor="google",
    messages=_embedded,
    settings=_embedding_settings,
    read=reader(lambda answer: answer["predictions"][0]["embeddings"]["values"]),
    tasks=EMBEDS,
    chats=False,
)
