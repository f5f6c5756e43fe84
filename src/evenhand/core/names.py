"""Names that are nearly alike."""

from __future__ import annotations


def distance(a: str, b: str) -> int:
    """How many letters have to be put in, taken out, replaced, or swapped with their neighbour (Damerau, 1964).

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
        before, row = row, after
    return row[-1]
