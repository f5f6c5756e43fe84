"""Which models are of one family: made by the same vendor, and trained alike, whoever serves them."""

from __future__ import annotations

import re
from collections.abc import Mapping

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "ai21": ("jamba",),
    "alibaba": ("qwen", "qwq", "qvq"),
    "amazon": ("nova-", "titan-"),
    "anthropic": ("claude",),
    "cohere": ("command-", "c4ai-", "aya-"),
    "deepseek": ("deepseek",),
    "google": ("gemini", "gemma", "palm-"),
    "ibm": ("granite",),
    "meta": ("llama", "meta-llama", "muse-"),
    "microsoft": ("phi-",),
    "minimax": ("minimax", "abab"),
    "mistral": (
        "mistral",
        "mixtral",
        "ministral",
        "magistral",
        "codestral",
        "devstral",
        "pixtral",
        "open-mistral",
        "open-mixtral",
    ),
    "moonshot": ("kimi", "moonshot"),
    "nvidia": ("nemotron", "nvidia"),
    "openai": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci", "text-davinci"),
    "xai": ("grok",),
    "zhipu": ("glm",),
}
"""Family → how its models' names begin."""

_OF = {start: family for family, starts in FAMILIES.items() for start in starts}
_STARTS = re.compile(
    # `o1` is no `o10`; `llama:…` is whatever a llama.cpp server serves.
    r"(?:^|[/:._@ -])(?!llama(?::|$))("
    + "|".join(
        re.escape(start) + ("(?![a-z0-9])" if start[-1].isdigit() else "")
        for start in sorted(_OF, key=len, reverse=True)
    )
    + ")"
)


def family_of(*names: str) -> str:
    """The family of a model, by the first of its names that tells; empty where none does.

    Args:
        names: The model as it answered, as it was asked for, the provider's id: whatever is known, the surest first.

    >>> family_of("gpt-5-mini-2025-08-07"), family_of("openrouter:meta-llama/llama-3.3-70b"), family_of("my-app")
    ('openai', 'meta', '')
    """
    for name in names:
        start = _STARTS.search(name.lower())
        if start is not None:
            return _OF[start[1]]
    return ""
