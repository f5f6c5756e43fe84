"""Tests that a program makes: a function of a Python or JavaScript file, called once, when the config is read.

Functions in what a JavaScript file exports stay where they are, as those of a config in JavaScript do: they are read as
references, `file://tests.js:config().0.assert.0.value`, or `config(name)` of a named export, with the settings that it
was called with. That takes Node.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar, cast

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import EvenhandError
from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.provider import Host
from evenhand.doors.assertions.code_files import called_in_file, file_problems
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.javascript.references import made_by

T = TypeVar("T")
_PROGRAM = re.compile(r"(?P<path>.+\.(?:py|js|mjs|cjs|ts|mts|cts))(?::(?P<name>[\w.]+))?")


def is_program(name: str) -> bool:
    """Whether a path of tests names a program."""
    return bool(_PROGRAM.fullmatch(name))


def generated(
    name: str, settings: object, base: Path, place: Place, findings: Findings
) -> tuple[Path, list[object]] | None:
    """The file, and the tests that its function returns; None, and a problem, where it returns none.

    Args:
        name: `tests.py`, whose function is called `generate_tests`, `tests.py:function`, or the same in JavaScript.
        settings: What the function is given; None for nothing.
    """
    match = _PROGRAM.fullmatch(name)
    assert match is not None  # noqa: S101 (see is_program)
    path, python = base / match["path"], match["path"].endswith(".py")
    export = match["name"] or ""
    # With Node, the tests may have functions in them, which stay in the file and are called there.
    from evenhand.languages.javascript.node import found_node  # noqa: PLC0415 (only for programs)

    keeps = not python and "." not in export and bool(found_node())
    maker = made_by(export, settings)
    function = match["name"] or ("generate_tests" if python else "")
    wrong = file_problems(f"file://{name}", base, function)
    for what, hint in wrong:
        findings.problem(place, what, hint)
    if wrong:
        return None
    source = f"{path.name}:{function}" if function else path.name
    try:
        result = decode(
            encode(
                called_now(path, maker)
                if keeps
                else called_now(path, function, () if settings is None else (settings,)),
                ordered=False,
            )
        )
    except EvenhandError as error:
        what = (
            error.message
            if error.message.startswith(f"{source}:")
            else f"{source}: {error.message}"
        )
        findings.problem(place, what, error.hint)
        return None
    except (TypeError, ValueError) as error:
        findings.problem(place, f"{source} returned what JSON has no form for: {error}")
        return None
    if not isinstance(result, list):
        findings.problem(place, f"{source} returned a {type(result).__name__}, not a list of tests")
        return None
    begins = f"file://{path.name}:{maker}."
    return path, cast(
        "list[object]", _from_base(result, begins, match["path"]) if keeps else result
    )


def _from_base(value: object, begins: str, path: str) -> object:
    """A value, its references to functions of the program as they are written in the config's folder."""
    if isinstance(value, str) and value.startswith(begins):
        return f"file://{path}:{value[value.index(':config(') + 1 :]}"
    if is_object(value):
        items = value.items()
        return {key: _from_base(one, begins, path) for key, one in items}
    if is_array(value):
        return [_from_base(one, begins, path) for one in value]
    return value


def called_now(path: Path, name: str, args: Sequence[object] = ()) -> object:
    """What a function of the user's returns, outside of any run: in a host of its own, with its time limit.

    Raises:
        CodeError: It cannot be loaded, raised, or took too long.
    """
    return outside_of_trials(lambda host: called_in_file(host, path, name, *args))


def outside_of_trials(call: Callable[[Host], Awaitable[T]], limit_s: float | None = None) -> T:
    """What code of the user's comes to that is called before or after all trials, in a host of its own.

    Args:
        limit_s: Seconds that one call may take; None for the usual.
    """
    from evenhand.engine.code import CodeHost  # noqa: PLC0415 (only for programs)
    from evenhand.engine.door import waited_for  # noqa: PLC0415 (imported on use)

    async def called() -> T:
        host = CodeHost() if limit_s is None else CodeHost(limit_s)
        with host.open():
            return await call(host)

    with contextlib.redirect_stdout(sys.stderr):  # what it prints is no result
        return waited_for(called())
