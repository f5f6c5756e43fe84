"""Later runs of a calibrated jury: what its votes come to, weighted as labels of an earlier run say they are worth.

The jury's own verdicts stay what they are. Only the corrected rate goes by the weighted votes, and only where these
were shown to agree with people more often than the majority does. What was counted beside people's verdicts then is of
outputs that the weights were not fitted to.
"""

from __future__ import annotations

from evenhand.analysis.trust.calibration_document import CalibrationJury
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric
from evenhand.analysis.trust.jury_weights import ballot_of, turned
from evenhand.stats.votes import VoteWeights
from evenhand.store.runfile import RunFile


def weighted_verdicts(
    run: RunFile, metric: JudgedMetric, jury: CalibrationJury
) -> dict[Item, bool]:
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
