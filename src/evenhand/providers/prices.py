"""List prices, in US dollars per million tokens.

They change: each has the month in which it was right, and a provider's config can say otherwise (`cost`, per token, as
promptfoo has it). A model that no list has has no price, which is not 0.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path

from msgspec.json import decode

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_number
from evenhand.core.message import Usage
from evenhand.core.provider import Price

_STATED = frozenset({"config", "given"})
"""What stands for the day of a price that the user has stated: in a config, or to a recording client."""
_DEAREST = 1e9
"""Dollars beyond which a number is no price: so that sums of them stay numbers."""

_LISTED = Path(__file__).with_name("list_prices.json")
"""Month → vendor → the beginning of a model's name → dollars in, out and cached, and the same for long input.

`just prices` writes it, of genai-prices and of `packaging/kept_prices.yml`.
"""

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
    return {model: vendor for vendor, models in _lists().items() for model in models}


@cache
def _lists() -> Mapping[str, Mapping[str, Price]]:
    """By vendor, the prices by the beginnings of models' names."""
    months = decode(_LISTED.read_bytes(), type=dict[str, dict[str, dict[str, list[float]]]])
    lists: dict[str, dict[str, Price]] = {}
    for month, vendors in months.items():
        for vendor, rows in vendors.items():
            for name, (usd_in, usd_out, usd_cached, *long) in rows.items():
                beyond = Price(*long[1:], as_of=month) if long else None
                start = int(long[0]) if long else 0
                price = Price(usd_in, usd_out, usd_cached, month, beyond, start)
                lists.setdefault(vendor, {})[name] = price
    return lists


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
    vendors = dict.fromkeys((vendor, *_lists()))
    return next((price for other in vendors if (price := _listed(other, name))), None)


def price_by_id(model_id: str) -> Price | None:
    """The list price of a model by its id alone, such as `openai:chat:gpt-5-mini`; None at an address of its own."""
    vendor, _, name = model_id.partition(":")
    if "@" in name:
        return None
    return price_of(vendor, name, {}) or price_of(vendor, name.partition(":")[2], {})


@lru_cache(4_096)  # an application names its model in every call
def _listed(vendor: str, model: str) -> Price | None:
    """The price of a vendor's model: of all beginnings of its name that are listed, the longest one's."""
    known = _lists().get(vendor, {})
    names = [name for name in known if model == name or _snapshot(model, name)]
    return known[max(names, key=len)] if names else None


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
    price = price.at(usage.tokens_in)
    cached = min(usage.tokens_cached or 0, usage.tokens_in)  # a part of them, whatever is said
    usd_cached = price.usd_in if price.usd_cached is None else price.usd_cached
    fresh = usage.tokens_in - cached
    return (fresh * price.usd_in + cached * usd_cached + usage.tokens_out * price.usd_out) / 1e6


def bound(price: Price | None, tokens_in: int, max_tokens: int | None) -> float | None:
    """More than this a call cannot cost; None when the price or the longest answer is not known."""
    if price is None or max_tokens is None:
        return None
    price = price.at(tokens_in)
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
