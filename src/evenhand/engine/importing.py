"""How users' files are imported: compiled anew, within a time limit, and with their own folders looked into first.

How this works: two folders may each have a `prompts.py`, and Python knows modules by their plain names alone. So before
a file is imported, its folders go to the front of `sys.path`, and modules that files of other folders imported under a
name that is in these folders, too, are forgotten. Who has imported one keeps it.
"""

from __future__ import annotations

import _thread
import contextlib
import queue
import select
import signal
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import FrameType, ModuleType
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
def within_limit() -> Iterator[None]:
    """Inside, users' code is imported; what runs for too long is broken off, in the main thread.

    Raises:
        CodeError: It took longer, or replaced Python's threads.
    """
    if threading.current_thread() is not threading.main_thread() or _taken():
        yield
        refuse_green_threads()
        return

    def over(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise CodeError(
            f"it took longer than {LIMIT_S:g} s to import and was given up",
            hint="Move what takes long into a fixture or an eval.",
        )

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    refuse_green_threads()


def _taken() -> bool:
    """Whether somebody else uses the alarm: a test runner's time limit, or an import around this one."""
    return signal.getsignal(signal.SIGALRM) != signal.SIG_DFL


_folders: set[Path] = set()
"""Where files were imported from. Only what comes from these is ever set aside."""


def look_first_in(*folders: Path, then: Path | None = None) -> None:
    """Lets imports look into these folders before all others, the first of them first.

    Args:
        then: After them; what was imported from there is its own, and never set aside.
    """
    own = (*folders, then) if then else folders
    for folder in reversed(own):
        if folder in folders:
            _set_aside(folder, own)
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        sys.path.insert(0, str(folder))


def _set_aside(folder: Path, own: tuple[Path, ...]) -> None:
    """Forgets what files of folders that are not our own imported from beside them under a name that `folder` has."""
    _folders.add(folder)
    names = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/*.py")
    }
    for name in names & sys.modules.keys():
        home = _home(sys.modules[name])
        if home in _folders and home not in own:
            for known in [k for k in sys.modules if k == name or k.startswith(f"{name}.")]:
                del sys.modules[known]


def _home(module: ModuleType) -> Path | None:
    """The folder that a module or a package lies in."""
    inside = list(getattr(module, "__path__", ()))
    file = inside[0] if inside else getattr(module, "__file__", None)
    return Path(file).resolve().parent if file else None


_PATCHED = {
    "threading": lambda: threading.get_ident,
    "_thread": lambda: _thread.start_new_thread,
    "queue": lambda: queue.SimpleQueue,
    "select": lambda: select.select,
}
_LIBRARIES = ("gevent", "eventlet")


def refuse_green_threads() -> None:
    """Does nothing where Python's threads are its own.

    Raises:
        CodeError: gevent or eventlet has replaced them.
    """
    for what, value in _PATCHED.items():
        library = str(getattr(value(), "__module__", "")).partition(".")[0]
        if library in _LIBRARIES:
            raise CodeError(
                f"{library} has replaced Python's {what}, with which no run can go on",
                hint="Don't patch in the process of the evals: start the application by itself, and call it over "
                "HTTP. Patching sockets alone does no harm: monkey.patch_socket().",
            )
