"""The environment that leads vendors' SDKs, and ours, somewhere else; and keys for models that are not asked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from evenhand.providers.catalog import KEYS
from evenhand.providers.missing_keys import PLACEHOLDER, only_judges_asked
from evenhand.providers.servers import SERVERS

NOWHERE = "http://127.0.0.1:9"
"""An address at which nobody answers, for requests that are never sent."""


def leading_to(url: str, key: str) -> dict[str, str]:
    """The environment that leads the vendors' SDKs, and ours, to this address.

    Args:
        url: Without a path.
        key: The key that all of them send.
    """
    return {
        **{f"{kind.upper()}_API_BASE_URL": f"{url}/v1" for kind in SERVERS},
        **{server.key: key for server in SERVERS.values() if server.key},
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",  # LlamaIndex reads no other
        **{f"{vendor}_BASE_URL": url for vendor in ("ANTHROPIC", "LLAMA", "OLLAMA")},
        **{f"{vendor}_API_BASE_URL": url for vendor in ("AZURE", "GOOGLE", "REPLICATE", "VERTEX")},
        **{f"{vendor}_API_KEY": key for vendor in ("ANTHROPIC", "AZURE", "GOOGLE")},
        **dict.fromkeys(("GOOGLE_ACCESS_TOKEN", "REPLICATE_API_TOKEN"), key),
        "VERTEX_PROJECT_ID": "scripted",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def keys_not_needed(env: Mapping[str, str]) -> dict[str, str]:
    """A key for each vendor that the environment has none for: models and SDKs insist on one that nobody will see."""
    return {name: PLACEHOLDER for name in KEYS.values() if name and not env.get(name)}


@contextmanager
def lent_keys(ids: Iterable[str]) -> Iterator[None]:
    """Inside, the environment has a key for the vendors of these models, where it has none: they are not asked."""
    names = {KEYS.get(one.partition(":")[0], "") for one in ids} - {""}
    lent = {name for name in names if not os.environ.get(name)}
    os.environ.update(dict.fromkeys(lent, PLACEHOLDER))
    try:
        yield
    finally:
        for name in lent:
            os.environ.pop(name, None)


@contextmanager
def judges_alone() -> Iterator[None]:
    """Inside, only judges need keys: every vendor without a key has one that nobody will see, for all other models."""
    lent = keys_not_needed(os.environ)
    os.environ.update(lent)
    token = only_judges_asked.set(True)
    try:
        yield
    finally:
        only_judges_asked.reset(token)
        for name in lent:
            os.environ.pop(name, None)
