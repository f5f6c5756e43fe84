"""Turns a prompt's text into messages: a chat written as JSON or YAML, or else one user message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from evenhand.core.encoding import decode
from evenhand.core.message import Message
from evenhand.providers.message_forms import conversation_of, is_message, text_in


def parse_prompt(text: str) -> tuple[Message, ...]:
    """The messages that this text stands for.

    A JSON list of messages, or a YAML list whose first line begins `- role:`, is a conversation; so is a JSON object
    that is a message, or a vendor's body with `messages`, `contents` or `input` in it. Anything else is what the user
    says, word for word, also when it only looks like JSON.
    """
    start = text.lstrip()[:8]
    value: object = None
    if start.startswith(("[", "{")):
        try:
            value = decode(text)
        except ValueError:
            value = None
    elif start.startswith("- role:"):
        import yaml  # noqa: PLC0415 (only for prompts that need it)

        try:
            value = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
        except yaml.YAMLError:
            value = None
    return _conversation(value) or (Message("user", text),)


def _conversation(value: object) -> tuple[Message, ...]:
    """The messages of a conversation; none where it is something else."""
    if isinstance(value, Mapping):
        body = cast("Mapping[str, Any]", value)
        if is_message(body) or conversation_of(body) is not None:
            return (message_of(body),)
        return ()
    rows = cast("list[object]", value) if isinstance(value, list) else []
    if not all(isinstance(row, Mapping) for row in rows):
        return ()
    messages = cast("list[Mapping[str, Any]]", rows)
    if not any(map(is_message, messages)):
        return ()
    return tuple(map(message_of, messages))


def message_of(row: Mapping[str, Any]) -> Message:
    """A message as it is written. What says more than a role and a content is sent in its own words."""
    role, content = row.get("role"), row.get("content")
    if isinstance(role, str) and role and set(row) == {"role", "content"}:
        if isinstance(content, str):
            return Message(role, content)
        if (
            isinstance(content, list)
            and content
            and all(isinstance(part, Mapping) for part in cast("list[object]", content))
        ):
            return Message(role, cast("list[Mapping[str, Any]]", content))
        if isinstance(content, (bool, int, float)):
            return Message(
                role, str(content).lower() if isinstance(content, bool) else str(content)
            )
    return Message(role if isinstance(role, str) else "user", text_in(row), (row,))
