"""How well a skill is found: of the queries that a judge decided on, precision and recall, each with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evenhand.core.run import TrialResult
from evenhand.report.rates import share_row
from evenhand.report.words import count, interval, percents
from evenhand.scorers.triggers import MEASURES, PRECISION, RECALL
from evenhand.stats.tallies import Share, Tally, counted, rate_of
from evenhand.store.runfile import RunFile

TRIGGERING, SHOULD = "triggering", "should_match"
"""The keys of a case's metadata that say that it is a trigger test, and whether its query should lead to the skill."""


@dataclass(slots=True)
class Decisions:
    """Which of a judge's decisions were right, query by query: repeats of a query are not taken for more queries.

    Attributes:
        least: Each query's decisions, those in error taken for what makes the share lowest.
        most: The same for what makes it highest.
        hits: How many decisions were right.
        n: Of how many that were made.
        errors: How many more there may have been, of trials in error.
    """

    least: dict[str, Tally] = field(default_factory=dict[str, Tally])
    most: dict[str, Tally] = field(default_factory=dict[str, Tally])
    hits: int = 0
    n: int = 0
    errors: int = 0

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
    def share(self) -> Share | None:
        """The share that was right, query by query; None where there may be none to tell of."""
        least, most = rate_of(self.least.values()), rate_of(self.most.values())
        if least is None or most is None:
            return None
        return Share(least.least, most.most, least.low, most.high)

    def document(self) -> dict[str, object]:
        """For programs; null for what is not known."""
        return {"n": self.n, "errors": self.errors, **share_row(self.share)}

    def __str__(self) -> str:
        share = self.share
        if share is None:
            return "unknown"
        return f"{percents(share.least, share.most)} [{interval(share.low, share.high)}]"


def _count(tallies: dict[str, Tally], query: str, outcome: str) -> None:
    tallies[query] = counted(tallies.get(query, Tally()), outcome)


@dataclass(frozen=True, slots=True)
class Found:
    """What a column's queries come to. A query whose judge gave no decision may have led to the skill or not.

    Attributes:
        variant: The column's index.
        precision: Of the decisions to use the skill, those that were right.
        recall: Of the queries that should lead to it, those that did.
    """

    variant: int
    precision: Decisions = field(default_factory=Decisions)
    recall: Decisions = field(default_factory=Decisions)

    def add_error(self, query: str, *, wanted: bool) -> None:
        """A trial without a decision, whose query should lead to the skill or should not."""
        if wanted:
            self.recall.add_error(query, worst="fail", best="pass")
            self.precision.add_error(query, worst="none", best="pass")
        else:
            self.precision.add_error(query, worst="fail", best="none")

    def __str__(self) -> str:
        precision, recall = self.precision, self.recall
        without = count(precision.errors, "trial") + " without a decision"
        return (
            f"precision {precision}, {precision.hits:,} of {precision.n:,} that matched should · "
            f"recall {recall}, {recall.hits:,} of {recall.n:,} that should match did"
        ) + (f" · {without}" if precision.errors else "")


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
    for trial in _trials(run) if places is None else run.at(places):
        decided = False
        for outcome in trial.outcomes:
            for name in outcome.named.keys() & {PRECISION, RECALL}:
                one = found.setdefault(trial.variant, Found(trial.variant))
                decisions = one.precision if name == PRECISION else one.recall
                decisions.add(trial.case, bool(outcome.named[name]))
                decided = True
        if trial.outcome == "error" and not decided and trial.metadata.get(TRIGGERING) is True:
            one = found.setdefault(trial.variant, Found(trial.variant))
            one.add_error(trial.case, wanted=trial.metadata.get(SHOULD) is True)
    return [found[variant] for variant in sorted(found)]


def _trials(run: RunFile) -> Iterator[TrialResult]:
    """The trials of trigger tests, and maybe others."""
    yield from run.measuring(MEASURES)
    if run.totals().errors:
        yield from (trial for trial in run.measuring(TRIGGERING) if trial.outcome == "error")
