"""Coroutines that user code never awaits: what watches for them must not get in the way of anything else."""

from __future__ import annotations

import gc
from types import FunctionType, MethodType

from evenhand.engine.strays import strays_told


def test_ctrl_c_is_not_lost_in_what_watches_garbage_being_collected():
    """An exception of a signal's handler can't be raised inside a function in C; in ours, it would only be printed."""
    before = list(gc.callbacks)
    with strays_told():
        ours = gc.callbacks[len(before) :]
        assert ours
        assert not any(isinstance(callback, (FunctionType, MethodType)) for callback in ours)
        gc.collect()
    assert gc.callbacks == before


def test_callbacks_that_user_code_removes_are_not_missed():
    """Whoever empties the list of callbacks loses only their own."""
    before = list(gc.callbacks)
    try:
        with strays_told():
            gc.callbacks.clear()
        assert gc.callbacks == []
    finally:
        gc.callbacks[:] = before
