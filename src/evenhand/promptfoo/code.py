"""Values in Python code: filling templates into code without ever letting a value become code.

Configs write `value: output == "{{expected}}"`. Where the tag stands in quotes, the value is escaped so that it stays in
them; where it stands bare, a number or a boolean is written as it is, and anything else as a literal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evenhand.core.errors import TemplateError
from evenhand.promptfoo.template import has_tags, render

_TAG = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_QUOTE = re.compile(r"""\\.|'''|\"\"\"|'|"|\#[^\n]*|\n""", re.DOTALL)


def filled_in(code: str, variables: Mapping[str, Any]) -> str:
    """Python code with its tags filled in.

    Raises:
        TemplateError: A tag cannot be read, or it is a block (`{% … %}`), which has no safe meaning in code.
    """
    if not has_tags(code):
        return code
    if "{%" in code:
        raise TemplateError(
            "{% %} blocks cannot be used in Python code", hint="Read the variables from context['vars'] instead."
        )
    parts: list[str] = []
    quote = ""
    at = 0
    for match in _TAG.finditer(code):
        text = code[at : match.start()]
        quote = _quote_after(text, quote)
        value = render(match.group(), variables)
        parts += [text, _inside(value) if quote else _bare(value, match.group(), variables)]
        at = match.end()
    return "".join([*parts, code[at:]])


def _quote_after(text: str, quote: str) -> str:
    """The quote that is open after this text; empty for none."""
    for match in _QUOTE.finditer(text):
        token = match.group()
        if token[0] in "\\#":
            continue
        if token == "\n":
            quote = "" if len(quote) == 1 else quote
        elif not quote:
            quote = token
        elif token == quote:
            quote = ""
    return quote


def _inside(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\x27").replace('"', "\\x22")
    return escaped.replace("\n", "\\n").replace("\r", "\\r").replace("{", "\\x7b").replace("}", "\\x7d")


def _bare(value: str, tag: str, variables: Mapping[str, Any]) -> str:
    if _NUMBER.fullmatch(value):
        return value
    given = variables.get(tag.strip("{} "))
    if isinstance(given, bool) or given is None:
        return repr(given) if given is not None or not value else repr(value)
    if isinstance(given, (list, dict)):
        return repr(given)
    return {"true": "True", "false": "False", "True": "True", "False": "False"}.get(value, repr(value))
