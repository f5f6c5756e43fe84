"""gevent and eventlet replace Python's threads, under which a run would wait for ever: each says so at once.

They aren't installed here. The file does to `queue` what `monkey.patch_queue()` of gevent 26.9 was seen to do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PATCHING = """
import queue

class SimpleQueue(queue.Queue):
    "Greenlets wait in it, and threads are never woken."

SimpleQueue.__module__ = "{library}.queue"
queue.SimpleQueue = SimpleQueue
"""
EVALS = """
from evenhand import Case, EvalSet

evals = EvalSet("shop", data=[{"id": "one", "input": "Hi"}])

@evals.eval
def asks(case: Case) -> str:
    return case.input
"""
SCRIPT = """
from evenhand import run
from shop import evals

run(evals, progress=False)
"""


@pytest.mark.parametrize("library", ["gevent", "eventlet"])
@pytest.mark.parametrize("words", [("-m", "evenhand", "run", "patching.py"), ("script.py",)])
def test_a_run_under_green_threads_says_why_it_cannot_be(
    tmp_path: Path, library: str, words: tuple[str, ...]
) -> None:
    """By the command line, and from a script."""
    (tmp_path / "shop.py").write_text(EVALS, "utf-8")
    patching = PATCHING.format(library=library)
    (tmp_path / "patching.py").write_text(patching + EVALS, "utf-8")
    (tmp_path / "script.py").write_text(patching + SCRIPT, "utf-8")
    done = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        env={**os.environ, "EVENHAND_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert f"{library} has replaced Python's queue" in done.stdout + done.stderr
    assert "call it over HTTP" in done.stdout + done.stderr
