"""Transforms: the user's code that changes an output, or variables, before anything looks at them.

Inline code is JavaScript, as in promptfoo. Python is understood, too: code that only Python reads, or that calls what
only Python has (`output.strip()`, `len(output)`), is Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.languages.javascript.references import is_reference
from evenhand.languages.javascript.references import split_reference as split_javascript
from evenhand.scorers.code_languages import ENDINGS

_PYTHON_ONLY = (
    r"\.(?:[lr]?strip|lower|upper|startswith|endswith|splitlines|title|capitalize|casefold|removeprefix|removesuffix"
    r"|format|items)\(|(?<![\w.])(?:len|str|int|float|bool|list|dict|set|sorted|sum|min|max|round|isinstance)\("
    r"|['\"]\.join\(|\bjson\.(?:loads|dumps)\(|(?<![\w.])(?:True|False|None|import|lambda|elif|not)\b"
)


def split_reference(reference: str, default: str) -> tuple[str, str]:
    """`file://a.py:fn` as the path and the name of the function; `default` where none is named."""
    if is_reference(reference):
        return split_javascript(reference)
    text = reference.removeprefix("file://")
    path, colon, name = text.rpartition(":")
    return (path, name) if colon and path.endswith((".py", *ENDINGS)) else (text, default)


@lru_cache(maxsize=1024)
def is_python(code: str) -> bool:
    """Whether inline code is Python rather than JavaScript."""
    from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs with code)
    from evenhand.scorers.python_code import python_function  # noqa: PLC0415 (only for configs with code)

    reads = bool(re.search(_PYTHON_ONLY, code))
    # Much short code can be read as either: then it is JavaScript, which is all that promptfoo knows.
    if not reads and javascript.is_javascript(code, "output", "context"):
        return False
    try:
        python_function(code)
    except CodeError:
        return False
    return True


async def transformed(
    code: str, output: object, context: Mapping[str, Any], base: Path, trial: Trial
) -> object:
    """What a transform makes of an output.

    Args:
        code: `file://transform.js[:name]`, `file://transform.py[:get_transform]`, or inline JavaScript or Python: an
            expression, or lines with a `return`, that may use `output` and `context`.
        base: The folder that paths start from.

    Raises:
        CodeError: It raised, took too long, or returned nothing.
    """
    return await _changed(code, output, context, base, trial, "output")


async def transformed_vars(
    code: str, variables: Mapping[str, Any], context: Mapping[str, Any], base: Path, trial: Trial
) -> dict[str, Any]:
    """What a `transformVars` makes of the variables: code as for `transformed`, that may use `vars` and `context`.

    Raises:
        CodeError: It raised, took too long, or returned no object.
    """
    result = await _changed(code, dict(variables), context, base, trial, "vars")
    if not isinstance(result, Mapping):
        raise CodeError(
            f"transformVars returned a {type(result).__name__}, not an object",
            hint="Return all variables: ({...vars, name: value}).",
        )
    return dict(result)


async def _changed(
    code: str, value: object, context: Mapping[str, Any], base: Path, trial: Trial, word: str
) -> object:
    from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs with code)
    from evenhand.scorers.python_code import called, python_function  # noqa: PLC0415 (only for configs with code)

    label = "transformVars" if word == "vars" else "transform"
    if is_reference(code):
        path, name = split_javascript(code)
        script = javascript.function(base / path, name)
    elif code.startswith("file://"):
        path, name = split_reference(code, "get_transform")
        label = f"{Path(path).name}:{name}"
        function = await trial.load(base / path, name)
        return _something(label, await called(trial, function, value, context, label))
    elif is_python(code):
        function = python_function(code, word)
        return _something(label, await called(trial, function, value, context, label))
    else:
        script = javascript.expression(code, word, "context", name=label)
    returned = await javascript.call(trial, script, value, context)
    if returned.kind in ("function", "symbol"):
        raise CodeError(
            f"{script.name} returned a {returned.kind}",
            hint="Write what is to be done, not a function that does it: output.trim()",
        )
    return _something(script.name, returned.value)


def _something(label: str, result: object) -> object:
    if result is None:
        raise CodeError(f"{label} returned nothing", hint="Return the output, changed or not.")
    return result
