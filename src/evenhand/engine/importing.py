"""How users' files are imported: compiled anew, and within a time limit where nothing else can end them."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import FrameType
from typing import NoReturn

from evenhand.core.errors import CodeError

LIMIT_S = 300.0
"""For one file: libraries that load models take their time."""


class _FreshLoader(SourceFileLoader):
    """Compiles a file anew: Python would run what it has cached of a file that was saved twice within a second."""

    def path_stats(self, path: str) -> NoReturn:
        """Says that there is nothing to go by, so that no bytecode is read or written."""
        raise OSError(path)


def fresh_spec(name: str, path: Path) -> ModuleSpec | None:
    """How to import a file under this name, compiled anew; None where its ending is of nothing that Python imports."""
    spec = spec_from_file_location(name, path)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = _FreshLoader(name, str(path))
    return spec


@contextlib.contextmanager
def within_limit(limit_s: float | None = None) -> Iterator[None]:
    """Inside, code that runs for too long is broken off. There is no limit but in the main thread.

    Args:
        limit_s: Seconds; by default LIMIT_S.

    Raises:
        CodeError: It took longer.
    """
    seconds = LIMIT_S if limit_s is None else limit_s
    if threading.current_thread() is not threading.main_thread() or _taken():
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise CodeError(
            f"it took longer than {seconds:g} s to import and was given up",
            hint="Move what takes long into a fixture or an eval.",
        )

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _taken() -> bool:
    """Whether somebody else uses the alarm: a test runner's time limit, or an import around this one."""
    return signal.getsignal(signal.SIGALRM) != signal.SIG_DFL
