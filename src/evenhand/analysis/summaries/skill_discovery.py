"""How well a skill is found: of the queries that a judge decided on, precision and recall, each with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import field

from evenhand.analysis.summaries.decisions import Decisions
from evenhand.analysis.summaries.marks import TRIGGERING
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import TRIGGER_MEASURES, TRIGGER_PRECISION, TRIGGER_RECALL
from evenhand.core.wording.words import count
from evenhand.store.runfile import RunFile

SHOULD = "should_match"
"""The key of a case's metadata that says whether its query should lead to the skill."""


class TriggerRates(Record, frozen=True):
    """What a column's queries come to. A query whose judge gave no decision may have led to the skill or not.

    Attributes:
        variant: The column's index.
        precision: Of the decisions to use the skill, those that were right.
        recall: Of the queries that should lead to it, those that did.
    """

    variant: int
    precision: Decisions = field(default_factory=lambda: Decisions(each=True))
    recall: Decisions = field(default_factory=Decisions)

    def add_error(self, query: str, *, should_match: bool) -> None:
        """A trial without a decision, whose query should lead to the skill or should not."""
        if should_match:
            # A decision against the skill would be a miss, and would not count for precision at all.
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


def trigger_rates(run: RunFile, places: Sequence[int] | None = None) -> list[TriggerRates]:
    """Precision and recall of each column that has trigger tests, in the columns' order.

    None of trials that were chosen by what came of them.

    Args:
        places: Where in the plan such trials are, and maybe others; without them every trial is looked at.
    """
    by_variant: dict[int, TriggerRates] = {}
    stopped = run.meta.ended_early
    groups = run.groups()

    def of(variant: int) -> TriggerRates:
        if variant not in by_variant:
            own = groups[variant]
            precision = Decisions(stopped=stopped, each=True, groups=own)
            recall = Decisions(stopped=stopped, groups=own)
            by_variant[variant] = TriggerRates(variant, precision, recall)
        return by_variant[variant]

    if run.by_outcome:
        return []
    for trial in _trials(run) if places is None else run.at(places):
        decided = False
        for outcome in trial.outcomes:
            for name in outcome.named.keys() & {TRIGGER_PRECISION, TRIGGER_RECALL}:
                one = of(trial.variant)
                decisions = one.precision if name == TRIGGER_PRECISION else one.recall
                decisions.add(trial.case, bool(outcome.named[name]))
                decided = True
        if trial.outcome == "error" and not decided and trial.metadata.get(TRIGGERING) is True:
            one = of(trial.variant)
            one.add_error(trial.case, should_match=trial.metadata.get(SHOULD) is True)
    return [by_variant[variant] for variant in sorted(by_variant)]


def _trials(run: RunFile) -> Iterator[TrialResult]:
    """The trials of trigger tests, and maybe others."""
    yield from run.measuring(TRIGGER_MEASURES)
    if run.totals().errors:
        yield from (trial for trial in run.measuring(TRIGGERING) if trial.outcome == "error")
