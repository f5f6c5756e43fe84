"""Python's cycle collector, where many objects are made that stay and few cycles: there it would look in vain."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def few_collections() -> Iterator[None]:
    """Inside, the cycle collector looks seldom, and not at what is here already."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
