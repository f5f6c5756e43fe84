"""Takes answers out of the cache that hold no verdict: a later run asks again, rather than repeating the error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from evenhand.core.errors import JudgeError

_cached: ContextVar[list[Callable[[], None]] | None] = ContextVar("_cached", default=None)


@contextmanager
def forgotten_if_unusable() -> Iterator[None]:
    """Inside, a JudgeError takes all answers out of the cache that were asked for. The run's record keeps them.

    Where one of these is inside another, the outer one covers all answers: each may be readable, while together they
    lack a verdict.
    """
    outer, answers = _cached.get(), list[Callable[[], None]]()
    token = _cached.set(answers)
    try:
        yield
        if outer is not None:
            outer.extend(answers)
    except JudgeError:
        for forget in answers:
            forget()
        raise
    finally:
        _cached.reset(token)


def note_cached(forget: Callable[[], None]) -> None:
    """Notes how an answer is taken out of the cache, should it turn out to be unusable."""
    answers = _cached.get()
    if answers is not None:
        answers.append(forget)
