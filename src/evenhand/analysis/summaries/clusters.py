"""Cases of a run put together that belong together: each cluster counts once in rates, means and comparisons.

How cases that may belong together are found out: for each variable and key of the metadata whose values several cases
share, the variance between the values is held against the variance within them (an F test), and the pass rate's
variance over whole values against that over single cases. Both have to be large: chance makes one of many keys look
good.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from evenhand.core.encoding import encode
from evenhand.core.record import Record
from evenhand.core.wording.words import clip, count, safe
from evenhand.stats.distributions import beta_share
from evenhand.stats.tallies import Share, Tally, rate_of, rate_over_clusters
from evenhand.store.decoding import read_grouped
from evenhand.store.encoding import written_case
from evenhand.store.runfile import RunFile
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
        "pass rates and their intervals count all copies of a case, comparisons count them once"
    )


MOST = 50_000
"""Trials of a run up to which it is looked through."""
FEWEST_CASES = 20
LEVEL = 0.01
WIDER = 1.5
"""Variance that is so many times as large is worth a word: intervals would be a fifth wider."""


class Alike(Record, frozen=True):
    """A variable whose values cases share that come out alike.

    Attributes:
        key: It, or the key of the metadata.
        groups: How many values it has.
        effect: By how much the variance of a pass rate is larger by whole groups than by single cases.
        p: Of the F test, corrected for the number of keys and columns.
    """

    key: str
    groups: int
    effect: float
    p: float


def cluster_hint(run: RunFile) -> str:
    """That cases with the same value of a variable come out alike, and what to do; empty for nothing of the kind."""
    variants = run.meta.variants
    # Somebody has said already what belongs together.
    if run.settled() > MOST or any(variant.cluster for variant in variants):
        return ""
    columns: list[dict[str, Mapping[str, bytes]]] = [{} for _ in variants]
    for result in run.results():
        one = read_grouped(result)
        column = columns[one.variant]
        case = written_case(one.case)
        if case not in column:
            # Lists and objects are nothing to belong to.
            column[case] = {
                name: encode(value)
                for name, value in {**one.metadata, **one.vars}.items()
                if isinstance(value, str | int | float)
            }
    sums = run.sums()
    tallies = [dict(sums.of_column(variant.index).items()) for variant in variants]
    best = most_alike(list(zip(columns, tallies, strict=True)))
    if best is None:
        return ""
    key = clip(safe(best.key), 40)
    wider = f"{math.sqrt(best.effect):.1f}"
    return (
        f"cases with the same {key} have similar results, but count as independent: with {key} as the set's "
        f"cluster, its {count(best.groups, 'value')} would count, and intervals would be about {wider} times as wide"
    )


def most_alike(
    columns: Sequence[tuple[Mapping[str, Mapping[str, bytes]], Mapping[str, Tally]]],
) -> Alike | None:
    """The variable whose groups of cases come out most alike in some column; None where none stands out.

    Args:
        columns: For each the values of the variables of each case, and what came of the case.
    """
    from evenhand.stats.paired_difference import FEWEST  # noqa: PLC0415 (where somebody looks for such only)

    tests: list[Alike] = []
    for values, tallies in columns:
        shares = {case: tally.least for case, tally in tallies.items() if case in values}
        if len(shares) < FEWEST_CASES:
            continue
        for key in dict.fromkeys(key for case in shares for key in values[case]):
            groups: dict[bytes, list[float]] = {}
            for case, share in shares.items():
                if key in values[case]:
                    groups.setdefault(values[case][key], []).append(share)
            several = list(groups.values())
            # With less than two cases in a value on average, there is little to compare within.
            if FEWEST <= len(several) <= sum(map(len, several)) / 2:
                tests.append(_test(key, several))
    best = min(tests, key=lambda one: one.p, default=None)
    if best is None or best.p * len(tests) > LEVEL or best.effect < WIDER:
        return None
    return Alike(best.key, best.groups, best.effect, best.p * len(tests))


def _test(key: str, groups: Sequence[Sequence[float]]) -> Alike:
    """One key: the analysis of variance of one way (Fisher, Statistical Methods for Research Workers, 1925)."""
    values = [value for group in groups for value in group]
    n, k = len(values), len(groups)
    mean = math.fsum(values) / n
    whole = math.fsum((value - mean) ** 2 for value in values)
    between = math.fsum(
        len(group) * (math.fsum(group) / len(group) - mean) ** 2 for group in groups
    )
    if whole <= 0:
        return Alike(key, k, 1.0, 1.0)
    # The share of the variance between groups has a beta distribution where nothing belongs together.
    p = 1 - beta_share((k - 1) / 2, (n - k) / 2, min(1.0, between / whole))
    squares = math.fsum(math.fsum(value - mean for value in group) ** 2 for group in groups)
    return Alike(key, k, squares / whole, max(0.0, p))
