"""Which code is the user's own, not Python's, an installed package's or ours; its running line, and its syntax."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType, ModuleType

OURS = f"{Path(__file__).parent.parent}{os.sep}"
"""How the paths of our own code begin."""
_PYTHONS = f"{Path(os.__file__).parent}{os.sep}"
_NOT_THEIRS = (OURS, _PYTHONS, "<frozen", "<string>")  # <string>: what dataclasses write
_RESOLVED = tuple(f"{Path(path).resolve()}{os.sep}" for path in (OURS, _PYTHONS))
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")


def is_users(file: str) -> bool:
    """Whether a code object's file is the user's: neither Python's, nor an installed package's, nor ours.

    Code that was typed in a notebook, or that stands in a config, is the user's.
    """
    return not file.startswith(_NOT_THEIRS) and not is_installed(file)


def is_installed(file: str) -> bool:
    """Whether a code object's file is an installed package's."""
    return "-packages" in file and _INSTALLED.search(file) is not None


def users_file(module: ModuleType | None) -> str:
    """The file of a module that is the user's own, wherever links lead; empty for any other, and for none."""
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) and is_own(file) else ""


@lru_cache(maxsize=4096)
def is_own(file: str) -> bool:
    """Whether a module's file is the user's own, wherever links lead."""
    return is_users(file) and not str(Path(file).resolve()).startswith(_RESOLVED)


_UNSAID = frozenset({"annotation", "returns", "type_comment", "kind", "ctx", "type_params"})
_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_others: dict[str, ModuleType] = {}
"""Imported modules that are not the user's own. A process has thousands, which are gone through for each run."""


def users_files() -> Iterator[tuple[str, str]]:
    """The name and the file of each imported module that is the user's own."""
    for name, module in list(sys.modules.items()):
        if _others.get(name) is module:
            continue
        if file := users_file(module):
            yield name, file
        else:
            _others[name] = module


def imported_names(tree: ast.AST) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Of each import in code: the module, how many dots stand before it, and what is imported from it by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, 0, ()
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level, tuple(alias.name for alias in node.names)


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a file binds."""
    if isinstance(statement, _Defined):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, _Defined | ast.Import | ast.ImportFrom):
                yield from bound_names(node)


def text_of_node(node: object) -> str:
    """A node as text: the same in every version of Python, and without what says nothing."""
    if isinstance(node, ast.AST):
        fields = (
            f"{name}={text_of_node(value)}"
            for name, value in ast.iter_fields(_joined(node))
            if name not in _UNSAID and value is not None and value != []
        )
        return f"{type(node).__name__}({' '.join(fields)})"
    if isinstance(node, list):
        return f"[{' '.join(map(text_of_node, node))}]"
    return repr(node)


def _joined(node: ast.AST) -> ast.AST:
    """An f-string whose texts are one where they adjoin: some versions of Python cut them, and keep empty ones."""
    if not isinstance(node, ast.JoinedStr):
        return node
    values: list[ast.expr] = []
    for one in node.values:
        if not isinstance(one, ast.Constant):
            values.append(one)
        elif values and isinstance(values[-1], ast.Constant):
            values[-1] = ast.Constant(f"{values[-1].value}{one.value}")
        elif one.value:
            values.append(one)
    return ast.JoinedStr(values)


def is_out(frame: FrameType | None) -> bool:
    """Whether a frame is one of ours, or of what we called, and none of the user's code or of what that called."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith(OURS):
            return True
        frame = frame.f_back
    return frame is None


def users_frame() -> FrameType | None:
    """The innermost frame of the user's code that led here; None where there is none."""
    frame = inspect.currentframe()
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def users_line() -> str:
    """The innermost line of the user's code that led here, as `file:line`; empty where there is none."""
    frame = users_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
