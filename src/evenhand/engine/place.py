"""Which code is the user's, and which line of it is running."""

from __future__ import annotations

import asyncio
import inspect
import os
from pathlib import Path
from types import FrameType

OURS = f"{Path(__file__).parent.parent}{os.sep}"
"""How the paths of our own code begin."""
_PYTHONS = f"{Path(os.__file__).parent}{os.sep}"
_INSTALLED = ("site-packages", "dist-packages")


def is_users(file: str) -> bool:
    """Whether a code object's file is the user's: neither Python's, nor an installed package's, nor ours.

    Code that was typed in a notebook, or that stands in a config, is the user's.
    """
    if file.startswith((OURS, _PYTHONS, "<frozen", "<string>")):  # <string>: what dataclasses write
        return False
    return not is_installed(file)


def is_installed(file: str) -> bool:
    """Whether a code object's file is an installed package's."""
    return any(folder in file for folder in _INSTALLED)


def is_out(frame: FrameType | None) -> bool:
    """Whether a frame is one of ours, or of what we called, and none of the user's code or of what that called."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith(OURS):
            return True
        frame = frame.f_back
    return frame is None


def users_line() -> str:
    """The innermost line of the user's code that led here, as `file:line`; empty where there is none."""
    frame = inspect.currentframe()
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def is_loop_here() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
