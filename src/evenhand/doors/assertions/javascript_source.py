"""Values in JavaScript: filling templates into code without ever letting a value become code.

Configs write `value: output === '{{expected}}'`. Where a tag stands in quotes, the value is escaped so that it stays in
them; in a pattern or a comment, so that it cannot end it; where it stands bare, a number or a boolean is written as it
is, and anything else as a literal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from evenhand.languages.templates.in_code import code_filled, is_dumped, named_by
from evenhand.languages.templates.rendering import NO_CONFIG, Templates

# Numbers that begin with zeros are left out: JavaScript reads `010` as 8.
_BARE = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|true|false|null")
# `$` and braces are among them, because a template literal runs what stands in `${…}`.
_UNSAFE = re.compile("[\\x00-\\x1f\\x7f\\\\'\"`${}\u2028\u2029\ud800-\udfff]")
_LEAVES_COMMENT = re.compile("[\\x00-\\x1f\u2028\u2029\ud800-\udfff]|\\*/")
_LEAVES_PATTERN = re.compile("[/\\x00-\\x1f\u2028\u2029\ud800-\udfff]")
# A slash begins a pattern only after an operator, a bracket or `return`; elsewhere it divides.
_OPENED = re.compile(r"""//|/\*|(?<=[(,=:\[!&|?{};])\s*/|\A\s*/|\breturn\s+/|['"`{}]""")
_CLOSED = {
    "'": re.compile(r"\\.|'|\n", re.DOTALL),
    '"': re.compile(r'\\.|"|\n', re.DOTALL),
    "`": re.compile(r"\\.|`|\$\{", re.DOTALL),
    "/": re.compile(r"\\.|/|\n", re.DOTALL),
    "//": re.compile(r"\n"),
    "/*": re.compile(r"\*/"),
}


def filled_in(code: str, variables: Mapping[str, Any], templates: Templates = NO_CONFIG) -> str:
    """JavaScript with its tags filled in.

    Raises:
        TemplateError: A tag cannot be read, or it is a block (`{% … %}`), which has no safe meaning in code.
    """
    inside: list[str] = []

    def fit(text: str, value: str, tag: str) -> str:
        nonlocal inside
        inside = _after(text, inside)
        return _fitted(value, tag, inside[-1] if inside else "", variables)

    return code_filled(
        code, variables, templates, fit, language="JavaScript", variables_are_in="context.vars"
    )


def _after(text: str, inside: list[str]) -> list[str]:
    """What is open after this text, innermost last: a quote, a comment, a pattern, a brace of a template or a block."""
    open_now = list(inside)
    at = 0
    while True:
        within = open_now[-1] if open_now else ""
        if within in _CLOSED:
            match = _CLOSED[within].search(text, at)
            if match is None:
                return open_now
            if match.group() == "${":
                open_now.append("{")
            elif match.group()[0] != "\\":
                open_now.pop()
        else:
            match = _OPENED.search(text, at)
            if match is None:
                return open_now
            mark = match.group()
            if mark == "}":
                if within:
                    open_now.pop()
            else:
                open_now.append(mark if mark in _CLOSED or mark == "{" else "/")
        at = match.end()


def _fitted(value: str, tag: str, within: str, variables: Mapping[str, Any]) -> str:
    if within in ("'", '"', "`"):
        return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", value)
    if within in ("//", "/*"):
        return _LEAVES_COMMENT.sub(" ", value)
    if within == "/":
        # Escaped, where a comment gets a space: in a pattern each character counts.
        return _LEAVES_PATTERN.sub(lambda match: f"\\u{ord(match.group()):04x}", value)
    if _BARE.fullmatch(value):
        return value
    if is_dumped(tag):
        return _literal(json.loads(value)) if value else "undefined"
    variable = named_by(tag, variables)
    if isinstance(variable, (list, dict)):
        return _literal(variable)
    return _literal(value)


def _literal(value: object) -> str:
    """A value as JavaScript writes it; parentheses keep an object from being read as a block."""
    text = json.dumps(value, default=str)
    return f"({text})" if isinstance(value, dict) else text
