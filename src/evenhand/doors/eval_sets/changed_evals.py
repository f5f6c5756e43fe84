"""Which evals of a file a change is about."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TypeAlias

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def changed_evals(before: str, now: str) -> list[int] | None:
    """The lines of the evals in which two texts of a file differ; empty where they differ in no code.

    Returns:
        None where more than evals is different, and all of them may be affected.
    """
    try:
        first, second = ast.parse(before), ast.parse(now)
    except (SyntaxError, ValueError, RecursionError):
        return None
    if _others(first) != _others(second):
        return None
    known = Counter(ast.dump(node) for node in _evals(first))
    lines: list[int] = []
    for node in _evals(second):
        text = ast.dump(node)
        if known[text]:
            known[text] -= 1
        else:
            lines.append(node.lineno)
    return lines


def _evals(module: ast.Module) -> list[_Function]:
    return [node for node in module.body if isinstance(node, _Function) and _is_eval(node)]


def _others(module: ast.Module) -> list[str]:
    return [ast.dump(node) for node in module.body if not _is_eval(node)]


def _is_eval(node: ast.stmt) -> bool:
    """Whether this is a function under `@….eval` or `@….eval(…)`."""
    if not isinstance(node, _Function):
        return False
    names = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return any(isinstance(name, ast.Attribute) and name.attr == "eval" for name in names)
