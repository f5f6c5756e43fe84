"""Transforms: the user's code that changes an output before it is looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.scorers.code import called, python_function

_JAVASCRIPT = re.compile(
    r"JSON\.|=>|\bconst\b|\blet\b|\bvar\b|===|!==|\.(trim|toUpperCase|toLowerCase|includes|length|match|test|slice|substring)\b(?!\s*=)|\bnew\b|&&|\|\||;\s*$|\?\.",
    re.MULTILINE,
)


def split_reference(reference: str, default: str) -> tuple[str, str]:
    """`file://a.py:fn` as the path and the name of the function; `default` where none is named."""
    text = reference.removeprefix("file://")
    path, colon, name = text.rpartition(":")
    return (path, name) if colon and path.endswith(".py") else (text, default)


def looks_like_javascript(code: str) -> bool:
    """Whether inline code is JavaScript rather than Python, as far as can be told from the look of it."""
    return bool(_JAVASCRIPT.search(code))


async def transformed(
    code: str, output: object, context: Mapping[str, Any], base: Path, trial: Trial
) -> object:
    """What a transform makes of an output.

    Args:
        code: `file://transform.py[:get_transform]`, or Python: an expression, or lines with a `return`, that may use
            `output` and `context`.
        base: The folder that paths start from.

    Raises:
        CodeError: It raised, took too long, or returned nothing.
    """
    if code.startswith("file://"):
        path, name = split_reference(code, "get_transform")
        file = base / path
        function = await trial.load(file, name)
        label = f"{file.name}:{name}"
    else:
        function, label = python_function(code), "transform"
    result = await called(trial, function, output, context, label)
    if result is None:
        raise CodeError(f"{label} returned nothing", hint="Return the output, changed or not.")
    return result
