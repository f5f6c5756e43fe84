"""Turns a prompt's text into messages: a chat written as JSON or YAML, or else one user message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from evenhand.core.encoding import TooDeep, decode
from evenhand.core.message import Message
from evenhand.documents.depth import refuse_yaml_depth


def parse_prompt(text: str) -> tuple[Message, ...]:
    """The messages that this text stands for.

    A JSON list of `{"role": …, "content": …}`, or a YAML list whose first line begins `- role:`, is a conversation.
    Anything else is what the user says, word for word, also when it only looks like JSON.
    """
    start = text.lstrip()[:8]
    messages: object = None
    if start.startswith("["):
        try:
            messages = decode(text)
        except ValueError:
            messages = None
    elif start.startswith("- role:"):
        import yaml  # noqa: PLC0415 (only for prompts that need it)

        try:
            refuse_yaml_depth(text)
            messages = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
        except (yaml.YAMLError, TooDeep):
            messages = None
    if isinstance(messages, list) and messages:
        parsed = [_message(m) for m in cast("list[object]", messages)]
        if all(parsed):
            return tuple(m for m in parsed if m is not None)
    return (Message("user", text),)


def _message(value: object) -> Message | None:
    if not isinstance(value, Mapping):
        return None
    row = cast("Mapping[str, object]", value)
    role, content = row.get("role"), row.get("content")
    if not isinstance(role, str):
        return None
    if isinstance(content, list):
        return Message(role, cast("list[Mapping[str, object]]", content))
    return Message(
        role, content if isinstance(content, str) else "" if content is None else str(content)
    )
