"""What a case belongs to: the document that it asks about, say, or the case that it is a copy of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from evenhand.core.encoding import encode


def cluster_in(key: str, variables: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """What a case belongs to, as canonical JSON; empty where it does not say.

    Args:
        key: The variable, or key of the metadata, that says it; empty for none.
        variables: The case's.
        metadata: The case's.
    """
    if not key:
        return ""
    value = variables.get(key, metadata.get(key))
    return "" if value is None else encode(value).decode("utf-8", "replace")


def number_of(cluster: str, content: str) -> int:
    """A number that cases have in common which belong together; 0 for a case that nothing is known of.

    Args:
        cluster: What it belongs to. Its copies belong to the same.
        content: A digest of what it says, by which copies are known that belong to nothing.
    """
    if not cluster and not content:
        return 0
    text = (cluster or content).encode("utf-8", "replace")
    number = int.from_bytes(blake2b(text, digest_size=8).digest()) | 1
    return number if not cluster else number - 1 or 2


def shared(numbers: Sequence[int]) -> frozenset[int]:
    """The numbers that several cases have. Sorted and not counted: a large run has a million different ones."""
    order = sorted(numbers)
    return frozenset(one for one, other in pairwise(order) if one == other and one)


def copies_among(numbers: Iterable[int]) -> int:
    """How many cases are copies of one before them: their numbers are odd, those of what a variable says are even.

    Args:
        numbers: Of each case that does not stand alone.
    """
    copies = [number for number in numbers if number % 2]
    return len(copies) - len(set(copies))
