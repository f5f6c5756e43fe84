"""What user code prints is kept with the trial it was printed for, and never reaches our own output.

How this works: while a run is under way, `sys.stdout` and `sys.stderr` are replaced by proxies. A proxy looks for the
sink of the current context (a context variable, so it holds across threads and tasks); with none, it passes the text
through. Only user code runs with a sink set.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

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

_capturing: ContextVar[bool] = ContextVar("evenhand_capturing", default=False)


@contextmanager
def user_code() -> Iterator[None]:
    """Inside, whatever is printed goes to the current trial's sink."""
    token = _capturing.set(True)
    try:
        yield
    finally:
        _capturing.reset(token)


class _Proxy(io.TextIOBase):
    def __init__(self, real: TextIO) -> None:
        self._real = real

    def write(self, text: str) -> int:
        sink = current.get() if _capturing.get() else None
        if sink is None:
            return self._real.write(text)
        sink.write(text)
        return len(text)

    def flush(self) -> None:
        self._real.flush()

    def isatty(self) -> bool:
        return not _capturing.get() and self._real.isatty()

    def fileno(self) -> int:
        return self._real.fileno()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] (a property serves as well)
        return self._real.encoding


@contextmanager
def captured() -> Iterator[None]:
    """Inside, what user code prints is kept; everything else goes where it always went."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Proxy(out), _Proxy(err)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
