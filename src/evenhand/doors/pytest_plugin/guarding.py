"""A guardian for pytest: a session whose tests may expect something never ends with 0 because their code ended it.

How this works: see `evenhand.engine.guardian`. Pytest's process forks before the first file that may use `expect` is
imported. It is left alone where it belongs to somebody else: a worker of xdist, whose end xdist notices, or a program
that calls `pytest.main`.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from pathlib import Path
from typing import Any

import pytest

_WORDS = re.compile(rb"\bevenhand\b|[\"']expect[\"']|\bdef\s+\w+\s*\([^)]*\bexpect\b")
"""What a file has that may use the fixture: its name as a parameter or a text. `expected` is everybody's word."""
_GUARDED: pytest.StashKey[pytest.Session] = pytest.StashKey()


def guard_for(collector: pytest.Collector) -> None:
    """Has the process guarded if the file that is about to be imported may expect something, and notes its name."""
    config = collector.config
    if not isinstance(collector, pytest.Module):
        return
    if _GUARDED not in config.stash:
        if not _may_expect(collector.path, config.rootpath) or not _is_command(config):
            return
        from evenhand.engine.guardian import guard, is_guarded

        capture: Any = config.pluginmanager.getplugin("capturemanager")
        aside = capture.global_and_fixture_disabled if capture else contextlib.nullcontext
        with aside():  # or else the guardian would have a file for stderr that nobody reads
            guard(_tell)
        if not is_guarded():
            return
        config.stash[_GUARDED] = collector.session
    note(config, f"the import of {collector.nodeid}")


def note(config: pytest.Config, what: str) -> None:
    """Notes what is running, for the guardian to name."""
    if _GUARDED in config.stash:
        from evenhand.engine.guardian import note_running

        note_running(what)


def finish(config: pytest.Config) -> None:
    """Tells the guardian that the session has ended in order, and with which exit code."""
    session = config.stash.get(_GUARDED, None)
    if session is not None:
        from evenhand.engine.guardian import finish

        finish(int(session.exitstatus))


def _may_expect(file: Path, root: Path) -> bool:
    """Whether a file of tests, or a conftest.py that counts for it, may use `expect`."""
    folders = [folder for folder in file.parents if folder == root or root in folder.parents]
    return _has_words(file) or any(_has_words(folder / "conftest.py") for folder in folders)


@functools.cache
def _has_words(file: Path) -> bool:
    try:
        text = file.read_bytes()
    except OSError:
        return False
    return _WORDS.search(text) is not None


def _is_command(config: pytest.Config) -> bool:
    """Whether this process is the command `pytest`, and this its only session."""
    if hasattr(config, "workerinput"):
        return False
    commands = sessions = 0
    frame = sys._getframe()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] (the only way to ask)
    while frame is not None:
        commands += frame.f_code.co_name in ("console_main", "_console_main")
        sessions += frame.f_code.co_name == "wrap_session"
        frame = frame.f_back
    return commands > 0 and sessions == 1


def _tell(line: str) -> None:
    from evenhand.core.wording.words import put_quietly, safe

    put_quietly(sys.stderr, f"\n{safe(line, multiline=True)}\n")
