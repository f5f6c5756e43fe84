"""An HTTP answer, whole or while it comes in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from evenhand.core.provider import Answer, RateLimits
from evenhand.core.record import Record


class Headers(Mapping[str, str]):
    """An answer's headers, looked up without regard to case. Of a name that appears twice, the first value counts."""

    __slots__ = ("_raw", "_values")

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._values: dict[str, str] | None = None

    def __getitem__(self, name: str) -> str:
        return self._read()[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def get(self, name: str, default: Any = None) -> Any:  # a call less than the mixin's
        """The header of this name."""
        name = name.lower()
        if self._values is None and self._raw.lower().find(name.encode()) < 0:
            return default  # nearly all that are looked for aren't there: they need no reading
        return self._read().get(name, default)

    @property
    def status(self) -> int:
        """The status in the first line; 0 for none."""
        number = self._answer().partition(b"\r\n")[0].split(maxsplit=2)[1:2]
        return int(number[0]) if number and number[0].isdigit() else 0

    @property
    def is_whole(self) -> bool:
        """Whether the empty line at the end is there, after which only what follows a body in chunks may come."""
        if self._raw.endswith(b"\r\n\r\n"):
            return True
        answer = self._answer()
        return b"\n\r\n" in answer or b"\n\n" in answer

    def every(self, name: str) -> list[str]:
        """All headers of this name, in their order."""
        return [value for other, value in self._lines() if other == name.lower()]

    def _answer(self) -> bytes:
        """What stands last: what a proxy said, and answers like 103, come before it."""
        begin = self._raw.rfind(b"\r\n\r\nHTTP/")
        return self._raw if begin < 0 else self._raw[begin + 4 :]

    def _lines(self) -> list[tuple[str, str]]:
        lines = self._answer().decode("utf-8", "surrogateescape").split("\n")
        return [
            (name.strip().lower(), value.strip())
            for name, colon, value in (line.partition(":") for line in lines)
            if colon
        ]

    def _read(self) -> dict[str, str]:
        if self._values is None:
            # From the end on, so that the first value of a name is the one that stays.
            self._values = dict(reversed(self._lines()))
        return self._values


class HttpAnswer(Record, frozen=True):
    """What came back.

    Attributes:
        headers: Looked up without regard to case.
        latency_s: From the moment the request's first byte went out to the moment the answer's last one was read from
            the socket, whatever else was being done here.
        first_byte_s: From the same moment to the answer's first byte; where somebody listens, to that of its body.
        queued_s: How long the answer waited, once it was here, until somebody had time for it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency_s: float
    first_byte_s: float | None = None
    queued_s: float = 0.0


def answered(answer: HttpAnswer, rates: RateLimits | None = None) -> Answer:
    """An HTTP answer as that of a model.

    Args:
        rates: What its headers say of the account's limits.
    """
    return Answer(answer.body, answer.latency_s, rates, answer.first_byte_s, answer.queued_s)


class Listener(Protocol):
    """Somebody who is told of an answer while it comes in."""

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer is here."""
        ...

    def piece(self, data: bytes) -> None:
        """And some more of its body."""
        ...
