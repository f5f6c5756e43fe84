"""Cases of a run put together that belong together: each cluster counts once in rates, means and comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from evenhand.core.wording.words import count
from evenhand.stats.tallies import Share, Tally, rate_of, rate_over_clusters
from evenhand.store.sums import CaseSum

T = TypeVar("T")
OfCase = tuple[float, float, float]
"""The sum over a case's trials, how many have a value, and how many are in error; of a cluster, parts of trials."""
Groups = Mapping[str, int]
"""By case what it belongs to, of those that do not stand alone; see `evenhand.store.groups`."""


def together(cases: Iterable[tuple[str, T]], groups: Groups) -> Iterator[list[T]]:
    """What is known of cases, cluster by cluster; those that stand alone first.

    Args:
        cases: Each case's id, as a trial's row has it, and what is known of it.
        groups: What they belong to.
    """
    clusters: dict[int, list[T]] = {}
    for case, value in cases:
        number = groups.get(case)
        if number is None:
            yield [value]
        else:
            clusters.setdefault(number, []).append(value)
    yield from clusters.values()


def clusters_among(cases: Iterable[str], groups: Groups) -> int:
    """How many clusters these cases make; one that stands alone is one."""
    own = [groups.get(case) for case in cases]
    return own.count(None) + len(set(own) - {None})


def rate_in(tallies: Mapping[str, Tally], groups: Groups) -> Share | None:
    """The pass rate of cases, each cluster counting once; None for no cases.

    Args:
        tallies: By case.
        groups: What the cases belong to.
    """
    # Most runs have none: this way is much faster.
    if not groups:
        return rate_of(tallies.values())
    return rate_over_clusters(together(tallies.items(), groups))


def sums_in(sums: Iterable[tuple[str, CaseSum]], groups: Groups) -> Iterator[OfCase]:
    """Sums of scores of cases, those of a cluster as one: each of its cases weighs the same, whatever its repeats."""
    for cluster in together(sums, groups):
        if len(cluster) == 1:
            yield cluster[0]
            continue
        weighed = [
            (total / (n + errors), n / (n + errors), errors / (n + errors))
            for total, n, errors in cluster
            if n + errors
        ]
        total, values, in_error = (math.fsum(part) for part in zip(*weighed, strict=True))
        yield total, values, in_error


def copies_note(copies: int) -> str:
    """That so many cases are copies of others, and that all copies of a case count once."""
    return (
        f"{count(copies, 'case')} {'says' if copies == 1 else 'say'} the same as another one: "
        "rates and their intervals count each of them, comparisons count copies of a case once"
    )
