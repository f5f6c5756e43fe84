"""Which requests can go in a batch, and where to: what would be sent by itself, to a vendor that has batches."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import ProviderError
from evenhand.core.message import Reply
from evenhand.core.provider import Provider, Request
from evenhand.providers import anthropic, google
from evenhand.providers.app_call import AppCall
from evenhand.providers.batches.anthropic import AnthropicBatches
from evenhand.providers.batches.google import GoogleBatches
from evenhand.providers.batches.openai import MistralBatches, OpenAIBatches
from evenhand.providers.batches.protocol import BatchPlace, BatchVendor
from evenhand.providers.chat import ChatProvider
from evenhand.providers.refusals import refusal
from evenhand.providers.servers import SERVERS
from evenhand.providers.structured import WithSchema

_VENDORS = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
    "google": GoogleBatches,
    "mistral": MistralBatches,
}
VENDORS: Mapping[str, str] = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "google": "Google",
    "mistral": "Mistral",
}
"""Who has batches, as people call them."""
_ENDPOINTS = {
    "openai": ("chat/completions", "responses", "embeddings"),
    "anthropic": ("messages",),
    "google": ("generateContent",),
    "mistral": ("chat/completions", "embeddings"),
}
_HOMES = {
    "openai": (SERVERS["openai"].address, "OPENAI_API_BASE_URL", "OPENAI_BASE_URL"),
    "anthropic": (f"{anthropic.HOME}/v1", "ANTHROPIC_BASE_URL"),
    "google": (google.HOME, "GOOGLE_API_BASE_URL"),
    "mistral": (SERVERS["mistral"].address, "MISTRAL_API_BASE_URL"),
}
_OF_ONE_REQUEST = ("idempotency-key", "content-type", "accept", "user-agent")
DISCOUNT: Mapping[str, float] = {"openai": 0.5, "anthropic": 0.5, "google": 0.5, "mistral": 0.5}
"""The share of the price that a batch saves: the vendors' price lists of November 2026."""
_FULL_WHEN_CACHED = frozenset({"google"})
"""Whose cached tokens cost in a batch what they cost outside of it."""


def batch_cost_of(provider: Provider, reply: Reply, vendor: str) -> float | None:
    """What an answer costs that came in a batch, in US dollars; None where its price is not known."""
    if reply.cost_usd is None:
        return None
    share = 1 - DISCOUNT[vendor]
    price = provider.price if isinstance(provider, ChatProvider) else None
    cached, tokens_in = reply.usage.tokens_cached, reply.usage.tokens_in or 0
    price = price and price.at(tokens_in)
    if vendor not in _FULL_WHEN_CACHED or price is None or price.usd_cached is None or not cached:
        return share * reply.cost_usd
    full = min(cached, tokens_in) * price.usd_cached / 1e6
    return share * (reply.cost_usd - full) + full


def block_in(provider: Provider, error: ProviderError) -> bytes | None:
    """The body of a line that a filter blocked, which is an answer; None for every other error.

    An application's own client is given the error, as it would be without a batch.
    """
    if not isinstance(provider, ChatProvider) or "generate" not in provider.tasks:
        return None
    body = error.body.encode()
    return None if refusal(body, error.status or 400) is None else body


def place_of(provider: Provider, request: Request) -> tuple[BatchPlace, bytes] | None:
    """Where this request goes in a batch, and the body that it has there; None where it is asked by itself.

    That is so for vendors without batches, addresses that are not the vendor's (unless `batch: true` in the provider's
    config says that batches are to be had there), and answers that come in pieces.
    """
    if isinstance(provider, ChatProvider):
        setting = provider.config.get("batch")
        payload = request.payload
        body = payload.body if isinstance(payload, WithSchema) else payload
        headers = provider.batch_headers
        place = _found(provider.url, provider.id.partition(":")[0], anywhere=setting is True)
        if setting is False or provider.needs_key or not isinstance(body, bytes):
            return None
        model = provider.model
    elif isinstance(provider, AppCall):
        if provider.streams or not provider.body.get(
            "model"
        ):  # Gemini's SDK has batches of its own
            return None
        body, model = provider.sent, provider.model
        headers = {k: v for k, v in provider.headers.items() if _steers(k)}
        place = _found(provider.url)
    else:
        return None
    if place is None:
        return None
    vendor, address, endpoint = place
    if b"\n" in body:  # a request is a line
        body = encode(decode(body), ordered=False)
    return BatchPlace(
        vendor=vendor,
        address=address,
        account=provider.account,
        model=model,
        endpoint=endpoint,
        headers=headers,
    ), body


def batch_share_of(model_id: str) -> float | None:
    """The share of its price that a model costs in a batch, by its id alone; None for one that is asked live."""
    name, _, elsewhere = model_id.partition("@")
    vendor = name.partition(":")[0]
    if vendor not in DISCOUNT or name.startswith("google:embedding"):
        return None
    hosts = [urlsplit(address).netloc for address in _addresses(vendor)]
    return 1 - DISCOUNT[vendor] if not elsewhere or elsewhere in hosts else None


def vendor_of(place: BatchPlace) -> BatchVendor:
    """The vendor's batches at this place."""
    return _VENDORS[place.vendor](place)


def headers_of_environment(vendor: str) -> dict[str, str]:
    """The headers that say who asks, as the environment has the keys: for batches that nobody in the plan asks for."""
    if vendor == "anthropic":
        key = os.environ.get("ANTHROPIC_API_KEY", "")
        return {"anthropic-version": anthropic.VERSION, **({"x-api-key": key} if key else {})}
    if vendor == "google":
        key = next((key for name in google.KEYS if (key := os.environ.get(name))), "")
        return {"x-goog-api-key": key} if key else {}
    key = os.environ.get(SERVERS[vendor].key, "")
    return {"authorization": f"Bearer {key}"} if key else {}


def _found(url: str, named: str = "", *, anywhere: bool = False) -> tuple[str, str, str] | None:
    """The vendor, its address and the endpoint. The vendor that the model's id names goes first: two may share one."""
    for vendor in sorted(_ENDPOINTS, key=lambda vendor: vendor != named):
        for endpoint in _ENDPOINTS[vendor]:
            address = _above(url, vendor, endpoint)
            if address and (anywhere or address in _addresses(vendor)):
                return vendor, address, endpoint
    return None


def _above(url: str, vendor: str, endpoint: str) -> str:
    """The address that an endpoint is below; empty where it is another one."""
    if vendor == "google":  # the model is in the path
        address, models, model = url.rpartition("/models/")
        return address if models and model.endswith(f":{endpoint}") else ""
    address = url.removesuffix(f"/{endpoint}")
    return address if address != url else ""


def _addresses(vendor: str) -> list[str]:
    """Where a vendor's API begins: at home, and where the environment says."""
    home, *variables = _HOMES[vendor]
    bases = [value.rstrip("/") for name in variables if (value := os.environ.get(name))]
    if vendor == "google":
        versions = (google.VERSION, "v1")
        return [f"{base}/{version}" for base in [home, *bases] for version in versions]
    if vendor == "anthropic":
        bases = [base if base.endswith("/v1") else f"{base}/v1" for base in bases]
    return [home, *bases]


def _steers(header: str) -> bool:
    """Whether an application's header is for its account, and not for one of its requests alone."""
    connection = header in ("host", "connection", "content-length", "transfer-encoding")
    return not (
        connection
        or header in _OF_ONE_REQUEST
        or header.startswith(("accept", "x-stainless", "traceparent"))
    )
