"""Requests that the run itself makes through a library that applications use as well."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

own_request: ContextVar[bool] = ContextVar("evenhand_own_request", default=False)
"""Whether the run itself is asking, in the current context."""


@contextlib.contextmanager
def by_the_run() -> Iterator[None]:
    """Inside, what a library sends is the run's own: it is recorded already, and no application's call."""
    token = own_request.set(True)
    try:
        yield
    finally:
        own_request.reset(token)
