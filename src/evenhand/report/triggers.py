"""How well a skill is found: of the queries that a judge decided on, precision and recall, each with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evenhand.report.words import interval, percent
from evenhand.scorers.triggers import MEASURES, PRECISION, RECALL
from evenhand.stats.interval import wilson_of_clusters
from evenhand.store.runfile import RunFile


@dataclass(slots=True)
class Share:
    """So many of so many decisions, query by query: repeats of a query are not taken for more queries."""

    queries: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def add(self, query: str, hit: bool) -> None:
        """One decision more."""
        hits, n = self.queries.get(query, (0, 0))
        self.queries[query] = hits + hit, n + 1

    @property
    def hits(self) -> int:
        """How many decisions were right."""
        return sum(hits for hits, _ in self.queries.values())

    @property
    def n(self) -> int:
        """Of how many."""
        return sum(n for _, n in self.queries.values())

    @property
    def rate(self) -> float | None:
        """The share, from 0 to 1; None of none."""
        return self.hits / self.n if self.n else None

    @property
    def reach(self) -> tuple[float, float]:
        """Its interval, 95 %, Wilson's; (0, 1) of none."""
        return wilson_of_clusters(list(self.queries.values()))

    def told(self) -> Mapping[str, object]:
        """For programs; null for what is not known."""
        low, high = self.reach if self.n else (None, None)
        return {"rate": self.rate, "n": self.n, "low": low, "high": high}

    def __str__(self) -> str:
        if self.rate is None:
            return "unknown"
        return f"{percent(self.rate)} [{interval(*self.reach)}]"


@dataclass(frozen=True, slots=True)
class Found:
    """What a column's queries come to. A query whose judge gave no decision is in neither.

    Attributes:
        variant: The column's index.
        precision: Of the decisions to use the skill, those that were right.
        recall: Of the queries that should lead to it, those that did.
    """

    variant: int
    precision: Share = field(default_factory=Share)
    recall: Share = field(default_factory=Share)

    def __str__(self) -> str:
        precision, recall = self.precision, self.recall
        return (
            f"precision {precision}, {precision.hits:,} of {precision.n:,} that matched should · "
            f"recall {recall}, {recall.hits:,} of {recall.n:,} that should match did"
        )


def found_by_triggers(run: RunFile, places: Sequence[int] | None = None) -> list[Found]:
    """Precision and recall of each column that has trigger tests, in the columns' order.

    None of trials that were chosen by what came of them.

    Args:
        run: The run.
        places: Where in the plan such trials are, and maybe others; without them every trial is looked at.
    """
    found: dict[int, Found] = {}
    if run.by_outcome:
        return []
    for trial in run.measuring(MEASURES) if places is None else run.at(places):
        for outcome in trial.outcomes:
            for name in outcome.named.keys() & {PRECISION, RECALL}:
                one = found.setdefault(trial.variant, Found(trial.variant))
                share = one.precision if name == PRECISION else one.recall
                share.add(trial.case, bool(outcome.named[name]))
    return [found[variant] for variant in sorted(found)]
