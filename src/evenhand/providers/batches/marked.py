"""Which models are asked in batches because their config says so."""

from __future__ import annotations

from evenhand.core.provider import Provider
from evenhand.providers.chat import ChatProvider


def asks_for_batches(provider: Provider) -> bool:
    """Whether a model's config says `batch: true`: it is asked in batches, also in a run without `--batch`."""
    return isinstance(provider, ChatProvider) and provider.config.get("batch") is True
