"""What one trial has under its hand, for all the tasks and threads that work for it.

How this works: a context variable holds a dict. Threads that run a trial's functions have a copy of its context, and so
the same dict: what a fixture puts there in one thread, the eval finds in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from evenhand.core.errors import UsageError


class MadeOnce(dict[object, Any]):
    """Things by what they were made for.

    Attributes:
        trial: Whether it belongs to a trial of a run, rather than to a script or a test of its own.
        waits: Says whether some function of the trial is async.
    """

    trial = False
    waits: Callable[[], bool] = staticmethod(lambda: False)


_kept: ContextVar[MadeOnce | None] = ContextVar("evenhand_kept", default=None)


@contextmanager
def one_trial(waits: Callable[[], bool]) -> Iterator[None]:
    """Inside, what is kept belongs to this trial alone."""
    here = MadeOnce()
    here.trial, here.waits = True, waits
    token = _kept.set(here)
    try:
        yield
    finally:
        _kept.reset(token)


@contextmanager
def kept() -> Iterator[MadeOnce]:
    """What is kept here; outside of a trial, a copy for this block, which tasks beside it do not see."""
    outer = _kept.get()
    if outer is not None and outer.trial:
        yield outer
        return
    _kept.set(here := MadeOnce(outer or {}))
    try:
        yield here
    finally:
        _kept.set(outer)


def peek(key: object) -> Any:
    """What is kept for this, or None."""
    held = _kept.get()
    return held.get(key) if held else None


def holder() -> object:
    """Who holds what is taken here: the trial; outside of one, somebody new."""
    held = _kept.get()
    return held if held is not None and held.trial else object()


def must_be_alone() -> bool:
    """Whether what is opened here with a plain `with` has to have its database for itself.

    An async function that calls a plain driver keeps the loop waiting. If that waits for a lock that another trial
    holds, the other one never gets to let it go.
    """
    held = _kept.get()
    return held is not None and held.waits()


@contextmanager
def claimed(key: object, name: str) -> Iterator[None]:
    """Inside, nobody else in this trial can claim it.

    Raises:
        UsageError: It is claimed already. It would wait for itself.
    """
    with kept() as here:
        if key in here:
            raise UsageError(
                f"{name} is rolled back in this trial already",
                hint="Ask for the fixture that does it, instead of doing it again.",
            )
        here[key] = True
        try:
            yield
        finally:
            del here[key]
