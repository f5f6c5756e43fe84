"""Runs one Python file's functions in another interpreter, for `evenhand.providers.workers`. Imports nothing of ours.

A line of JSON comes in, `{"function": …, "args": […]}`, and one goes out: `{"value": …}` or `{"error": …}`, with what
was printed. Works with Python 3.8 and later.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.machinery
import importlib.util
import inspect
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NoReturn


class _Fresh(importlib.machinery.SourceFileLoader):
    """Compiles a file anew, as `engine.importing` does: this program knows nothing of Evenhand."""

    def path_stats(self, path: str) -> NoReturn:
        raise OSError(path)


def _module(path: str) -> ModuleType:
    sys.path.insert(0, os.path.dirname(path))  # noqa: PTH120
    name = os.path.basename(path)[:-3]  # noqa: PTH119
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    if type(spec.loader) is importlib.machinery.SourceFileLoader:
        spec.loader = _Fresh(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _answer(module: ModuleType, request: Any, loop: asyncio.AbstractEventLoop) -> object:
    function: Any = module
    for part in request["function"].split("."):
        function = getattr(function, part)
    value = function(*request["args"])
    return loop.run_until_complete(value) if inspect.isawaitable(value) else value


@contextlib.contextmanager
def _awaited() -> Iterator[None]:
    """Inside, a coroutine of the user's that is never awaited is an error: nothing in it has run."""
    forgotten: list[str] = []

    def note(coroutine: Any) -> None:
        if "-packages" not in coroutine.cr_code.co_filename:
            forgotten.append(coroutine.__qualname__)

    before = getattr(warnings, "_warn_unawaited_coroutine", None)
    setattr(warnings, "_warn_unawaited_coroutine", note)
    try:
        yield
    finally:
        setattr(warnings, "_warn_unawaited_coroutine", before)
    if forgotten:
        raise RuntimeError(f"{forgotten[0]}() was never awaited")


def _no_debugger(*_: object, **__: object) -> None:
    if os.environ.get("PYTHONBREAKPOINT") != "0":
        raise RuntimeError(
            "breakpoint() needs a terminal, which this process of another interpreter has not; "
            "leave out pythonExecutable and PROMPTFOO_PYTHON while you debug"
        )


def main() -> None:
    """Answers until there is nothing more to read."""
    own = os.getpid()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what is written past Python's own stdout is no answer
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nor is a question for whoever reads there
    sys.breakpointhook = _no_debugger
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    module: ModuleType | None = None
    for line in questions:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                if module is None:
                    module = _module(sys.argv[1])
                with _awaited():
                    answer: dict[str, object] = {"value": _answer(module, json.loads(line), loop)}
            text = json.dumps(answer)
        except BaseException as error:  # noqa: BLE001 (also what ends a process)
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(last.filename)}:{last.lineno}"  # noqa: PTH119
            answer = {"error": f"{type(error).__name__}: {error}".rstrip(": "), "where": where}
            text = json.dumps(answer)
        if os.getpid() != own:  # a child that the function forked, and that came back from it
            os._exit(1)
        captured = json.dumps(printed.getvalue())
        out.write(text[:-1] + ', "printed": ' + captured + "}\n")
        out.flush()


if __name__ == "__main__":
    main()
