"""What a traced call of a model cost by the price list, where its span doesn't say.

Tokens that were read from a vendor's cache cost less, and those that were written to Anthropic's more, as in a run. A
span that names another tier, or a tool that the vendor ran, has no price: see `evenhand.providers.surcharges`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.message import Usage
from evenhand.core.provider import Price
from evenhand.doors.spans.dialects.dialect import count_of
from evenhand.doors.spans.messages import value_of
from evenhand.doors.spans.span import RawSpan
from evenhand.doors.spans.span_step import SpanStep
from evenhand.providers.prices import cost, price_of
from evenhand.providers.surcharges import surcharges

_PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
_VENDORS: Mapping[str, str] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "gemini": "google",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "google_genai": "google",
    "mistral": "mistral",
    "mistralai": "mistral",
    "mistral_ai": "mistral",
    "xai": "xai",
    "x_ai": "xai",
    "deepseek": "deepseek",
    "groq": "groq",
    "cohere": "cohere",
    "cerebras": "cerebras",
    "together": "togetherai",
    "together_ai": "togetherai",
}
"""What instrumentations call the vendors of the price list. Whoever else is named may have prices of their own."""
_CACHED = (
    "llm.token_count.prompt_details.cache_read",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.cached_tokens",
    "gen_ai.usage.input_token_details.cached",
)
_WRITTEN = (
    "llm.token_count.prompt_details.cache_write",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
)
_SETTINGS = ("llm.invocation_parameters", "langfuse.observation.model.parameters")
_TIER = re.compile(r"(?:request|response)\.service_tier$")
_BEFORE_NAME = re.compile(
    r"^(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|mistral|cohere|deepseek)\."
)


def priced(step: SpanStep, span: RawSpan) -> None:
    """Gives a model's step the cost that the price list has for it, and says so; nothing where that isn't known."""
    if step.cost_usd is not None or step.tokens_in is None:
        return
    price = _price(step.name, span.attributes)
    if price is None or _is_dearer(span.attributes):
        return
    # Embedding models write no tokens, and have no price for them.
    written_out = step.tokens_out if step.tokens_out is not None or price.usd_out else 0
    usage = Usage(step.tokens_in, written_out, _first(span.attributes, _CACHED))
    usd = cost(price, usage)
    written = _first(span.attributes, _WRITTEN)
    if usd is not None and written:
        # Writing to the cache costs 1.25 times the price of input; the price itself is part of the cost above.
        usd += 0.25 * written * price.usd_in / 1e6
    step.cost_usd = usd
    if usd is not None:
        step.about["priced"] = f"price list of {price.as_of}"


def _price(model: str, attributes: Mapping[str, Any]) -> Price | None:
    provider = next((str(attributes[key]) for key in _PROVIDERS if attributes.get(key)), "")
    if provider:
        vendor = _VENDORS.get(provider.lower().replace(" ", "_"))
        if vendor is None:
            return None
        prices = (price_of(vendor, name, {}) for name in _names(model))
    else:
        prices = (price_of("openai", name, {}, at_home=False) for name in _names(model))
    return next(filter(None, prices), None)


def _names(model: str) -> Iterator[str]:
    """A model's name, and what is left of it without a vendor's prefix; dates behind an `@` as behind a hyphen."""
    plain = model.replace("@", "-")
    yield plain
    for divider in ("/", ":"):
        _, separator, rest = plain.rpartition(divider)
        # A number behind the last colon is a version of the model, as in `…-v1:0`.
        if separator and not rest.isdecimal():
            yield rest
    yield _BEFORE_NAME.sub("", plain.rpartition("/")[2])


def _is_dearer(attributes: Mapping[str, Any]) -> bool:
    """Whether something else than tokens at list price was asked for."""
    merged: dict[str, Any] = {}
    for key in _SETTINGS:
        settings = value_of(attributes.get(key))
        if isinstance(settings, dict):
            merged.update(settings)  # pyright: ignore[reportUnknownArgumentType] (JSON)
    for key, value in attributes.items():
        if _TIER.search(key) and value != "auto":
            merged["service_tier"] = value
    return bool(merged) and bool(surcharges(merged).uncovered(stated=False))


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((n for name in names if (n := count_of(attributes.get(name))) is not None), None)
