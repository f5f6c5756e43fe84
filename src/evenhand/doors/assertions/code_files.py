"""Files of the user's code: what can be seen before one runs, and the call of a function of one."""

from __future__ import annotations

import sys
from pathlib import Path

from evenhand.core.names import did_you_mean
from evenhand.core.provider import Host
from evenhand.doors.assertions.transform import is_python, split_reference
from evenhand.languages.javascript.references import ENDINGS, is_reference
from evenhand.languages.methods import HOW_TO_CALL, is_method_of_object, needs_object
from evenhand.scorers.code_languages import language_of


def transform_problems(code: str, base: Path) -> list[tuple[str, str]]:
    """What is wrong with a transform, as far as can be seen before it runs."""
    if code.startswith("file://"):
        return file_problems(code, base, "get_transform")
    if is_python(code):
        return []
    from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs with code)

    return javascript.problems(javascript.expression(code, "output", "context", name="transform"))


def file_problems(reference: str, base: Path, default: str) -> list[tuple[str, str]]:
    """What is wrong with a reference to a function in a file of JavaScript or Python, without running it."""
    import ast  # noqa: PLC0415 (only for configs with code)

    path, name = split_reference(reference, default)
    file = base / path
    if is_reference(reference):
        from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs with code)

        return javascript.problems(javascript.function(file, name))
    language = language_of(path)
    if language is not None:
        return [
            (
                f"{path}: only assertions can be {language.name} files",
                "Write it in Python or JavaScript: file://code.py[:function]",
            )
        ]
    if not file.is_file():
        beside = [p.name for p in file.parent.glob("*.py")]
        hint = did_you_mean(file.name, beside, f"Looked in {file.parent}.")
        return [(f"{path} does not exist", hint)]
    if file.suffix != ".py":
        endings = ", ".join(sorted({".py", *ENDINGS}))
        return [
            (f"{path} is neither Python nor JavaScript, by its ending", f"These are: {endings}.")
        ]
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        version = ".".join(map(str, sys.version_info[:2]))
        hint = f"This is Python {version}: a file that is written for a later version needs that version."
        return [(f"{path} is not Python: {error}", hint if isinstance(error, SyntaxError) else "")]
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
    if is_method_of_object(tree, name):
        return [(f"{path}: {needs_object(name)}", HOW_TO_CALL)]
    first = name.split(".")[0]
    # A star import may bring along any name.
    if first in names | others or "*" in others:
        return []
    hint = did_you_mean(first, names, f"It has: {', '.join(sorted(names)) or 'no functions'}.")
    return [(f"{path} has no function '{name}'", hint)]


async def called_in_file(host: Host, file: Path, name: str, *args: object) -> object:
    """What a function of a file of JavaScript or Python returns.

    Raises:
        CodeError: It cannot be loaded, raised, or took too long.
    """
    if file.suffix == ".py":
        function = await host.load(file, name)
        return await host.call(function, *args, name=f"{file.name}:{name}")
    from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs with code)

    return (await javascript.call(host, javascript.function(file, name), *args)).value
