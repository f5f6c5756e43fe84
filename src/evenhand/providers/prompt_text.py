"""A prompt's text: the messages that it stands for, and the tags in a chat, filled in message by message."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Any, cast

from evenhand.core.encoding import TooDeep, decode, decoded
from evenhand.core.json_shapes import (
    as_array,
    is_array,
    is_mapping,
    is_object,
    texts_in,
    with_whole_numbers,
)
from evenhand.core.message import Message
from evenhand.languages.documents.tree import refuse_yaml_depth, safe_loader, yaml_mistake
from evenhand.languages.templates.printing import as_json
from evenhand.languages.templates.rendering import Templates, has_tags
from evenhand.providers.message_forms import conversation_of, is_message

_NO_JSON = object()
_BLOCKS = re.compile(r"\A(?:\s|\{%.*?%\}|\{#.*?#\})+", re.DOTALL)


def parse_prompt(text: str) -> tuple[Message, ...]:
    """The messages that this text stands for.

    A JSON list of messages, or a YAML list whose first line begins `- role:`, is a conversation; so is a JSON object
    that is a message, or a vendor's body with `messages`, `contents` or `input` in it. Anything else is what the user
    says, word for word, also when it only looks like JSON.
    """
    start = text.lstrip()[:8]
    value: object = None
    if start.startswith(("[", "{")):
        value = decoded(text)
    elif start.startswith("- role:"):
        with contextlib.suppress(ValueError):
            value = read_chat(text)
    return _conversation(value) or (Message("user", text),)


def read_chat(text: str) -> object:
    """What a chat says that is written in YAML.

    Raises:
        ValueError: It is not YAML.
    """
    import yaml  # noqa: PLC0415 (only for prompts that need it)

    try:
        refuse_yaml_depth(text)
        return cast("object", yaml.load(text, Loader=safe_loader()))  # noqa: S506 (a safe loader)
    except (yaml.YAMLError, TooDeep) as error:
        words, line, _ = yaml_mistake(error)
        raise ValueError(f"{words}{f' at line {line}' if line else ''}") from None


def filled_messages(
    template: str, variables: Mapping[str, Any], templates: Templates
) -> tuple[Message, ...]:
    """A chat prompt with its tags filled in.

    Who says what is the template's to say: the tags in a chat are filled in message by message, so that no value can
    end a string or put words into another mouth. Objects print as JSON here: a judge is to read what is in them.
    """
    variables = {k: as_json(v) if isinstance(v, Mapping) else v for k, v in variables.items()}
    chat = parse_prompt(template)
    if chat != (Message("user", template),):
        return tuple(_filled_message(m, variables, templates) for m in chat)
    if _is_json(template):
        return (Message("user", fill_json(template, variables, templates)),)
    text = templates.render(template, variables)
    # A chat with loops in it is JSON only once it is filled in.
    return parse_prompt(text) if is_written_chat(template) else (Message("user", text),)


def is_written_chat(template: str) -> bool:
    """Whether a template is written as JSON, so that it may be a chat once it is filled in.

    Blocks such as `{% set … %}` may stand before it; a text that begins with a variable's value is none.
    """
    start = _BLOCKS.sub("", template)[:2]
    return start[:1] == "[" or (start[:1] == "{" and start[1:] not in ("{", "%", "#"))


def _filled_message(
    message: Message, variables: Mapping[str, Any], templates: Templates
) -> Message:
    """A message with the tags in it filled in. Its role is the template's to say."""
    if not message.items:
        content = cast("str", _filled(message.content, variables, templates))
        return Message(message.role, content)
    item = message.items[0]
    filled = cast("dict[str, object]", _filled(dict(item), variables, templates))
    return Message.of({**filled, **({"role": item["role"]} if "role" in item else {})})


def unfillable(template: str, templates: Templates) -> str | None:
    """What is wrong with the tags of a text or a chat, in words; None for nothing."""
    if _is_json(template):
        texts = texts_in(decode(template))
    else:
        texts = (text for m in parse_prompt(template) for text in texts_in(m.items or m.content))
    return next((wrong for text in texts if (wrong := templates.problem(text))), None)


def fill_json(template: str, variables: Mapping[str, Any], templates: Templates) -> str:
    """A JSON text with the tags in its strings filled in."""
    filled = with_whole_numbers(_filled(decode(template), variables, templates))
    return json.dumps(filled, indent=2, ensure_ascii=False)


def _filled(value: object, variables: Mapping[str, Any], templates: Templates) -> object:
    """A value made of dicts, lists and text, with the tags in its text filled in."""
    if isinstance(value, str):
        return templates.render(value, variables)
    if is_array(value):
        return [_filled(item, variables, templates) for item in value]
    if is_object(value):
        fields = value
        filled = {key: _filled(item, variables, templates) for key, item in fields.items()}
        arguments = fields.get("arguments")
        if isinstance(arguments, str) and has_tags(arguments):
            filled["arguments"] = _filled_arguments(arguments, variables, templates)
        return filled
    return value


def _filled_arguments(text: str, variables: Mapping[str, Any], templates: Templates) -> str:
    """The arguments of a tool's call, which are JSON in a text, filled in so that no value adds one of its own."""
    filled = templates.render(text, variables)
    try:
        written = decode(text)
    except ValueError:
        return filled  # JSON only once it is filled in: `{"city": {{ city | dump }}}`
    meant = _filled(written, variables, templates)
    return filled if decoded(filled, _NO_JSON) == meant else as_json(meant)


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and decoded(text) is not None


def _conversation(value: object) -> tuple[Message, ...]:
    """The messages of a conversation; none where it is something else."""
    if is_mapping(value):
        body = value
        if is_message(body) or conversation_of(body) is not None:
            return (Message.of(body),)
        return ()
    rows = as_array(value)
    messages = [row for row in rows if is_mapping(row)]
    if len(messages) < len(rows) or not any(map(is_message, messages)):
        return ()
    return tuple(map(Message.of, messages))
