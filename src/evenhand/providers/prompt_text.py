"""Turns a prompt's text into messages: a chat written as JSON or YAML, or else one user message."""

from __future__ import annotations

from evenhand.core.encoding import TooDeep, decode
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.message import Message
from evenhand.languages.documents.tree import refuse_yaml_depth
from evenhand.providers.message_forms import conversation_of, is_message


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
            refuse_yaml_depth(text)
            value = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
        except (yaml.YAMLError, TooDeep):
            value = None
    return _conversation(value) or (Message("user", text),)


def _conversation(value: object) -> tuple[Message, ...]:
    """The messages of a conversation; none where it is something else."""
    if is_mapping(value):
        body = value
        if is_message(body) or conversation_of(body) is not None:
            return (Message.of(body),)
        return ()
    rows = value if is_array(value) else []
    messages = [row for row in rows if is_mapping(row)]
    if len(messages) < len(rows) or not any(map(is_message, messages)):
        return ()
    return tuple(map(Message.of, messages))
