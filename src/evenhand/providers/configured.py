"""A vendor's model as one prompt's own settings have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from evenhand.core.message import Message
from evenhand.core.provider import Provider
from evenhand.providers.message_forms import UntoldMessage
from evenhand.providers.wrapped import Wrapped

if TYPE_CHECKING:
    from evenhand.providers.chat import ChatProvider


_FORMS = ("response_format", "output_format")
"""The settings by which a reply is read."""


def takes_chats(provider: Provider) -> bool:
    """Whether a provider is a vendor's model that is sent a conversation; programs and functions get the text."""
    model = _vendors_model(provider)
    return model is not None and model.dialect.chats


def untold(provider: Provider, messages: Sequence[Message]) -> UntoldMessage | None:
    """Why a vendor's model can't be sent these messages; None where it can, and for programs and functions.

    Args:
        messages: Their tags need not be filled in yet.
    """
    model = _vendors_model(provider)
    if model is None or not model.dialect.chats:
        return None
    try:
        model.dialect.messages(messages)
    except UntoldMessage as error:
        return None if "{{" in error.unread or "{%" in error.unread else error
    return None


def tool_form(provider: Provider) -> str:
    """Whose form a model is told of tools in: `openai`, `responses`, `anthropic` or `google`; empty where in none."""
    model = _vendors_model(provider)
    return model.dialect.tools if model is not None and "generate" in model.dialect.tasks else ""


def reading_by(provider: Provider, settings: Mapping[str, Any]) -> Provider:
    """The provider that reads its replies by a prompt's settings.

    What is asked for as JSON is read as such, and what a price for tokens doesn't cover has no known cost, whoever
    asked for it: the provider's config, a prompt's or a test's.
    """
    model = _vendors_model(provider)
    if model is None:
        return provider
    uncovered = model.uncovered_by(settings)
    forms = {key: settings[key] for key in _FORMS if key in settings}
    if not forms and uncovered == model.uncovered:
        return provider
    other = replace(model, config={**model.config, **forms})
    other.shows_thoughts = model.shows_thoughts
    other.uncovered = uncovered
    if isinstance(provider, Wrapped):
        return cast("Provider", replace(provider, provider=other))
    return other


def _vendors_model(provider: Provider) -> ChatProvider | None:
    inner = provider.provider if isinstance(provider, Wrapped) else provider
    return cast("ChatProvider", inner) if hasattr(inner, "dialect") else None
