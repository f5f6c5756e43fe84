"""Reading JavaScript as text: as much as has to be known of it before it is run, and no more.

A script is put to an engine as the text of one function. Inline code becomes that function's body; a file's code
becomes a function of `module` and `exports`, with what it says of exports in the newer syntax said in the older one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_REGEX = r"/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"""|(?P<text>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)"""
    rf"|(?P<lead>(?:[(,=:\[!&|?{{}};+\-*%<>~^]|\breturn|\btypeof|\A)\s*)(?P<regex>{_REGEX})",
    re.DOTALL,
)
_NODE = re.compile(
    r"(?<![\w$.])(?:"
    r"require\s*\(|import\b\s*[\w{*('\"]|import\.meta|__dirname\b|__filename\b"
    r"|(?:fetch|structuredClone|setInterval|setImmediate)\s*\("
    r"|new\s+(?:URL|URLSearchParams|TextEncoder|TextDecoder|AbortController|Headers|Request|Response|FormData|Blob"
    r"|WebSocket|Intl\.\w+)\b"
    r"|typeof\s+(?:fetch|structuredClone|Buffer|Intl|crypto|URLSearchParams|TextDecoder|AbortController|WebAssembly)\b"
    r"|(?:Buffer|Intl|crypto|URL|AbortSignal|WebAssembly)\s*\."
    r"|process\s*\.\s*(?!env\b|cwd\b|platform\b|argv\b|nextTick\b)\w+)"
    # The built-in engine has these, and knows no language's rules: 1234.5 stays without a comma, and ä follows z.
    r"|\.\s*(?:toLocale(?:Date|Time)?String|localeCompare)\b"
    r"|^\s*export\s[^;\n]*?\bfrom\s*['\"]|\}\s*from\s*['\"]",
    re.MULTILINE,
)
_PART = re.compile(r"\$\{([^{}`]*)\}")
_EXPORT = re.compile(r"^[ \t]*export\s+", re.MULTILINE)
_DECLARED = re.compile(
    r"(?:async\s+)?(?:function\s*\*?|class)\s+([\w$]+)|(?:const|let|var)\s+([\w$]+)"
)
_DEFAULT_NAMED = re.compile(r"(?:async\s+)?(?:function\s*\*?|class)\s+(?!extends\b)([\w$]+)")
_LIST = re.compile(r"\{([^}]*)\}\s*;?")
_RETURNS = re.compile(r"\s*return\b(?!\s*[:=.])")
_BINDING = re.compile(r"(?:const|let|var)\b")


def masked(code: str) -> str:
    """The code with what is in its comments, texts and patterns blanked out; every place stays where it was."""

    def blank(match: re.Match[str]) -> str:
        lead, text = match["lead"] or "", match["text"]
        if text is not None:  # its quotes stay, so that it is still seen as a text
            return text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1]
        return lead + re.sub(r"[^\n]", " ", match.group()[len(lead) :])

    return _TOKEN.sub(blank, code)


def wants_node(code: str) -> str:
    """The first thing in the code that only Node has, or does right, as it is written; empty for none."""
    match = _NODE.search(masked(code))
    if match:
        return " ".join(match.group().split()).strip("({'\" .")
    # A text in backticks may have code in it.
    templates = (token["text"] or "" for token in _TOKEN.finditer(code) if "`" in token.group())
    inside = (part for text in templates if text[:1] == "`" for part in _PART.findall(text))
    return next(filter(None, map(wants_node, inside)), "")


def body(code: str, *, declarations: bool = False) -> str:
    """Inline code as a function's body: one line is what it returns, several lines return for themselves.

    So does one line that begins with `return` in a transform: a block in YAML (`transform: |`) may be one line long.

    Args:
        declarations: It is an assertion: a line that begins with `const`, `let` or `var` returns its last statement.
    """
    text = code.rstrip("\n")
    if "\n" in text or (not declarations and _RETURNS.match(text)):
        return text
    if declarations and _BINDING.match(text.lstrip()):
        at = masked(text).rstrip().rstrip(";").rfind(";")
        if at >= 0:
            return f"{text[: at + 1]} return {text[at + 1 :].lstrip()}"
    return f"return {text}"


def function_text(code: str, parameters: Sequence[str]) -> str:
    """A function's body as the function's text, its lines where they were."""
    # The brace is on a line of its own, because the code can end in a `//` comment.
    return f"(function ({', '.join(parameters)}) {{{code}\n}})"


def module_text(code: str) -> str:
    """A file's code as a function of `module` and `exports`.

    `export` at the start of a line is taken out, and said at the end: by then all that is exported has its value.
    """
    code = code.removeprefix("\ufeff")
    # It becomes a comment and is not cut off, so that line numbers stay the same.
    if code.startswith("#!"):
        code = "//" + code
    mask = masked(code)
    parts: list[str] = []
    exported: list[str] = []
    at = 0
    for match in _EXPORT.finditer(mask):
        parts.append(code[at : match.start()])
        rest, at = mask[match.end() :], match.end()
        if rest.startswith("default"):
            at += len("default")
            named = _DEFAULT_NAMED.match(rest[len("default") :].lstrip())
            if named:
                exported.append(f"exports.default = {named[1]};")
            else:
                parts.append("exports.default =")
        elif listed := _LIST.match(rest):
            for item in filter(None, (piece.strip() for piece in listed[1].split(","))):
                inner, _, outer = item.partition(" as ")
                exported.append(f"exports[{(outer or inner).strip()!r}] = {inner.strip()};")
            at += listed.end()
        elif declared := _DECLARED.match(rest):
            name = declared[1] or declared[2]
            exported.append(f"exports.{name} = {name};")
    parts.append(code[at:])
    # A module is strict by itself; what was written for `module.exports` may not be.
    strict = '"use strict";' if exported or len(parts) > 1 else ""
    text = "".join(parts) + "\n" + "\n".join(exported)
    return f"(function (module, exports) {{{strict}{text}\n}})"


def exports_nothing_called(code: str, name: str) -> bool:
    """Whether a file's code does not even mention the name that it should export."""
    first = name.split(".", maxsplit=1)[0]
    return (
        bool(name)
        and not first.startswith("config(")
        and not re.search(rf"(?<![\w$]){re.escape(first)}(?![\w$])", code)
    )
