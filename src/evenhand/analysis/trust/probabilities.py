"""A judge's probabilities beside people's verdicts: what they mean, how good they are, and what they add."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.analysis.trust.calibration_document import (
    CalibrationProbabilities,
    CalibrationReliability,
)
from evenhand.analysis.trust.judgements.judged import Item
from evenhand.core.record import Record
from evenhand.stats.correction import Estimate
from evenhand.stats.design_effect import CaseLabel, DesignEffects
from evenhand.stats.recalibration import (
    GradedItem,
    GradedLabel,
    GradedRate,
    Platt,
    ProbabilityLabel,
    ReliabilityPoint,
    brier,
    cross_fitted,
    graded_rate,
    platt,
    reliability,
)


class ProbabilityCalibration(Record, frozen=True, kw_only=True):
    """What a judge's probabilities are worth.

    Attributes:
        labels: How many labels that rests on.
        line: What they mean by all labels.
        brier: The mean squared distance of the judge's own probabilities from people's verdicts.
        recalibrated: The same of recalibrated ones, each by a line that its own case had no part in.
        curve: What people pass of the outputs that it holds for equally likely, from the least likely on.
        explained: The share of the error of the corrected rate that they take away.
    """

    labels: int
    line: Platt
    brier: Estimate
    recalibrated: Estimate
    curve: tuple[ReliabilityPoint, ...]
    explained: float

    def row(self) -> CalibrationProbabilities:
        """The keys of `evenhand.calibration/1`."""
        return CalibrationProbabilities(
            intercept=self.line.intercept,
            slope=self.line.slope,
            brier=self.brier._asdict(),
            recalibrated=self.recalibrated._asdict(),
            explained=self.explained,
            curve=[
                CalibrationReliability(
                    probability=point.stated, passed=point.passed._asdict(), labels=point.labels
                )
                for point in self.curve
            ],
        )


def graded(
    items: Sequence[Item],
    labels: Sequence[CaseLabel],
    effects: DesignEffects,
    *,
    same_items: bool = True,
) -> GradedRate | None:
    """The rate that people would have found, by verdicts and probabilities; None where some have no probability.

    Args:
        labels: The labels, each counting alike.
        effects: By how much less they say because items of one case go together.
        same_items: Whether the labels are of these items, and not of those of an earlier run.
    """
    judged = [
        GradedItem(item.passed, item.probability) for item in items if item.probability is not None
    ]
    beside = [
        GradedLabel(one.case, one.people, one.judge, one.probability)
        for one in labels
        if one.probability is not None
    ]
    if not beside or len(judged) < len(items) or len(beside) < len(labels):
        return None
    return graded_rate(judged, beside, effects, same_items=same_items)


def probability_calibration(
    labels: Sequence[CaseLabel], explained: float
) -> ProbabilityCalibration | None:
    """What the probabilities of labelled outputs are worth; None where some have none.

    Args:
        labels: The labels, each counting alike.
        explained: See `ProbabilityCalibration`.
    """
    rows = [
        ProbabilityLabel(one.case, one.people, one.probability)
        for one in labels
        if one.probability is not None
    ]
    if not rows or len(rows) < len(labels):
        return None
    fits = cross_fitted(rows)
    own = brier([(one.case, one.probability, one.people) for one in rows])
    fitted = brier(
        [(one.case, fits.left_out(one.case)(one.probability), one.people) for one in rows]
    )
    if own is None or fitted is None:
        return None
    pairs = [(one.probability, one.people) for one in rows]
    return ProbabilityCalibration(
        labels=len(rows),
        line=platt(pairs),
        brier=own,
        recalibrated=fitted,
        curve=tuple(reliability(pairs)),
        explained=explained,
    )
