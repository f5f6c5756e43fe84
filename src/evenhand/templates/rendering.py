"""Nunjucks templates, as promptfoo's files have them.

How this works: nearly all templates are text with plain `{{ name }}` tags. Those are split once and joined by hand, far
faster than by an engine. All others go to Nunjucks itself, in the embedded JavaScript engine: nothing is escaped or
included, what is undefined is empty all the way down, values print and have methods as in JavaScript.

What is filled in is data: tags in a value are never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from evenhand.core.errors import TemplateError
from evenhand.templates.printing import in_template, member

Render = Callable[[Mapping[str, Any]], str]

_TAG = re.compile(r"\{\{\s*([A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*)\s*\}\}")
_ANY_TAG = re.compile(r"\{\{|\{%|\{#")
_CLOSER = {"{{": "}}", "{%": "%}", "{#": "#}"}
_WORDS = frozenset(
    "true false none null not and or in is if else loop env range cycler joiner undefined".split()
)


def has_tags(text: str) -> bool:
    """Whether there is anything in it to fill in."""
    return "{{" in text or "{%" in text or "{#" in text


def render(template: str, variables: Mapping[str, Any]) -> str:
    """The template with its tags filled in.

    Args:
        variables: By name. What is not there prints as nothing.

    Raises:
        TemplateError: It cannot be read, or what it calls fails.
    """
    return compiled(template)(variables)


def check(template: str) -> str | None:
    """What is wrong with a template, in words; None for nothing."""
    try:
        compiled(template)
    except TemplateError as error:
        return error.message
    return None


def left_open(template: str) -> str:
    """The first line that opens a tag and never closes it: it is sent as it is; empty for none."""
    for line in template.split("\n"):
        if any(line.count(opener) > line.count(closer) for opener, closer in _CLOSER.items()):
            return line.strip()
    return ""


def names_in(template: str) -> frozenset[str]:
    """The variables that plain tags of a template name; for hints, so what is more complicated is left out."""
    if "{%" in template:  # what a block sets or asks for cannot be told
        return frozenset()
    return frozenset(match.group(1).split(".")[0] for match in _TAG.finditer(template)) - _WORDS


@lru_cache(maxsize=4096)
def compiled(template: str) -> Render:
    """The template as a function of its variables.

    Raises:
        TemplateError: It cannot be read.
    """
    if not has_tags(template):
        return lambda _: template
    pieces = _TAG.split(template)
    texts, names = pieces[::2], pieces[1::2]
    if (
        "{{{" in template
        or any(_ANY_TAG.search(text) for text in texts)
        or not _WORDS.isdisjoint(names)
    ):
        return _engine_template(template)
    if any("." in name for name in names):
        return _joined(texts, [tuple(name.split(".")) for name in names])
    return _joined_plain(texts, names)


def _joined_plain(texts: Sequence[str], names: Sequence[str]) -> Render:
    if len(names) == 1:
        before, after = texts
        name = names[0]

        def one(variables: Mapping[str, Any]) -> str:
            value = variables.get(name)
            return before + (value if type(value) is str else in_template(value)) + after

        return one

    def several(variables: Mapping[str, Any]) -> str:
        parts = [texts[0]]
        for name, text in zip(names, texts[1:], strict=True):
            value = variables.get(name)
            parts.append(value if type(value) is str else in_template(value))
            parts.append(text)
        return "".join(parts)

    return several


def _joined(texts: Sequence[str], paths: Sequence[tuple[str, ...]]) -> Render:
    def render_paths(variables: Mapping[str, Any]) -> str:
        parts = [texts[0]]
        for path, text in zip(paths, texts[1:], strict=True):
            value: object = variables
            for name in path:
                value = member(value, name)
            parts.append(in_template(value))
            parts.append(text)
        return "".join(parts)

    return render_paths


def _engine_template(template: str) -> Render:
    from evenhand.javascript.templates import templates  # noqa: PLC0415 (the engine takes some milliseconds to load)

    try:
        return templates().compiled(template)
    except TemplateError:
        text = _protected(template)
        if text == template:
            raise
        return templates().compiled(text)


def _protected(template: str) -> str:
    """The template with every line that opens a tag and never closes it set in `raw`: prompts quote code."""
    if all(template.count(opener) <= template.count(closer) for opener, closer in _CLOSER.items()):
        return template
    lines = template.split("\n")
    for i, line in enumerate(lines):
        if any(line.count(opener) > line.count(closer) for opener, closer in _CLOSER.items()):
            lines[i] = "{% raw %}" + line + "{% endraw %}"
    return "\n".join(lines)
