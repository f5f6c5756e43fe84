"""Tags in the user's code: where they stand decides how a value is written, so that none ever becomes code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from evenhand.core.errors import TemplateError
from evenhand.languages.templates.rendering import Templates, has_tags

_TAG = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_DUMPED = re.compile(r"\|\s*(?:dump|tojson)\s*(?:\([^()]*\))?\s*-?\}\}\Z")

Fit = Callable[[str, str, str], str]
"""A value as the language writes it after this text: takes the text since the last tag, the value, and the tag."""


def code_filled(
    code: str,
    variables: Mapping[str, Any],
    templates: Templates,
    fit: Fit,
    *,
    language: str,
    variables_are_in: str,
) -> str:
    """Code with its tags filled in.

    Args:
        fit: Writes each value; asked in their order.
        language: What it is written in, for people.
        variables_are_in: Where the code finds its variables.

    Raises:
        TemplateError: A tag cannot be read, or it is a block (`{% … %}`), which has no safe meaning in code.
    """
    if not has_tags(code):
        return code
    if "{%" in code:
        raise TemplateError(
            f"{{% %}} blocks cannot be used in {language}",
            hint=f"Read the variables from {variables_are_in} instead.",
        )
    parts: list[str] = []
    at = 0
    for match in _TAG.finditer(code):
        text, tag = code[at : match.start()], match.group()
        parts += [text, fit(text, templates.render(tag, variables), tag)]
        at = match.end()
    return "".join([*parts, code[at:]])


def is_dumped(tag: str) -> bool:
    """Whether a tag writes JSON: `{{ x | dump }}`."""
    return bool(_DUMPED.search(tag))


def named_by(tag: str, variables: Mapping[str, Any]) -> object:
    """The variable that a tag names plainly; None where it names none."""
    return variables.get(tag.strip("{} "))
