"""What can be seen of the user's code before it runs: that the file is there, and has the function."""

from __future__ import annotations

import difflib
from pathlib import Path

from evenhand.core.errors import EvenhandError
from evenhand.promptfoo.transform import looks_like_javascript, split_reference
from evenhand.scorers.code import python_function
from evenhand.scorers.text import quoted


def transform_problems(code: str, base: Path) -> list[tuple[str, str]]:
    """What is wrong with a transform, as far as can be seen before it runs."""
    if code.startswith("file://"):
        return file_problems(code, base, "get_transform")
    if looks_like_javascript(code):
        return [
            (
                f"transform {quoted(code)} is JavaScript, which is not supported yet",
                "Write it in Python: an expression that uses `output`, or file://transform.py.",
            )
        ]
    try:
        python_function(code)
    except EvenhandError as error:
        return [(f"transform: {error.message}", error.hint)]
    return []


def file_problems(reference: str, base: Path, default: str) -> list[tuple[str, str]]:
    """What is wrong with a reference to a function in a Python file, without importing it."""
    import ast  # noqa: PLC0415 (only for configs with code)

    path, name = split_reference(reference, default)
    file = base / path
    if file.suffix in (".js", ".ts", ".mjs", ".cjs", ".rb"):
        return [
            (
                f"{path}: only Python files can be run yet",
                "Write it in Python: file://grader.py[:function]",
            )
        ]
    if not file.is_file():
        near = difflib.get_close_matches(file.name, [p.name for p in file.parent.glob("*.py")], n=1)
        return [
            (
                f"{path} does not exist",
                f"Did you mean '{near[0]}'?" if near else f"Looked in {file.parent}.",
            )
        ]
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        return [(f"{path} is not Python: {error}", "")]
    names = {
        n.name
        for n in tree.body
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    others = {
        alias.asname or alias.name.split(".")[0]
        for n in tree.body
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for alias in n.names
    } | {
        t.id
        for n in tree.body
        if isinstance(n, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Name)
    }
    first = name.split(".")[0]
    if first in names | others or "*" in others:
        return []
    near = difflib.get_close_matches(first, sorted(names), n=1)
    hint = (
        f"Did you mean '{near[0]}'?"
        if near
        else f"It has: {', '.join(sorted(names)) or 'no functions'}."
    )
    return [(f"{path} has no function '{name}'", hint)]
