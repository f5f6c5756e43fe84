"""Values in Python and JavaScript: filling templates into code without ever letting a value become code.

Configs write `value: output == "{{expected}}"`. Where the tag stands in quotes, the value is escaped so that it stays
in them; in a pattern or a comment of JavaScript, so that it cannot end it; where it stands bare, a number or a boolean
is written as it is, and anything else as a literal. `{{ x | dump }}` becomes the literal of the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from evenhand.core.errors import TemplateError
from evenhand.languages.templates.rendering import NO_CONFIG, Templates, has_tags

_TAG = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_DUMPED = re.compile(r"\|\s*(?:dump|tojson)\s*(?:\([^()]*\))?\s*-?\}\}\Z")
Fit = Callable[[str, str, str], str]
"""A value as the language writes it after this text: takes the text since the last tag, the value, and the tag."""

# Whole numbers that begin with zeros (`007`) are left out: in Python they are no numbers.
_NUMBER = re.compile(
    r"[+-]?(0+|[1-9][0-9]*|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
)
_UNSAFE = re.compile("[\\x00-\\x1f\\x7f\\\\'\"{}\ud800-\udfff]")
_OPEN = re.compile(r"""\#[^\n]*|(?:(?<!\w)([rRbBfFuU]{1,2}))?('''|\"\"\"|'|")""")
_PREFIX = re.compile(r"(?<!\w)[rRbBfFuU]{1,2}\Z")
_CLOSE = {
    mark: re.compile(rf"\\.|{mark}" + ("" if len(mark) > 1 else r"|\n"), re.DOTALL)
    for mark in ("'", '"', "'''", '"""')
}


def python_filled(code: str, variables: Mapping[str, Any], templates: Templates = NO_CONFIG) -> str:
    """Python code with its tags filled in.

    Raises:
        TemplateError: A tag cannot be read or cannot stand where it does, or it is a block (`{% … %}`).
    """
    quote = before = ""

    def fit(text: str, value: str, tag: str) -> str:
        nonlocal quote, before
        quote, before = _open_after(text, quote, before)
        if quote:
            return _quoted(value, quote, before)
        bare = _bare(value, tag, variables)
        if bare[:1] in ("'", '"') and _PREFIX.search(text):
            raise _refused("text", "in after a letter that would be its prefix")
        return bare

    return code_filled(
        code, variables, templates, fit, language="Python code", variables_are_in="context['vars']"
    )


def _open_after(text: str, quote: str, before: str) -> tuple[str, str]:
    """The quote that is open after this text, with its prefix (`r"`), and what follows it; empty for none."""
    at = begun = 0
    while True:
        if quote:
            match = _CLOSE[quote.lstrip("rRbBfFuU")].search(text, at)
            if match is None:
                return quote, before + text[begun:]
            quote = quote if match.group()[0] == "\\" else ""
        else:
            match = _OPEN.search(text, at)
            if match is None:
                return "", ""
            quote, before, begun = (match[1] or "") + (match[2] or ""), "", match.end()
        at = match.end()


def _quoted(value: str, quote: str, before: str) -> str:
    """A value inside a string that began with `quote`, and in which `before` stands already."""
    prefix = quote.rstrip("'\"").lower()
    formatted, raw = "f" in prefix, "r" in prefix
    # Braces that are just text; too many refused is better than one too few.
    before = before.replace("}}", "")
    if formatted and before.count("{") > before.count("}") and not _NUMBER.fullmatch(value):
        raise _refused("a value", "in between the braces of an f-string, where it would be code")
    if raw and formatted and ("{" in value or "}" in value):
        raise _refused("a value with braces", "into a raw f-string, where they would hold code")
    if raw and (quote[-1] in value or "\n" in value or "\r" in value or value.endswith("\\")):
        raise _refused("a value with quotes or line ends", "into a raw string")
    return value if raw else (_UNSAFE.sub(_escaped, value))


def _refused(what: str, where: str) -> TemplateError:
    return TemplateError(
        f"{what} cannot be filled {where}", hint="Read it from context['vars'] instead."
    )


def _escaped(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    return {"\\": "\\\\", "\n": "\\n"}.get(char) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    )


def _bare(value: str, tag: str, variables: Mapping[str, Any]) -> str:
    if _NUMBER.fullmatch(value):
        return value
    if is_dumped(tag):
        return repr(json.loads(value)) if value else "None"
    variable = named_by(tag, variables)
    if isinstance(variable, bool) or variable is None:
        return repr(variable) if variable is not None or not value else repr(value)
    if isinstance(variable, (list, dict)):
        return repr(variable)
    return {"true": "True", "false": "False", "True": "True", "False": "False"}.get(
        value, repr(value)
    )


# Numbers that begin with zeros are left out: JavaScript reads `010` as 8.
_BARE = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|true|false|null")
# `$` and braces are among them, because a template literal runs what stands in `${…}`.
_JS_UNSAFE = re.compile("[\\x00-\\x1f\\x7f\\\\'\"`${}\u2028\u2029\ud800-\udfff]")
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


def javascript_filled(
    code: str, variables: Mapping[str, Any], templates: Templates = NO_CONFIG
) -> str:
    """JavaScript with its tags filled in.

    Raises:
        TemplateError: A tag cannot be read, or it is a block (`{% … %}`), which has no safe meaning in code.
    """
    inside: list[str] = []

    def fit(text: str, value: str, tag: str) -> str:
        nonlocal inside
        inside = _js_after(text, inside)
        return _js_fitted(value, tag, inside[-1] if inside else "", variables)

    return code_filled(
        code, variables, templates, fit, language="JavaScript", variables_are_in="context.vars"
    )


def _js_after(text: str, inside: list[str]) -> list[str]:
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


def _js_fitted(value: str, tag: str, within: str, variables: Mapping[str, Any]) -> str:
    if within in ("'", '"', "`"):
        return _JS_UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", value)
    if within in ("//", "/*"):
        return _LEAVES_COMMENT.sub(" ", value)
    if within == "/":
        # Escaped, where a comment gets a space: in a pattern each character counts.
        return _LEAVES_PATTERN.sub(lambda match: f"\\u{ord(match.group()):04x}", value)
    if _BARE.fullmatch(value):
        return value
    if is_dumped(tag):
        return _js_literal(json.loads(value)) if value else "undefined"
    variable = named_by(tag, variables)
    if isinstance(variable, (list, dict)):
        return _js_literal(variable)
    return _js_literal(value)


def _js_literal(value: object) -> str:
    """A value as JavaScript writes it; parentheses keep an object from being read as a block."""
    text = json.dumps(value, default=str)
    return f"({text})" if isinstance(value, dict) else text


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
