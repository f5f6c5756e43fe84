"""The word that was probably meant."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.names import distance


def nearest(word: str, known: Sequence[str]) -> str:
    """The word that was probably meant: fewest changed letters away, and not too many; empty for none.

    >>> nearest("stauts", ["status", "score"]), nearest("zebra", ["status", "score"])
    ('status', '')
    """
    best, least = "", max(3, len(word)) // 3 + 1
    for each in known:
        far = distance(word.lower(), each.lower())
        if far < least:
            best, least = each, far
    return best
