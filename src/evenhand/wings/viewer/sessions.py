"""Who is signed in: sessions that live in this process alone, and end with it; and how often a sign-in may fail."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

SESSION_S = 12 * 3600.0
SIGN_IN_S = 600.0
MOST = 10_000
"""Sessions, and sign-ins under way: the oldest makes room, so that nobody can fill the memory."""
FAILURES = 20
FAILURES_S = 300.0
T = TypeVar("T")


class Expiring(Generic[T]):
    """Values under names that nobody can guess, for a while.

    Args:
        seconds: How long each is kept.
        clock: The time in seconds; for tests.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._values: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def keep(self, value: T) -> str:
        """Keeps a value; its name."""
        now = self._clock()
        while self._values and (len(self._values) >= MOST or self._first_until() <= now):
            self._values.popitem(last=False)
        name = secrets.token_urlsafe(32)
        self._values[name] = (now + self._seconds, value)
        return name

    def get(self, name: str) -> T | None:
        """The value of this name; None where there is none any more."""
        until, value = self._values.get(name, (0.0, None))
        return value if self._clock() < until else None

    def take(self, name: str) -> T | None:
        """The value of this name, which is none afterwards."""
        value = self.get(name)
        self._values.pop(name, None)
        return value

    def _first_until(self) -> float:
        return next(iter(self._values.values()))[0]


class Failures:
    """Counts failed sign-ins, each address for itself.

    Args:
        clock: The time in seconds; for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def too_many(self, address: str) -> bool:
        """Whether so many failed from here that no other is tried for now."""
        since, count = self._counts.get(address, (0.0, 0))
        return count >= FAILURES and self._clock() < since + FAILURES_S

    def add(self, address: str) -> None:
        """Counts one."""
        now = self._clock()
        since, count = self._counts.pop(address, (now, 0))
        if now >= since + FAILURES_S:
            since, count = now, 0
        self._counts[address] = (since, count + 1)
        if len(self._counts) > MOST:
            self._counts.popitem(last=False)
