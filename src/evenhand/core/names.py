"""Names that are nearly alike."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 200
"""Longer words are nobody's slip of the finger, and would take long to compare."""


def nearest(word: str, words: Iterable[str]) -> str:
    """The word that was probably meant: fewest changed letters away, and not too many; empty for none.

    >>> nearest("stauts", ["status", "score"]), nearest("zebra", ["status", "score"])
    ('status', '')
    """
    best, least = "", max(3, len(word)) // 3 + 1
    if len(word) > LONGEST:
        return ""
    lower = word.lower()
    for known in words:
        if abs(len(word) - len(known)) >= least:  # as many letters have to be put in or taken out
            continue
        far = distance(lower, known.lower(), least)
        if far < least:
            best, least = known, far
    return best


def did_you_mean(word: str, words: Iterable[str], otherwise: str = "") -> str:
    """A hint with the word that was probably meant.

    Args:
        word: As it was written.
        words: Those that are known.
        otherwise: The hint where none of them is near.
    """
    near = nearest(word, words)
    return f"Did you mean '{near}'?" if near else otherwise


def distance(a: str, b: str, enough: int | None = None) -> int:
    """How many letters have to be put in, taken out, replaced, or swapped with their neighbour (Damerau, 1964).

    Args:
        enough: If there are so many, it doesn't matter how many more; None for always.

    >>> distance("wieght", "weight"), distance("at_leas", "at_least"), distance("", "ab")
    (1, 1, 2)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        after = [i]
        for j in range(1, len(b) + 1):
            least = min(row[j] + 1, after[-1] + 1, row[j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                least = min(least, before[j - 2] + 1)
            after.append(least)
        # No path gets shorter; a swap looks back by two rows.
        if enough is not None and min(after) >= enough and min(row) >= enough:
            return enough
        before, row = row, after
    return row[-1]
