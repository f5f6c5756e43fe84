"""Variables that the user's code computes: `file://value.js` and `file://value.py`.

JavaScript exports a function of (name, prompt, variables, provider), Python has `get_var(name, prompt, variables)`;
either returns an object with `output`, or with `error`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from evenhand.assertions.transform import split_reference
from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.javascript import running as javascript
from evenhand.javascript.source import is_reference
from evenhand.scorers.code import plain_copy


def is_code(reference: object) -> bool:
    """Whether a variable's value names a file of code."""
    if not isinstance(reference, str) or not reference.startswith("file://"):
        return False
    return is_reference(reference) or split_reference(reference, "")[0].endswith(".py")


async def computed(
    variables: Mapping[str, Any],
    names: Iterable[str],
    prompt: str,
    provider: Mapping[str, str],
    base: Path,
    trial: Trial,
) -> Mapping[str, Any]:
    """The variables, with those of these names that are code computed, one after the other.

    Args:
        prompt: The prompt's text, its tags not yet filled in.
        provider: The `id` and `label` of the model that is asked.
        base: The folder that paths start from.

    Raises:
        CodeError: It raised, took too long, answered with an error, or without an output.
    """
    found = dict(variables)
    for name in names:
        if not is_code(found[name]):
            continue
        path, function = split_reference(found[name], "get_var")
        label = f"{Path(path).name}:{function}".removesuffix(":")
        given = plain_copy(dict(found))
        if is_reference(found[name]):
            script = javascript.function(base / path, function)
            result = (
                await javascript.call(trial, script, name, prompt, given, dict(provider))
            ).value
        else:
            get_var = await trial.load(base / path, function)
            result = await trial.call(get_var, name, prompt, given, name=label)
        found[name] = _output(result, label)
    return found


def _output(result: object, label: str) -> object:
    fields = cast("Mapping[str, object]", result) if isinstance(result, Mapping) else {}
    if fields.get("error"):
        raise CodeError(f"{label} answered with an error: {fields['error']}")
    output = fields.get("output")
    if output is None:
        raise CodeError(
            f"{label} answered without an output",
            hint="Return an object: {output: …}, or {error: …}.",
        )
    return output.strip() if isinstance(output, str) else output
