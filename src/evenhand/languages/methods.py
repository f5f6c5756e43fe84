"""References to methods, `file://x.py:Class.method`: static ones and class methods can be called, no others."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

HOW_TO_CALL = (
    "Write @staticmethod above it and leave out self, or name a function outside of a class."
)


def needs_object(name: str) -> str:
    """What is wrong with a method whose first parameter is `self`."""
    return f"'{name}' is a method of an object, and nothing makes one"


def is_method_of_object(tree: ast.Module, name: str) -> bool:
    """Whether a file's `Class.method` takes `self`, as far as its text says."""
    import ast  # noqa: PLC0415 (only for configs with code)

    of_class, _, method = name.partition(".")
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == of_class:
            for one in node.body:
                if (
                    isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
                    and one.name == method
                    and not one.decorator_list
                ):
                    parameters = (*one.args.posonlyargs, *one.args.args)
                    return bool(parameters) and parameters[0].arg == "self"
    return False


def takes_self(owner: object, method: str) -> bool:
    """Whether this attribute of a class wants an object of it."""
    if not inspect.isclass(owner):
        return False
    function = inspect.getattr_static(owner, method, None)
    return (
        inspect.isfunction(function)
        and next(iter(inspect.signature(function).parameters), "") == "self"
    )
