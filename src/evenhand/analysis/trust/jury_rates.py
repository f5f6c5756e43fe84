"""Later runs of a calibrated jury: what its votes come to, weighted as labels of an earlier run say they are worth.

The jury's own verdicts stay what they are. Only the corrected rate goes by the weighted votes, and only where these
were shown to agree with people more often than the majority does. What was counted beside people's verdicts then is of
outputs that the weights were not fitted to.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric
from evenhand.analysis.trust.jury_weights import ballot_of, turned
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
    labelled: list[str] | None = None

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """How many labelled outputs both pass, only people pass, only the votes pass, both fail."""
        return self.both_pass, self.missed, self.excused, self.both_fail


def weighted_verdicts(run: RunFile, metric: JudgedMetric, jury: KeptJury) -> dict[Item, bool]:
    """Whether the weighted votes pass each output.

    Args:
        run: The run.
        metric: What the jury said in it.
        jury: What its votes are worth.

    Returns:
        Without outputs whose votes aren't in the run.

    Raises:
        StoreError: The run cannot be read.
    """
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
