"""Later runs of a calibrated jury: what its votes come to, weighted as labels of an earlier run say they are worth.

The jury's own verdicts stay what they are. Only the corrected rate goes by the weighted votes, and only where these
were shown to agree with people more often than the majority does. What was counted beside people's verdicts then is of
outputs that the weights were not fitted to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from evenhand.report.judgements.judged import Item, JudgedMetric
from evenhand.report.trust.jury_weights import ballot_of, turned
from evenhand.stats.correction import Verdicts
from evenhand.stats.votes import VoteWeights
from evenhand.store.runfile import RunFile

Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class KeptMember(msgspec.Struct):
    """A judge of a jury in a calibration, and the log-odds that its vote is worth."""

    model: str
    weight: float


class KeptJury(msgspec.Struct):
    """What a calibration says of a jury."""

    verdict: str
    intercept: float
    members: list[KeptMember]

    @property
    def better(self) -> bool:
        """Whether its votes agree with people more often if they are weighted."""
        return self.verdict == "better"


class KeptVotes(msgspec.Struct):
    """The weighted votes on labelled outputs of one variant beside people's verdicts, as counts."""

    both_pass: Count
    missed: Count
    excused: Count
    both_fail: Count


def weighted_counts(
    run: RunFile, metric: JudgedMetric, jury: KeptJury, votes: Mapping[int, KeptVotes]
) -> dict[int, Verdicts]:
    """What was counted when the calibration was made, beside this run's weighted votes, variant by variant.

    Args:
        run: The run.
        metric: What the jury said in it.
        jury: What its votes are worth.
        votes: The counts of each variant.

    Raises:
        StoreError: The run cannot be read.
    """
    passes = _weighted(run, metric, jury)
    counts: dict[int, Verdicts] = {}
    for variant, kept in votes.items():
        items = [item for item in metric.items if item.variant == variant]
        passed = sum(passes.get(item, item.passed) for item in items)
        counts[variant] = Verdicts(
            kept.both_pass, kept.missed, kept.excused, kept.both_fail, passed, len(items)
        )
    return counts


def _weighted(run: RunFile, metric: JudgedMetric, jury: KeptJury) -> dict[Item, bool]:
    """Whether the weighted votes pass each output."""
    items = {item.index: item for item in metric.items}
    models = [member.model for member in jury.members]
    weights = VoteWeights(jury.intercept, tuple(member.weight for member in jury.members))
    rows: list[tuple[Item, list[float]]] = []
    for trial in run.at(sorted(items)):
        ballot = ballot_of(trial.outcomes, metric.metric, metric.model)
        if ballot:
            votes = [float(ballot.get(model, 0)) for model in models]
            rows.append((items[trial.index], votes))
    right = turned([votes for _, votes in rows], [item.passed for item, _ in rows])
    return {item: weights.passes(votes) for (item, _), votes in zip(rows, right, strict=True)}
