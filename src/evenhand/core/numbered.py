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

    def add(self, text: str) -> int:
        """Puts one behind the others; its number."""
        self._data += text.encode(*_WRITTEN)
        self._ends.append(len(self._data))
        return len(self._ends) - 2

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
    """Different texts, numbered from 0 as they are first met.

    Args:
        room: For how many there is room from the start; more are taken all the same.
    """

    def __init__(self, room: int = 0) -> None:
        super().__init__()
        self._by_hash = HashedNumbers(room)
        self._last = "", -1

    def number(self, text: str) -> int:
        """The number of this text; one that was not met before has the next."""
        # Trials of one case come one after the other: most look-ups are of the text before.
        # An empty text is equal to the initial one, which has no number.
        last, number = self._last
        if text == last and number >= 0:
            return number
        slot, number = self._look(text)
        if number < 0:
            number = self.add(text)
            self._by_hash.fill(slot, hash(text), number)
        self._last = text, number
        return number

    def find(self, text: str) -> int:
        """The number of this text; −1 where it was not met."""
        return self._look(text)[1]

    def _look(self, text: str) -> tuple[int, int]:
        """The slot that has this text and its number; a free slot and −1 where it was not met."""
        hashed = hash(text)
        slot, number = self._by_hash.look(hashed, hashed)
        while number >= 0 and self[number] != text:
            slot, number = self._by_hash.look(hashed, slot + 1)
        return slot, number


class HashedNumbers:
    """Numbers from 0 up, by the hash of what each stands for: a table with open addressing.

    What has another text may have the same hash: who asks looks at the texts of the numbers that come back.

    Args:
        room: For how many there is room from the start.
    """

    def __init__(self, room: int = 0) -> None:
        self._size = 0
        # A power of two, which the mask relies on, at most two thirds of which are taken.
        slots = max(_FEWEST, 1 << (3 * room // 2).bit_length())
        self._mask = slots - 1
        self._hashes = array("q", bytes(8 * slots))
        self._numbers = array("I", bytes(4 * slots))
        """Each one more than the number; 0 where the slot is free."""

    def __len__(self) -> int:
        return self._size

    def add(self, hashed: int, number: int) -> None:
        """Puts a number under a hash, beside those that it has."""
        self.fill(self._free(hashed), hashed, number)

    def put(self, hashed: int, number: int) -> None:
        """Puts a number under a hash, in place of the one that it has."""
        slot, before = self.look(hashed, hashed)
        if before < 0:
            self.fill(slot, hashed, number)
        else:
            self._numbers[slot] = number + 1

    def of(self, hashed: int) -> Iterator[int]:
        """The numbers under a hash, in any order."""
        slot, number = self.look(hashed, hashed)
        while number >= 0:
            yield number
            slot, number = self.look(hashed, slot + 1)

    def look(self, hashed: int, start: int) -> tuple[int, int]:
        """The next slot that has a number under this hash, and the number; the next free slot and −1 for none.

        Args:
            hashed: The hash.
            start: It again, or the slot behind the one that was looked at before.
        """
        hashes, numbers, mask = self._hashes, self._numbers, self._mask
        slot = start & mask
        while number := numbers[slot]:
            if hashes[slot] == hashed:
                break
            slot = (slot + 1) & mask
        return slot, number - 1

    def fill(self, slot: int, hashed: int, number: int) -> None:
        """Puts a number into a free slot that `look` came to with this hash."""
        self._hashes[slot], self._numbers[slot] = hashed, number + 1
        self._size += 1
        # Open addressing slows down steeply beyond two thirds full, and never ends when it is full.
        if 3 * self._size >= 2 * self._mask:
            self._grow()

    def _free(self, hashed: int) -> int:
        """The first free slot for this hash."""
        slot = hashed & self._mask
        while self._numbers[slot]:
            slot = (slot + 1) & self._mask
        return slot

    def _grow(self) -> None:
        hashes, numbers = self._hashes, self._numbers
        # Twice as many slots: their number stays a power of two.
        self._mask = 2 * self._mask + 1
        self._hashes = array("q", bytes(16 * len(hashes)))
        self._numbers = array("I", bytes(8 * len(numbers)))
        for hashed, number in zip(hashes, numbers, strict=True):
            if number:
                slot = self._free(hashed)
                self._hashes[slot], self._numbers[slot] = hashed, number
