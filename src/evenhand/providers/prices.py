"""List prices, in US dollars per million tokens.

They change: each has the day on which it was right, and a provider's config can say otherwise (`cost`, per token, as
promptfoo has it). What is not in the table has no price, which is not 0.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_number
from evenhand.core.message import Usage
from evenhand.core.provider import Price

_STATED = frozenset({"config", "given"})
"""What stands for the day of a price that the user has stated: in a config, or to a recording client."""
_DEAREST = 1e9
"""Dollars beyond which a number is no price: so that sums of them stay numbers."""

_Prices = Mapping[str, Mapping[str, tuple[float, float, float]]]
"""Vendor → the beginning of a model's name → (in, out, cached in). The longest beginning wins."""

_OF_2026_11: _Prices = {
    "cerebras": {
        "gemma-4-31b": (0.99, 1.49, 0.99),
        "gpt-oss-120b": (0.35, 0.75, 0.35),
        "llama-3.1-70b": (0.6, 0.6, 0.6),
        "llama-3.1-8b": (0.1, 0.1, 0.1),
        "llama-3.3-70b": (0.85, 1.2, 0.85),
        "llama3.1-70b": (0.6, 0.6, 0.6),
        "llama3.1-8b": (0.1, 0.1, 0.1),
        "qwen-3-32b": (0.4, 0.8, 0.4),
        "qwen-3.8-27b": (0.99, 1.49, 0.99),
    },
    "cohere": {
        "c4ai-aya-expanse-32b": (0.5, 1.5, 0.5),
        "command-a-03-2025": (2.5, 10.0, 2.5),
        "command-r-08-2024": (0.15, 0.6, 0.15),
        "command-r-plus-08-2024": (2.5, 10.0, 2.5),
        "command-r7b-12-2024": (0.0375, 0.15, 0.0375),
        "embed-english-light-v3.0": (0.1, 0.0, 0.1),
        "embed-english-v3.0": (0.1, 0.0, 0.1),
        "embed-multilingual-v3.0": (0.1, 0.0, 0.1),
        "embed-v4.0": (0.12, 0.0, 0.12),
        "embed-v5.0-fast": (0.08, 0.0, 0.08),
        "embed-v5.0-pro": (0.12, 0.0, 0.12),
    },
    "groq": {
        "llama-guard-3-8b": (0.2, 0.2, 0.2),
        "meta-llama/llama-prompt-guard-2-22m": (0.03, 0.03, 0.03),
        "meta-llama/llama-prompt-guard-2-86m": (0.04, 0.04, 0.04),
        "openai/gpt-oss-120b": (0.15, 0.6, 0.075),
        "openai/gpt-oss-20b": (0.075, 0.3, 0.0375),
        "openai/gpt-oss-safeguard-20b": (0.075, 0.3, 0.037),
        "qwen/qwen3.8-27b": (0.8, 4.0, 0.8),
    },
    "togetherai": {
        "arcee-ai/trinity-mini": (0.045, 0.15, 0.045),
        "arize-ai/qwen-2-1.5b-instruct": (0.1, 0.1, 0.1),
        "BAAI/bge-base-en-v1.5": (0.008, 0.0, 0.008),
        "deepseek-ai/deepseek-coder-33b-instruct": (0.8, 0.8, 0.8),
        "deepseek-ai/DeepSeek-R1-0528": (3.0, 7.0, 3.0),
        "deepseek-ai/DeepSeek-R1-Distill-Llama-70B": (2.0, 2.0, 2.0),
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": (0.18, 0.18, 0.18),
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B": (1.6, 1.6, 1.6),
        "deepseek-ai/DeepSeek-V3": (1.25, 1.25, 1.25),
        "deepseek-ai/DeepSeek-V3.1": (0.6, 1.7, 0.6),
        "deepseek-ai/DeepSeek-V4-Flash-0731": (0.14, 0.28, 0.03),
        "deepseek-ai/DeepSeek-V4-Pro-0813": (1.32, 3.96, 0.13),
        "deepseek-ai/DeepSeek-V4.1-Flash": (0.3, 1.2, 0.006),
        "deepseek-ai/DeepSeek-V4.1-Flash-1017": (0.3, 1.2, 0.006),
        "google/gemma-2-27b-it": (0.8, 0.8, 0.8),
        "google/gemma-4-31B-it": (0.39, 0.97, 0.39),
        "meta-llama/Llama-3-8b-chat-hf": (0.2, 0.2, 0.2),
        "meta-llama/Llama-3.1-405B-Instruct": (3.5, 3.5, 3.5),
        "meta-llama/Llama-3.2-1B-Instruct": (0.06, 0.06, 0.06),
        "meta-llama/Llama-3.2-3B-Instruct": (0.06, 0.06, 0.06),
        "meta-llama/Llama-3.3-70B-Instruct-Turbo": (1.04, 1.04, 1.04),
        "meta-llama/Llama-4-Scout-17B-16E-Instruct": (0.18, 0.59, 0.18),
        "meta-llama/Meta-Llama-3-70B-Instruct-Turbo": (0.88, 0.88, 0.88),
        "meta-llama/Meta-Llama-3-8B-Instruct": (0.2, 0.2, 0.2),
        "meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo": (0.88, 0.88, 0.88),
        "meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo": (0.18, 0.18, 0.18),
        "meta-models/Muse-Glimmer-30B": (0.35, 1.5, 0.04),
        "meta-models/Muse-Spark-Open-816B-A42B": (1.25, 4.25, 0.15),
        "MiniMaxAI/MiniMax-M2.7": (0.3, 1.2, 0.06),
        "MiniMaxAI/MiniMax-M3": (0.3, 1.2, 0.06),
        "MiniMaxAI/MiniMax-M3.1-Flash": (0.15, 0.6, 0.015),
        "mistralai/Ministral-3-14B-Instruct-2512": (0.2, 0.2, 0.2),
        "mistralai/Mistral-7B-Instruct-v0.1": (0.2, 0.2, 0.2),
        "mistralai/Mistral-7B-Instruct-v0.3": (0.2, 0.2, 0.2),
        "mistralai/Mistral-Small-24B-Instruct-2501": (0.1, 0.3, 0.1),
        "mistralai/Mixtral-8x7B-Instruct-v0.1": (0.6, 0.6, 0.6),
        "moonshotai/Kimi-K2-Instruct": (1.0, 3.0, 1.0),
        "moonshotai/Kimi-K2.5-fp4": (0.5, 2.8, 0.5),
        "moonshotai/Kimi-K2.6": (1.2, 4.5, 0.2),
        "moonshotai/Kimi-K2.7-Code": (0.95, 4.0, 0.19),
        "moonshotai/Kimi-K3": (3.0, 15.0, 0.3),
        "NousResearch/Nous-Hermes-2-Mixtral-8x7B-DPO": (0.6, 0.6, 0.6),
        "nvidia/Llama-3.1-Nemotron-70B-Instruct-HF": (0.88, 0.88, 0.88),
        "nvidia/nemotron-3-ultra-550b-a55b": (0.6, 3.6, 0.2),
        "nvidia/NVIDIA-Nemotron-3.5-Super-VL": (0.15, 0.5, 0.02),
        "nvidia/NVIDIA-Nemotron-Nano-9B-v2": (0.06, 0.25, 0.06),
        "openai/gpt-oss-120b": (0.15, 0.6, 0.15),
        "openai/gpt-oss-20b": (0.05, 0.2, 0.05),
        "Qwen/Qwen2-1.5B-Instruct": (0.02, 0.02, 0.02),
        "Qwen/Qwen2-72B-Instruct": (0.9, 0.9, 0.9),
        "Qwen/Qwen2-VL-72B-Instruct": (1.2, 1.2, 1.2),
        "Qwen/Qwen2.5-14B-Instruct": (0.8, 0.8, 0.8),
        "Qwen/Qwen2.5-72B-Instruct": (1.2, 1.2, 1.2),
        "Qwen/Qwen2.5-72B-Instruct-Turbo": (1.2, 1.2, 1.2),
        "Qwen/Qwen2.5-7B-Instruct-Turbo": (0.3, 0.3, 0.3),
        "Qwen/Qwen2.5-Coder-32B-Instruct": (0.8, 0.8, 0.8),
        "Qwen/Qwen2.5-VL-72B-Instruct": (1.95, 8.0, 1.95),
        "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8": (2.0, 2.0, 2.0),
        "Qwen/Qwen3-Coder-Next-FP8": (0.5, 1.2, 0.5),
        "Qwen/Qwen3-Next-80B-A3B-Instruct": (0.15, 1.5, 0.15),
        "Qwen/Qwen3-Next-80B-A3B-Thinking": (0.15, 1.5, 0.15),
        "Qwen/Qwen3-VL-32B-Instruct": (0.5, 1.5, 0.5),
        "Qwen/Qwen3-VL-8B-Instruct": (0.18, 0.68, 0.18),
        "Qwen/Qwen3.5-397B-A17B": (0.6, 3.6, 0.35),
        "Qwen/Qwen3.5-9B": (0.17, 0.25, 0.17),
        "Qwen/Qwen3.6-Plus": (0.5, 3.0, 0.5),
        "Qwen/Qwen3.7-Max": (1.5, 4.5, 0.3),
        "Qwen/Qwen3.7-Plus": (0.32, 1.28, 0.32),
        "Qwen/Qwen3.8-2.4T-A95B": (2.0, 6.0, 0.25),
        "Qwen/Qwen3.8-Flash": (0.15, 0.47, 0.15),
        "Qwen/QwQ-32B": (1.2, 1.2, 1.2),
        "reflection/Beam-1.0-501B-A23B": (0.4, 1.2, 0.04),
        "thinkingmachines/Inkling": (1.0, 4.05, 0.17),
        "together/Tev1-4B-experimental": (0.042, 0.0, 0.042),
        "zai-org/GLM-4.5-Air-FP8": (0.2, 1.1, 0.2),
        "zai-org/GLM-4.6": (0.6, 2.2, 0.6),
        "zai-org/GLM-4.7": (0.45, 2.0, 0.45),
        "zai-org/GLM-5": (1.0, 3.2, 1.0),
        "zai-org/GLM-5.1": (1.4, 4.4, 0.26),
        "zai-org/GLM-5.2": (1.4, 4.4, 0.26),
        "zai-org/GLM-5.3": (1.4, 4.4, 0.26),
        "zai-org/GLM-5.3-Flash": (0.15, 0.5, 0.03),
    },
    "openai": {"gpt-6-luna": (0.1, 0.5, 0.01)},
    "google": {"gemini-decision-1": (0.1, 0.0, 0.1)},
}
_OF_2026_09: _Prices = {
    "openai": {
        "gpt-5.1": (1.25, 10.0, 0.125),
        "gpt-5.1-codex-mini": (0.25, 2.0, 0.025),
        "gpt-5.2": (1.75, 14.0, 0.175),
        "gpt-5.4-mini": (0.75, 4.5, 0.075),
        "gpt-5.4-nano": (0.2, 1.25, 0.02),
        "gpt-4": (30.0, 60.0, 30.0),
    },
    "anthropic": {
        "claude-opus-4-6": (5.0, 25.0, 0.5),
        "claude-opus-4-7": (5.0, 25.0, 0.5),
        "claude-opus-4-8": (5.0, 25.0, 0.5),
        "claude-opus-5": (5.0, 25.0, 0.5),
        "claude-sonnet-4-6": (3.0, 15.0, 0.3),
        "claude-sonnet-5": (2.0, 10.0, 0.2),
    },
    "deepseek": {
        "deepseek-chat": (0.14, 0.28, 0.0028),
        "deepseek-reasoner": (0.14, 0.28, 0.0028),
        "deepseek-v4-flash": (0.14, 0.28, 0.0028),
        "deepseek-v4-pro": (0.435, 0.87, 0.003625),
    },
    "mistral": {
        "codestral-2405": (1.0, 3.0, 1.0),
        "codestral-2508": (0.3, 0.9, 0.3),
        "codestral-latest": (0.3, 0.9, 0.3),
        "magistral-medium": (2.0, 5.0, 2.0),
        "magistral-small-2506": (0.5, 1.5, 0.5),
        "magistral-small-2507": (0.5, 1.5, 0.5),
        "magistral-small-2509": (0.5, 1.5, 0.5),
        "magistral-small-latest": (0.15, 0.6, 0.15),
        "ministral-14b": (0.2, 0.2, 0.2),
        "ministral-3b": (0.1, 0.1, 0.1),
        "ministral-8b": (0.15, 0.15, 0.15),
        "mistral-large-2402": (4.0, 12.0, 4.0),
        "mistral-large-2407": (3.0, 9.0, 3.0),
        "mistral-large-2512": (0.5, 1.5, 0.5),
        "mistral-large-latest": (0.5, 1.5, 0.5),
        "mistral-medium": (1.5, 7.5, 1.5),
        "mistral-medium-2312": (2.7, 8.1, 2.7),
        "mistral-medium-2505": (0.4, 2.0, 0.4),
        "mistral-medium-2508": (0.4, 2.0, 0.4),
        "mistral-small-2402": (1.0, 3.0, 1.0),
        "mistral-small-2506": (0.1, 0.3, 0.1),
        "mistral-small-2603": (0.15, 0.6, 0.15),
        "mistral-small-latest": (0.15, 0.6, 0.15),
        "open-mistral-nemo": (0.15, 0.15, 0.15),
        "open-mixtral-8x22b": (2.0, 6.0, 2.0),
        "open-mixtral-8x7b": (0.7, 0.7, 0.7),
        "pixtral-12b": (0.15, 0.15, 0.15),
    },
    "xai": {
        "grok-3-mini-beta": (0.3, 0.5, 0.075),
        "grok-3-beta": (3.0, 15.0, 0.75),
        "grok-4-1-fast-non-reasoning": (0.2, 0.5, 0.05),
        "grok-4-1-fast-reasoning": (0.2, 0.5, 0.05),
        "grok-4-fast-non-reasoning": (0.2, 0.5, 0.05),
        "grok-4-fast-reasoning": (0.2, 0.5, 0.05),
    },
}
_OF_2025_11: _Prices = {
    "openai": {
        "gpt-5": (1.25, 10.0, 0.125),
        "gpt-5-mini": (0.25, 2.0, 0.025),
        "gpt-5-nano": (0.05, 0.4, 0.005),
        "gpt-4.1": (2.0, 8.0, 0.5),
        "gpt-4.1-mini": (0.4, 1.6, 0.1),
        "gpt-4.1-nano": (0.1, 0.4, 0.025),
        "gpt-4o": (2.5, 10.0, 1.25),
        "gpt-4o-mini": (0.15, 0.6, 0.075),
        "gpt-4-turbo": (10.0, 30.0, 10.0),
        "gpt-3.5-turbo": (0.5, 1.5, 0.5),
        "o1": (15.0, 60.0, 7.5),
        "o3": (2.0, 8.0, 0.5),
        "o3-mini": (1.1, 4.4, 0.55),
        "o4-mini": (1.1, 4.4, 0.275),
        "text-embedding-3-large": (0.13, 0.0, 0.13),
        "text-embedding-3-small": (0.02, 0.0, 0.02),
        "text-embedding-ada-002": (0.1, 0.0, 0.1),
        "omni-moderation": (0.0, 0.0, 0.0),
    },
    "anthropic": {
        "claude-3-haiku": (0.25, 1.25, 0.03),
        "claude-3-opus": (15.0, 75.0, 1.5),
        "claude-3-5-haiku": (0.8, 4.0, 0.08),
        "claude-3-5-sonnet": (3.0, 15.0, 0.3),
        "claude-3-7-sonnet": (3.0, 15.0, 0.3),
        "claude-sonnet-4": (3.0, 15.0, 0.3),
        "claude-sonnet-4-0": (3.0, 15.0, 0.3),
        "claude-sonnet-4-5": (3.0, 15.0, 0.3),
        "claude-opus-4": (15.0, 75.0, 1.5),
        "claude-opus-4-0": (15.0, 75.0, 1.5),
        "claude-opus-4-1": (15.0, 75.0, 1.5),
        "claude-opus-4-5": (5.0, 25.0, 0.5),
        "claude-haiku-4-5": (1.0, 5.0, 0.1),
    },
    "google": {
        "gemini-2.0-flash": (0.1, 0.4, 0.025),
        "gemini-2.5-flash": (0.3, 2.5, 0.075),
        "gemini-2.5-flash-lite": (0.1, 0.4, 0.025),
    },
    "groq": {
        "llama-3.1-8b-instant": (0.05, 0.08, 0.05),
        "llama-3.3-70b-versatile": (0.59, 0.79, 0.59),
    },
    "mistral": {"mistral-embed": (0.1, 0.0, 0.1)},
    "xai": {
        "grok-3": (3.0, 15.0, 0.75),
        "grok-3-mini": (0.3, 0.5, 0.075),
        "grok-4": (3.0, 15.0, 0.75),
    },
}


_LISTS: Mapping[str, _Prices] = {
    "2026-11": _OF_2026_11,
    "2026-09": _OF_2026_09,
    "2025-11": _OF_2025_11,
}
"""Lists by the month in which they were right, the newest first: 2026-11 as litellm 1.109.1 has them, 2026-09 as
promptfoo 0.123.1 does; of decision models, as the vendors' pages have them. Perplexity's models have none: it charges
for each request, too."""

_PASSES_ON = frozenset({"openrouter"})
"""Sells others' models at their list prices, under names like `openai/gpt-5-mini`."""


_unpaid: ContextVar[bool] = ContextVar("unpaid", default=False)


@contextlib.contextmanager
def away_from_home_unpaid() -> Iterator[None]:
    """Inside, no list price holds away from a vendor's own address: answers there are made up, and cost nothing."""
    token = _unpaid.set(True)
    try:
        yield
    finally:
        _unpaid.reset(token)


def listed_models() -> Mapping[str, str]:
    """The models whose prices are known, each with its vendor as ids have it."""
    lists = [*_LISTS.values()][::-1]  # the newest list has the last word
    return {model: vendor for one in lists for vendor, models in one.items() for model in models}


def price_of(
    vendor: str, model: str, config: Mapping[str, object], *, at_home: bool = True
) -> Price | None:
    """What a model costs: what the config says, else the lists; None when neither knows.

    Args:
        vendor: As ids begin; empty where the name says nothing of what is asked, as of a deployment.
        model: As asked for.
        config: `cost`, or `inputCost` and `outputCost`, in dollars per token.
        at_home: It is asked at the vendor's own address. A gateway may have models of others, too: the list price of
            the name is taken for what it charges, as promptfoo does.

    Raises:
        UsageError: One of these is not a price: a number from 0 on, and not infinite.
    """
    both, usd_in, usd_out = (_dollars(config, key) for key in ("cost", "inputCost", "outputCost"))
    usd_in, usd_out = (both if one is None else one for one in (usd_in, usd_out))
    if usd_in is not None and usd_out is not None:
        return Price(usd_in * 1e6, usd_out * 1e6, as_of="config")
    if not at_home and _unpaid.get():
        return None
    listed = _listed(vendor, model)
    if listed is not None or not vendor or (at_home and vendor not in _PASSES_ON):
        return listed
    name = model.rpartition("/")[2]
    vendors = dict.fromkeys((vendor, *(name for known in _LISTS.values() for name in known)))
    return next((price for other in vendors if (price := _listed(other, name))), None)


@lru_cache(4_096)  # an application names its model in every call
def _listed(vendor: str, model: str) -> Price | None:
    """The price of a vendor's model on the newest list that has it."""
    for as_of, prices in _LISTS.items():
        known = prices.get(vendor, {})
        names = [name for name in known if model == name or _snapshot(model, name)]
        if names:
            return Price(*known[max(names, key=len)], as_of=as_of)
    return None


def call_bound(config: Mapping[str, object]) -> float | None:
    """What one call of code, a program or a server of the user's own can cost at most: `maxCost`, in dollars.

    None where the config doesn't say: nobody else knows.

    Raises:
        UsageError: It is not a number from 0 on.
    """
    return _dollars(config, "maxCost")


def cost(price: Price | None, usage: Usage) -> float | None:
    """Dollars for this usage; None when the price or the usage is not known."""
    if price is None or usage.tokens_in is None or usage.tokens_out is None:
        return None
    cached = min(usage.tokens_cached or 0, usage.tokens_in)  # a part of them, whatever is said
    usd_cached = price.usd_in if price.usd_cached is None else price.usd_cached
    fresh = usage.tokens_in - cached
    return (fresh * price.usd_in + cached * usd_cached + usage.tokens_out * price.usd_out) / 1e6


def bound(price: Price | None, tokens_in: int, max_tokens: int | None) -> float | None:
    """More than this a call cannot cost; None when the price or the longest answer is not known."""
    if price is None or max_tokens is None:
        return None
    return (tokens_in * price.usd_in + max_tokens * price.usd_out) / 1e6


def _snapshot(model: str, name: str) -> bool:
    """Whether this is a dated or `-latest` form of the name: the same model, and not its bigger sister."""
    rest = model[len(name) :] if model.startswith(f"{name}-") else ""
    return (len(rest) > 4 and rest[1:5].isdecimal()) or rest == "-latest"


def is_stated(price: Price | None) -> bool:
    """Whether the user has said what a token costs."""
    return price is not None and price.as_of in _STATED


def is_price(value: object) -> bool:
    """Whether this can be a price: a number from 0 on. A negative one would make a budget grow with each call."""
    if not is_number(value):
        return False
    return 0 <= value <= _DEAREST


def _dollars(config: Mapping[str, object], key: str) -> float | None:
    """A price in a config, where it has one; a text stands for a number, as a variable's value does."""
    setting = value = config.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if not is_price(value):
        raise UsageError(
            f"{key} is {setting!r}, which is not a price",
            hint="It is a number of US dollars per call, from 0 on."
            if key == "maxCost"
            else "It is a number of US dollars per token, from 0 on: 0.000002 is $2 per million.",
        )
    return float(value)  # pyright: ignore[reportArgumentType] (a number, as has just been seen)
