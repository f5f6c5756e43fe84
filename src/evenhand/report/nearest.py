"""The word that was probably meant."""

from __future__ import annotations

from collections.abc import Sequence


def nearest(word: str, known: Sequence[str]) -> str:
    """The word that was probably meant: fewest changed letters away, and not too many; empty for none.

    >>> nearest("stauts", ["status", "score"]), nearest("zebra", ["status", "score"])
    ('status', '')
    """
    best, least = "", max(3, len(word)) // 3 + 1
    for each in known:
        far = _distance(word.lower(), each.lower())
        if far < least:
            best, least = each, far
    return best


def _distance(a: str, b: str) -> int:
    """How many letters have to be put in, taken out, replaced, or swapped with their neighbour (Damerau, 1964)."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        after = [i]
        for j in range(1, len(b) + 1):
            least = min(row[j] + 1, after[-1] + 1, row[j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                least = min(least, before[j - 2] + 1)
            after.append(least)
        before, row = row, after
    return row[-1]
