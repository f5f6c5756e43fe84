"""List prices, in US dollars per million tokens.

They change: each has the day on which it was right, and a provider's config can say otherwise (`cost`, per token, as
promptfoo has it). What is not in the table has no price, which is not 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.errors import UsageError
from evenhand.core.message import Usage
from evenhand.core.provider import Price

_AS_OF = "2025-11"
_DEAREST = 1e9
"""Dollars beyond which a number is no price: so that sums of them stay numbers."""

# vendor → the beginning of a model's name → (in, out, cached in). The longest beginning wins.
_TABLE: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
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
    "deepseek": {
        "deepseek-chat": (0.28, 0.42, 0.028),
        "deepseek-reasoner": (0.28, 0.42, 0.028),
    },
    "groq": {
        "llama-3.1-8b-instant": (0.05, 0.08, 0.05),
        "llama-3.3-70b-versatile": (0.59, 0.79, 0.59),
    },
    "mistral": {
        "mistral-embed": (0.1, 0.0, 0.1),
    },
    "xai": {
        "grok-3": (3.0, 15.0, 0.75),
        "grok-3-mini": (0.3, 0.5, 0.075),
        "grok-4": (3.0, 15.0, 0.75),
    },
}


def price_of(vendor: str, model: str, config: Mapping[str, object]) -> Price | None:
    """What a model costs: what the config says, else the table; None when neither knows.

    Args:
        vendor: As ids begin; empty for another address than the vendor's own, whose prices nobody knows.
        model: As asked for.
        config: `cost`, or `inputCost` and `outputCost`, in dollars per token.

    Raises:
        UsageError: One of these is not a price: a number from 0 on, and not infinite.
    """
    both, usd_in, usd_out = (_dollars(config, key) for key in ("cost", "inputCost", "outputCost"))
    usd_in, usd_out = (both if one is None else one for one in (usd_in, usd_out))
    if usd_in is not None and usd_out is not None:
        return Price(usd_in * 1e6, usd_out * 1e6, as_of="config")
    names = [name for name in _TABLE.get(vendor, {}) if model == name or _snapshot(model, name)]
    if not names:
        return None
    usd_in, usd_out, usd_cached = _TABLE[vendor][max(names, key=len)]
    return Price(usd_in, usd_out, usd_cached, _AS_OF)


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


def is_price(value: object) -> bool:
    """Whether this can be a price: a number from 0 on. A negative one would make a budget grow with each call."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= _DEAREST


def _dollars(config: Mapping[str, object], key: str) -> float | None:
    """A price in a config, where it has one; a text stands for a number, as a variable's value does."""
    given = value = config.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if not is_price(value):
        raise UsageError(
            f"{key} is {given!r}, which is no price",
            hint="It is a number of US dollars per token, from 0 on: 0.000002 is $2 per million.",
        )
    return float(value)  # pyright: ignore[reportArgumentType] (a number, as has just been seen)
