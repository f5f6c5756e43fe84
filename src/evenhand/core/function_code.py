"""The code of a user's function or class, as a digest: whether it is what it was in another run.

What counts is what the code does, with the functions and constants of its module that it names; comments, layout and
docstrings don't. What it calls in other modules isn't looked at. Python compiles code to something else in each of its
versions, so digests of different versions say nothing of each other; each begins with its version.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import cast

from evenhand.core.encoding import digest

LETTERS = 8
"""Of a digest: enough to tell two from each other, and short where there are many."""
_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


def code_digest(function: Callable[..., object]) -> str:
    """A digest of what a function's code does, after the version of Python; empty where there is no code."""
    plain = _function_in(function)
    return "" if plain is None else _digest_of_code(plain.__code__, _Globals(plain))


class _Globals:
    """A function's module, for a cache: equal to that of another function of the same module."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function

    def __hash__(self) -> int:
        return id(self.function.__globals__)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Globals) and other.function.__globals__ is self.function.__globals__
        )


@lru_cache(maxsize=256)
def _digest_of_code(code: CodeType, module: _Globals) -> str:
    del code  # the function's own
    return f"{_PYTHON}:{digest(*_code_parts(module.function, set()))[:LETTERS]}"


def _function_in(target: object) -> FunctionType | None:
    """The function of Python's behind whatever can be called; None where there is none."""
    # A chain of wrappers could lead back to its beginning.
    for _ in range(10):
        if isinstance(target, FunctionType):
            wrapped = getattr(target, "__wrapped__", None)
            if not isinstance(wrapped, FunctionType):
                return target
            target = wrapped
            continue
        target = (
            getattr(target, "func", None)
            or getattr(target, "__func__", None)
            or getattr(type(target), "__call__", None)  # noqa: B004 (its code is wanted)
        )
    return None


def values_of(target: object) -> list[str]:
    """What a function was given when it was made, as far as it is plain values: constants around it, and defaults."""
    values: list[object] = []
    if not isinstance(target, FunctionType):
        values += [*getattr(target, "args", ()), *getattr(target, "keywords", {}).values()]
    plain = _function_in(target)
    if plain is not None:
        values += [*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()]
        for cell in plain.__closure__ or ():
            try:
                values.append(cell.cell_contents)
            except ValueError:  # not filled yet
                continue
    return [repr(value) for value in values if _is_constant(value)]


def class_digest(kind: type) -> str:
    """A digest of what a class does, without what it inherits; empty for one without code or constants."""
    parts: list[str] = []
    known: set[CodeType] = set()
    for name, member in sorted(vars(kind).items()):
        if name.startswith("__") and name != "__init__":
            continue
        plain = getattr(member, "__func__", member)
        if isinstance(plain, FunctionType):
            parts += [name, *_code_parts(plain, known)]
        elif _is_constant(plain):
            parts += [name, repr(plain)]
    return f"{_PYTHON}:{digest(*parts)[:LETTERS]}" if parts else ""


def _code_parts(function: FunctionType, known: set[CodeType]) -> Iterator[str]:
    """What a function is made of: its code, and what it names in its own module."""
    code = function.__code__
    if code in known:
        return
    known.add(code)
    yield from _of_code(code, function.__doc__)
    for name in sorted(_names_in(code)):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            yield name
            yield from _code_parts(value, known)
        elif name.isupper() and _is_constant(value):
            yield f"{name}={value!r}"


def _of_code(code: CodeType, doc: str | None) -> Iterator[str]:
    yield code.co_code.hex()
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = constant.co_consts[0] if constant.co_consts else None
            yield from _of_code(constant, inner if isinstance(inner, str) else None)
        # Its order changes from run to run, with the hashes of texts.
        elif isinstance(constant, frozenset):
            yield repr(sorted(map(repr, cast("frozenset[object]", constant))))
        elif constant is not None and (doc is None or constant != doc):
            yield repr(constant)


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names


def _is_constant(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_constant, cast("tuple[object, ...]", value)))
    return isinstance(value, str | int | float | bool | re.Pattern)
