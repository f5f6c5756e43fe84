"""Code in a provider's settings: JavaScript as promptfoo has it, or a function of a JavaScript or Python file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from evenhand.core.errors import CodeError
from evenhand.core.provider import Host
from evenhand.languages.javascript import running as javascript
from evenhand.languages.javascript.source import function_text, is_reference, split_reference

_FUNCTION = re.compile(r"(?:async\s*)?(?:\([^)]*\)\s*=>|[\w$]+\s*=>|function\b)")
_RETURNS = re.compile(r"\breturn\b")


async def run(
    code: str, arguments: Mapping[str, object], folder: Path, host: Host, *, name: str
) -> object:
    """What the code makes of these arguments.

    Args:
        code: `file://x.js[:name]`, `file://x.py[:name]`, or JavaScript: a function, an expression, or lines with a
            `return`.
        arguments: By the names under which an expression finds them, in the order in which a function gets them.
        folder: Where paths start from.
        name: What to call it when it fails; a Python file's function is called so, too, where none is named, in
            Python's way of writing: `transform_response`.

    Raises:
        CodeError: It is not that, raised, or took too long.
    """
    if code.startswith("file://") and not is_reference(code):
        path, function = _python(code, name)
        target = await host.load(folder / path, function)
        return await host.call(target, *arguments.values(), name=f"{Path(path).name}:{function}")
    if is_reference(code):
        path, export = split_reference(code)
        script = javascript.function(folder / path, export)
    else:
        script = javascript.JavaScriptCode(
            name, function_text(_body(code, tuple(arguments)), tuple(arguments))
        )
    return (await javascript.call(host, script, *arguments.values())).value


def files_in(code: str, folder: Path) -> list[Path]:
    """The file that the code is in, if it is in one."""
    if not code.startswith("file://"):
        return []
    return [folder / (split_reference(code) if is_reference(code) else _split(code))[0]]


def _body(code: str, parameters: tuple[str, ...]) -> str:
    text = code.strip().rstrip(";")
    if _FUNCTION.match(text):
        return f"return ({text})({', '.join(parameters)});"
    return code if _RETURNS.search(text) else f"return ({text});"


def _python(code: str, name: str) -> tuple[str, str]:
    path, function = _split(code)
    if not path.endswith(".py"):
        raise CodeError(
            f"{name} is in {path}, which is neither JavaScript nor Python",
            hint="Write file://transform.js or file://transform.py:<function>.",
        )
    return path, function or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _split(code: str) -> tuple[str, str]:
    text = code.removeprefix("file://")
    path, colon, function = text.rpartition(":")
    return (path, function) if colon and path.endswith(".py") else (text, "")
