"""Values in Python code: filling templates into code without ever letting a value become code.

Configs write `value: output == "{{expected}}"`. Where the tag stands in quotes, the value is escaped so that it stays
in them; where it stands bare, a number or a boolean is written as it is, and anything else as a literal.
`{{ x | dump }}` becomes the literal of the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from evenhand.core.errors import TemplateError
from evenhand.promptfoo.template import has_tags, render

_TAG = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_DUMPED = re.compile(r"\|\s*(?:dump|tojson)\s*(?:\([^()]*\))?\s*-?\}\}\Z")
_UNSAFE = re.compile("[\\x00-\\x1f\\x7f\\\\'\"{}\ud800-\udfff]")
_OPEN = re.compile(r"""\#[^\n]*|(?:(?<!\w)([rRbBfFuU]{1,2}))?('''|\"\"\"|'|")""")
_CLOSE = {
    mark: re.compile(rf"\\.|{mark}" + ("" if len(mark) > 1 else r"|\n"), re.DOTALL)
    for mark in ("'", '"', "'''", '"""')
}


def filled_in(code: str, variables: Mapping[str, Any]) -> str:
    """Python code with its tags filled in.

    Raises:
        TemplateError: A tag cannot be read, or it is a block (`{% … %}`), which has no safe meaning in code.
    """
    if not has_tags(code):
        return code
    if "{%" in code:
        raise TemplateError(
            "{% %} blocks cannot be used in Python code",
            hint="Read the variables from context['vars'] instead.",
        )
    parts: list[str] = []
    quote = ""
    at = 0
    for match in _TAG.finditer(code):
        text = code[at : match.start()]
        quote = _quote_after(text, quote)
        value = render(match.group(), variables)
        if quote:
            parts += [text, _inside_raw(value, quote) if _is_raw(quote) else _inside(value)]
        else:
            parts += [text, _bare(value, match.group(), variables)]
        at = match.end()
    return "".join([*parts, code[at:]])


def _quote_after(text: str, quote: str) -> str:
    """The quote that is open after this text, with its prefix (`r"`); empty for none."""
    at = 0
    while True:
        if quote:
            match = _CLOSE[quote.lstrip("rRbBfFuU")].search(text, at)
            if match is None:
                return quote
            quote = quote if match.group()[0] == "\\" else ""
        else:
            match = _OPEN.search(text, at)
            if match is None:
                return ""
            quote = (match[1] or "") + (match[2] or "")
        at = match.end()


def _is_raw(quote: str) -> bool:
    return "r" in quote.lower()


def _inside_raw(value: str, quote: str) -> str:
    if quote[-1] in value or "\n" in value or value.endswith("\\"):
        raise TemplateError(
            "a value with quotes or line ends cannot be filled into a raw string",
            hint="Read it from context['vars'] instead.",
        )
    return value


def _inside(value: str) -> str:
    return _UNSAFE.sub(_escaped, value)


def _escaped(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    return {"\\": "\\\\", "\n": "\\n"}.get(char) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    )


def _bare(value: str, tag: str, variables: Mapping[str, Any]) -> str:
    if _NUMBER.fullmatch(value):
        return value
    if _DUMPED.search(tag):
        return repr(json.loads(value)) if value else "None"
    given = variables.get(tag.strip("{} "))
    if isinstance(given, bool) or given is None:
        return repr(given) if given is not None or not value else repr(value)
    if isinstance(given, (list, dict)):
        return repr(given)
    return {"true": "True", "false": "False", "True": "True", "False": "False"}.get(
        value, repr(value)
    )
