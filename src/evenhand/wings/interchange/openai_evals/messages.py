"""OpenAI's lists of messages as pairs of a role and a template."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.languages.documents.foreign import Part, shown
from evenhand.wings.interchange.openai_evals.tags import problem_of

Messages = Sequence[tuple[str, str]]
_TEXTS = ("input_text", "output_text", "text")


def messages_in(part: Part, key: str) -> tuple[Messages, str]:
    """The messages under a key, and why they cannot be written as text; empty for no reason."""
    messages: list[tuple[str, str]] = []
    for one in part.parts(key):
        role, (text, problem) = one.text("role") or "user", _text(one.value.get("content"))
        problem = problem or problem_of(text)
        if problem:
            return [], f"{one.where}: {problem}"
        messages.append((role, text))
    return messages, "" if messages else f"{part.where}.{key}: there are no messages"


def _text(content: object) -> tuple[str, str]:
    if isinstance(content, str):
        return content, ""
    blocks = content if is_array(content) else [content]
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            texts.append(block)
            continue
        fields = as_mapping(block)
        text = fields.get("text")
        if fields.get("type") not in _TEXTS or not isinstance(text, str):
            return "", f"its content has {shown(fields.get('type') or block)}, which is not text"
        texts.append(text)
    return "\n".join(texts), ""
