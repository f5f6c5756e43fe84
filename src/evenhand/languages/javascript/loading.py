"""Whether a file that needs Node can be loaded: found out before anything is paid, by loading it once.

TypeScript is more than can be seen from outside: what it imports, and what of the language this Node can run. The file
is loaded in a process of its own, nothing in it is called, and the process is ended.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import subprocess
import threading
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path

from evenhand.core.errors import CodeError
from evenhand.languages.javascript.engine import code_error
from evenhand.languages.javascript.node import command_of, found_node, too_old
from evenhand.languages.javascript.wire import as_json

PATIENCE_S = 15.0
"""Seconds that loading may take; of a file that takes longer, nothing is said."""


def load_problem(path: Path, export: str, *, provider: bool = False) -> CodeError | None:
    """Why a file can't be loaded, or exports no such function; None where it can.

    Args:
        export: What it is to export; empty for its default export.
        provider: It may export a class or an object, which is made only when it is asked.
    """
    return _load_problem(
        found_node(), path.absolute(), path.stat().st_mtime_ns, export, provider=provider
    )


@lru_cache(maxsize=1024)
def _load_problem(
    node: str, path: Path, changed: int, export: str, *, provider: bool
) -> CodeError | None:
    del changed  # for the cache
    word = secrets.token_hex(8)
    call = {"id": 1, "only": "load", "file": str(path), "name": export, "provider": provider}
    with contextlib.ExitStack() as opened:
        room = files("evenhand.languages.javascript")
        scripts = [
            str(opened.enter_context(as_file(room / name)))
            for name in ("worker.mjs", "kit.js", "typescript.mjs")
        ]
        try:
            process = subprocess.Popen(  # noqa: S603 (the user's own Node)
                command_of(node, word, *scripts),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            return CodeError(f"{node} cannot be started: {error}")
        with process:
            limit = threading.Timer(PATIENCE_S, process.kill)
            limit.start()
            try:
                assert process.stdin is not None  # noqa: S101 (a pipe, as above)
                assert process.stdout is not None  # noqa: S101
                with contextlib.suppress(OSError):  # it has ended: its last words say why
                    process.stdin.write(as_json({**call, "args": []}).encode() + b"\n")
                    process.stdin.flush()
                for line in process.stdout:
                    # The file printed it while it was loaded.
                    if not line.startswith(word.encode()):
                        continue
                    answer = json.loads(line[len(word) :])
                    answer = answer.get("uncaught") or answer
                    if "error" in answer:
                        return code_error(answer["error"], answer["stack"], path)
                    if "kind" in answer:
                        return None
                if limit.is_alive():  # it was not ended from here
                    code = process.wait()
                    return too_old(node, code) or CodeError(
                        f"loading it ended Node (exit code {code})"
                    )
            finally:
                limit.cancel()
                process.kill()
    return None
