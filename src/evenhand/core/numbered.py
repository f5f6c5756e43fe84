"""Texts by number: they lie one behind the other in one block of bytes, and are found by hash.

For a million ids that is a fifth of the memory that a dict of them takes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

_FEWEST = 64
_WRITTEN = "utf-8", "surrogatepass"


class PackedTexts:
    """Texts in the order in which they came, numbered from 0."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ends = array("Q", (0,))

    def add(self, text: str) -> None:
        """Puts one behind the others."""
        self._data += text.encode(*_WRITTEN)
        self._ends.append(len(self._data))

    def packed(self, number: int) -> bytearray:
        """The bytes of the text with this number."""
        return self._data[self._ends[number] : self._ends[number + 1]]

    def __getitem__(self, number: int) -> str:
        return self.packed(number).decode(*_WRITTEN)

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def __len__(self) -> int:
        return len(self._ends) - 1


class NumberedTexts(PackedTexts):
    """Different texts, numbered from 0 as they are first met."""

    def __init__(self) -> None:
        super().__init__()
        self._by_hash = HashedNumbers()
        self._last = "", -1

    def number(self, text: str) -> int:
        """The number of this text; one that was not met before has the next."""
        # Trials of one case come one after the other: most look-ups are of the text before.
        # An empty text is equal to the initial one, which has no number.
        if text == self._last[0] and self._last[1] >= 0:
            return self._last[1]
        number = self.find(text)
        if number < 0:
            number = len(self)
            self.add(text)
            self._by_hash.add(hash(text), number)
        self._last = text, number
        return number

    def find(self, text: str) -> int:
        """The number of this text; −1 where it was not met."""
        for number in self._by_hash.of(hash(text)):
            if self[number] == text:
                return number
        return -1


class HashedNumbers:
    """Numbers from 0 up, by the hash of what each stands for: a table with open addressing.

    What has another text may have the same hash: who asks looks at the texts of the numbers that come back.
    """

    def __init__(self) -> None:
        self._size = 0
        self._hashes = array("q", bytes(8 * _FEWEST))
        self._numbers = array("I", bytes(4 * _FEWEST))
        """Each one more than the number; 0 where the slot is free."""

    def __len__(self) -> int:
        return self._size

    def add(self, hashed: int, number: int) -> None:
        """Puts a number under a hash, beside those that it has."""
        # Open addressing slows down steeply beyond two thirds full, and never ends when it is full.
        if 3 * self._size >= 2 * len(self._numbers):
            self._grow()
        self._put(hashed, number + 1)
        self._size += 1

    def put(self, hashed: int, number: int) -> None:
        """Puts a number under a hash, in place of the one that it has."""
        numbers = self._numbers
        mask = len(numbers) - 1
        slot = hashed & mask
        while numbers[slot]:
            if self._hashes[slot] == hashed:
                numbers[slot] = number + 1
                return
            slot = (slot + 1) & mask
        self.add(hashed, number)

    def of(self, hashed: int) -> Iterator[int]:
        """The numbers under a hash, in any order."""
        hashes, numbers = self._hashes, self._numbers
        mask = len(numbers) - 1
        slot = hashed & mask
        while numbers[slot]:
            if hashes[slot] == hashed:
                yield numbers[slot] - 1
            slot = (slot + 1) & mask

    def _put(self, hashed: int, number: int) -> None:
        mask = len(self._numbers) - 1
        slot = hashed & mask
        while self._numbers[slot]:
            slot = (slot + 1) & mask
        self._hashes[slot], self._numbers[slot] = hashed, number

    def _grow(self) -> None:
        hashes, numbers = self._hashes, self._numbers
        # Twice as many slots: their number stays a power of two, which the masks rely on.
        self._hashes = array("q", bytes(16 * len(hashes)))
        self._numbers = array("I", bytes(8 * len(numbers)))
        for hashed, number in zip(hashes, numbers, strict=True):
            if number:
                self._put(hashed, number)
