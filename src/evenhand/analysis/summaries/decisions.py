"""Decisions that were right or wrong, case by case: what precision and recall are counted from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from evenhand.analysis.summaries.clusters import Groups, clusters_among, together
from evenhand.analysis.summaries.rates import allowing_for_looks, share_row
from evenhand.analysis.summaries.share_rows import High, Low, Rate, RateLeast, RateMost
from evenhand.core.document import Key
from evenhand.core.record import MutableRecord, Record
from evenhand.core.wording.words import share_words
from evenhand.stats.tallies import (
    Share,
    Tally,
    counted,
    rate_of,
    rate_of_decisions,
    rate_over_clusters,
)
from evenhand.store.encoding import written_case


class RunDecisions(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of decisions."""

    n: Annotated[int, Key("", "decisions")]
    errors: Annotated[int, Key("without a decision", "trials")]
    rate: Rate
    rate_least: RateLeast
    rate_most: RateMost
    low: Low
    high: High


class Decisions(MutableRecord, kw_only=True):
    """Which of a judge's decisions were right, query by query: repeats of a query are not taken for more queries.

    Attributes:
        least: Each query's decisions, those in error taken for what makes the share lowest.
        most: The same for what makes it highest.
        hits: How many decisions were right.
        n: Of how many that were made.
        errors: How many more there may have been, of trials in error.
        stopped: Whether the run stopped as soon as it was decided: the interval then allows for having looked.
        each: Whether each decision counts once, and not each query: where chance says how many decisions a query has,
            as those of a precision, which are answers.
        groups: What the queries belong to, of those that do not stand alone: each cluster is one in the interval, and
            counts once where each query does.
    """

    least: dict[str, Tally] = field(default_factory=dict[str, Tally])
    most: dict[str, Tally] = field(default_factory=dict[str, Tally])
    hits: int = 0
    n: int = 0
    errors: int = 0
    stopped: bool = False
    each: bool = False
    groups: Groups = field(default_factory=dict[str, int])

    def add(self, query: str, hit: bool) -> None:
        """One decision more."""
        self.hits += hit
        self.n += 1
        for tallies in (self.least, self.most):
            _count(tallies, query, "pass" if hit else "fail")

    def add_error(self, query: str, *, worst: str, best: str) -> None:
        """One that was not made: what it may have been, `pass`, `fail`, or `none` where it would not count."""
        self.errors += 1
        _count(self.least, query, worst)
        _count(self.most, query, best)

    @property
    def cases(self) -> int:
        """Of how many queries some decision counts."""
        return sum(1 for tally in self.most.values() if tally.n)

    @property
    def share(self) -> Share | None:
        """The share that was right; None where there may be none to tell of."""
        least, most = self._rate(self.least), self._rate(self.most)
        if least is None or most is None:
            return None
        return Share(least.least, most.most, least.low, most.high)

    def _rate(self, queries: dict[str, Tally]) -> Share | None:
        share = self._over_clusters(queries) if self.groups else self._over_queries(queries)
        if share is None or not self.stopped:
            return share
        decided = (query for query, tally in queries.items() if tally.n)
        return allowing_for_looks(share, clusters_among(decided, self.groups))

    def _over_queries(self, queries: Mapping[str, Tally]) -> Share | None:
        return (rate_of_decisions if self.each else rate_of)(queries.values())

    def _over_clusters(self, queries: Mapping[str, Tally]) -> Share | None:
        clusters = together(queries.items(), self.groups)
        if not self.each:
            return rate_over_clusters(clusters)
        return rate_of_decisions(
            Tally(*(sum(part) for part in zip(*cluster, strict=True))) for cluster in clusters
        )

    def row(self) -> RunDecisions:
        """The decisions in the keys of `evenhand.run/1`; null for what is not known."""
        return RunDecisions(n=self.n, errors=self.errors, **share_row(self.share))

    def __str__(self) -> str:
        share = self.share
        return "unknown" if share is None else share_words(*share)


def _count(tallies: dict[str, Tally], query: str, outcome: str) -> None:
    case = written_case(query)  # as groups have it
    tallies[case] = counted(tallies.get(case, Tally()), outcome)
