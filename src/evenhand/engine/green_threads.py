"""Libraries that replace Python's threads with their own: under them, the event loop of a run waits for ever."""

from __future__ import annotations

import _thread
import queue
import select
import threading

from evenhand.core.errors import CodeError

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
