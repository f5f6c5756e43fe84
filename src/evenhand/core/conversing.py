"""What a model keeps from one turn of a conversation to the next, such as the folder that a program works in."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar, cast

from evenhand.core.message import Reply


class KeptBetweenTurns(Protocol):
    """What a model keeps while a conversation lasts."""

    def answered(self, reply: Reply) -> None:
        """Told each answer of the model, also one that was recorded earlier and not asked for now."""
        ...

    def close(self) -> None:
        """Lets go of it: the conversation is over."""
        ...


K = TypeVar("K", bound=KeptBetweenTurns)


class Turns:
    """The turns of one conversation, and what its models keep between them."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptBetweenTurns] = {}
        self._last: Reply | None = None

    def kept(self, name: str, make: Callable[[], K]) -> K:
        """What was kept under this name; made by the first turn that wants it, and told the last answer."""
        if name not in self._kept:
            value = self._kept[name] = make()
            if self._last is not None:
                value.answered(self._last)
        return cast("K", self._kept[name])

    @contextmanager
    def turn(self) -> Generator[None]:
        """Inside, `turns_here()` returns these turns."""
        token = _here.set(self)
        try:
            yield
        finally:
            _here.reset(token)

    def answered(self, reply: Reply) -> None:
        """Tells what is kept what the model answered."""
        self._last = reply
        for one in self._kept.values():
            one.answered(reply)

    def close(self) -> None:
        """Lets go of what was kept."""
        values, self._kept = self._kept, {}
        for one in values.values():
            one.close()


_here: ContextVar[Turns | None] = ContextVar("turns", default=None)


def turns_here() -> Turns | None:
    """The conversation in which a model is asked now; None outside of conversations."""
    return _here.get()
