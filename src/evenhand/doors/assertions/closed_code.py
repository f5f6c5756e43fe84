"""The user's code as far as it can be known without running it: a digest of code that only computes.

A result may be taken from an earlier run only if nothing that it depends on has changed. Of most code that can't be
known: it may read a file, the clock or the network, or ask a model. So code counts as known only if it imports nothing
but modules that compute, and files beside it for which the same holds. Comments and layout of Python don't count.
"""

from __future__ import annotations

import ast
import re
import textwrap
from functools import lru_cache
from pathlib import Path

from evenhand.core.encoding import digest
from evenhand.core.users_code import imported_names, text_of_node
from evenhand.doors.assertions.transform import is_python, split_reference
from evenhand.languages.javascript.references import is_reference

_COMPUTES = frozenset(
    """
    __future__ abc base64 bisect cmath collections copy dataclasses decimal difflib enum fractions functools hashlib
    heapq html itertools json math numbers operator re statistics string textwrap types typing unicodedata
    """.split()
)
"""Modules whose functions say the same of the same arguments, today and tomorrow."""
_REACHES_OUT = frozenset(
    "open exec eval compile input globals locals vars __import__ __builtins__ __loader__ breakpoint".split()
)
_JAVASCRIPT = re.compile(
    r"\b(?:require|import|process|fetch|XMLHttpRequest|Date|crypto|eval|Function|globalThis|performance)\b"
    r"|Math\s*\.\s*random"
)


def code_digest(text: str, base: Path, default: str = "") -> str:
    """A digest of inline code, or of the function that `file://` names; empty where it can't be known.

    Args:
        text: As a config has it.
        base: The folder that paths start from.
        default: The function of a file, where none is named.
    """
    if not text.startswith("file://"):
        return _of_python(text) if is_python(text) else _of_javascript(text)
    path, name = split_reference(text, default)
    file = base / path
    if is_reference(text):
        try:
            content = _of_javascript(file.read_text("utf-8"))
        except (OSError, ValueError):
            return ""
        return digest(content, name) if content else ""
    if file.suffix != ".py":
        return ""
    content = _of_file(file, set())
    return digest(content, name) if content else ""


def python_digest(text: str) -> str:
    """A digest of inline Python: an expression, or lines with a `return`; empty where it can't be known."""
    return _of_python(text)


@lru_cache(maxsize=1024)
def _of_python(text: str) -> str:
    # Lines with a `return` are Python only inside of a function.
    tree = _parsed(text) or _parsed("def f():\n" + textwrap.indent(text, "    "))
    if tree is None or _imports(tree) is None or _imports(tree):
        return ""
    return digest(text_of_node(tree))


def _of_javascript(text: str) -> str:
    return "" if _JAVASCRIPT.search(text) else digest("javascript", text)


def _of_file(file: Path, seen: set[Path]) -> str:
    """Of a file and of all beside it that it imports."""
    try:
        status = file.stat()
        code, local = _read(file, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError):
        return ""
    seen.add(file)
    parts = [code]
    for name in local:
        other = file.parent / f"{name}.py"
        # Files that import each other would be read without end.
        if other in seen:
            continue
        content = _of_file(other, seen) if other.is_file() else ""
        if not content:
            return ""
        parts += [name, content]
    return digest(*parts) if code else ""


@lru_cache(maxsize=256)
def _read(file: Path, changed_at: int, size: int) -> tuple[str, tuple[str, ...]]:
    """A digest of a file alone, empty where it can't be known, and the names of what it imports besides."""
    del changed_at, size  # another file under the same name
    tree = _parsed(file.read_bytes())
    local = None if tree is None else _imports(tree)
    return ("", ()) if tree is None or local is None else (digest(text_of_node(tree)), tuple(local))


def _parsed(text: str | bytes) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _imports(tree: ast.AST) -> list[str] | None:
    """The modules that code imports beside those that compute; None where it reaches out by itself."""
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in _REACHES_OUT:
            return None
    for module, dots, _ in imported_names(tree):
        if dots:
            return None
        names[module.partition(".")[0]] = None
    return [name for name in names if name not in _COMPUTES]
