"""What user code prints is kept with the trial it was printed for, and never reaches our own output.

How this works: while a run is under way, `sys.stdout` and `sys.stderr` are replaced by proxies. A proxy looks for the
sink of the current context (a context variable, so it holds across threads and tasks); with none, it passes the text
through. Only user code runs with a sink set. A thread that user code starts has no context: whose trial it prints for
nobody knows, so it goes to stderr, as stdout is for results.
"""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

LIMIT = 4096


class Sink:
    """Keeps the first 4 KB that were printed."""

    __slots__ = ("_parts", "_size", "label")

    def __init__(self, label: str = "") -> None:
        self.label = label
        self._parts: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        """Adds text; what goes past the limit is dropped."""
        if self._size < LIMIT:
            self._parts.append(text[: LIMIT - self._size])
        self._size += len(text)

    def text(self) -> str:
        """What was printed, with a note where some of it was dropped."""
        if not self._parts:
            return ""
        dropped = self._size - LIMIT
        return "".join(self._parts) + (f"\n… and {dropped} characters more" if dropped > 0 else "")


current: ContextVar[Sink | None] = ContextVar("evenhand_sink", default=None)
"""The sink of the trial for which code is running."""

_call: ContextVar[object] = ContextVar("evenhand_call", default=None)
"""The call of the user's code that is under way; None where what runs is our own."""
_ends: dict[object, Callable[[], None]] = {}


debugged: set[object] = set()
"""The calls in which a debugger is open: what they print is kept, and shown as well."""


@contextmanager
def user_code() -> Iterator[None]:
    """Inside, whatever is printed goes to the current trial's sink."""
    call = object()
    token = _call.set(call)
    try:
        yield
    finally:
        _call.reset(token)
        if _ends and (end := _ends.pop(call, None)) is not None:
            end()


@contextmanager
def outside_of_user_code() -> Iterator[None]:
    """Inside, what is printed goes where it always went, though the user's code called it."""
    token = _call.set(None)
    try:
        yield
    finally:
        _call.reset(token)


def in_user_code() -> bool:
    """Whether the code that asks was called by the user's."""
    return _call.get() is not None


def call_under_way() -> object:
    """The call of the user's code in which this is asked; None for none."""
    return _call.get()


def when_call_ends(call: object, end: Callable[[], None]) -> None:
    """Has this called, in the call's own thread, when a call of the user's code is over."""
    _ends[call] = end


class _Proxy(io.TextIOBase):
    def __init__(self, real: TextIO, elsewhere: TextIO) -> None:
        self._real = real
        self._elsewhere = elsewhere  # for threads that are not ours
        self._home = threading.get_ident()

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] (users' code is not type-checked)
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        sink = current.get() if in_user_code() else None
        if sink is None:
            ours = threading.get_ident() == self._home
            return (self._real if ours else self._elsewhere).write(text)
        sink.write(text)
        if debugged and _call.get() in debugged:
            self._elsewhere.write(text)
        return len(text)

    def flush(self) -> None:
        self._real.flush()

    def close(self) -> None:
        """Nothing: whoever closes this one means their own."""

    def writable(self) -> bool:
        return True

    def reconfigure(self, **_: Any) -> None:
        """Nothing: scripts ask for UTF-8 here, which text that is kept as it is does not need."""

    @property
    def buffer(self) -> io.RawIOBase:
        return _Bytes(self)

    @property
    def errors(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride] (a property serves as well)
        return self._real.errors

    def isatty(self) -> bool:
        return not in_user_code() and self._real.isatty()

    def fileno(self) -> int:
        return self._real.fileno()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] (a property serves as well)
        return self._real.encoding


class _Bytes(io.RawIOBase):
    """Takes the same text as UTF-8."""

    def __init__(self, text: _Proxy) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # what RawIOBase takes has no name in Python 3.11
        raw = bytes(data)
        self._text.write(raw.decode("utf-8", "replace"))
        return len(raw)


@contextmanager
def captured() -> Iterator[None]:
    """Inside, what user code prints is kept; everything else goes where it always went."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Proxy(out, err), _Proxy(err, err)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
