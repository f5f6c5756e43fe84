"""An audit of a judge: whether its verdicts depend on what they should not depend on, and how firm they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from evenhand.core.document import Key, filled
from evenhand.core.record import Record
from evenhand.stats.correction import Estimate

AuditName = Literal["repeats", "orders", "position", "length", "family", "refusals"]
AuditResult = Literal["biased", "not shown", "measured", "not applicable"]
Measure = Literal["share", "odds ratio"]

SIGNIFICANT = 0.05
"""A judge is called biased where the p-value, corrected for the number of audits, is at most this."""


class GroupCount(Record, frozen=True):
    """How many outputs of one group a judge passes, among those of which people say the same."""

    group: Annotated[str, Key("`long` and `short`, `own` and `others`, or `refusals` and `others`")]
    people: Annotated[
        Literal["pass", "fail"], Key("what people say of these outputs: `pass` or `fail`")
    ]
    passed: Annotated[int, Key("how many of them the judge passes", "outputs")]
    items: Annotated[int, Key("how many there are", "outputs")]


class CalibrationAudit(Record, frozen=True, kw_only=True):
    """What `evenhand.calibration/1` says of an audit."""

    name: Annotated[str, Key("`repeats`, `orders`, `position`, `length`, `family` or `refusals`")]
    result: Annotated[
        str,
        Key(
            "`biased`; `not shown`, where no bias is; `measured`, where there is nothing to test; "
            "`not applicable`, where there is no number"
        ),
    ]
    words: Annotated[str, Key("the estimate in words, or why there is none")]
    measure: Annotated[
        str | None,
        Key(
            "`share`: of equal verdicts (`repeats`, `orders`), or of preferences that went to the first "
            "text (`position`). `odds ratio`: the odds of a pass of the first group in `counts`, as a "
            "multiple of the second's",
            null="not applicable",
        ),
    ]
    value: Annotated[
        float | None, Key("the estimate", null="not applicable, or an infinite odds ratio")
    ]
    low: Annotated[float | None, Key("the lower end of its 95 % interval", null="not applicable")]
    high: Annotated[float | None, Key("the upper end", null="not applicable, or nothing bounds it")]
    p: Annotated[
        float | None, Key("the two-sided p-value of no bias", "0 to 1", null="nothing is tested")
    ]
    corrected_p: Annotated[
        float | None,
        Key(
            "the same after Holm's correction for all tests of the run",
            "0 to 1",
            null="nothing is tested",
        ),
    ]
    labels: Annotated[
        int,
        Key(
            "labels that it rests on; of repeats in which the judge was asked the same question, one",
            "outputs",
        ),
    ]
    items: Annotated[
        int, Key("questions asked more than once, pairs, or labelled outputs that it rests on")
    ]
    counts: Annotated[Sequence[GroupCount], Key("what was counted; empty but for odds ratios")]


class Audit(Record, frozen=True, kw_only=True):
    """What one audit of a judge came to.

    Attributes:
        result: `biased`, or `not shown` where no bias is; `measured` where there is nothing to test;
            `not applicable` where there is no number.
        words: The estimate in words, or why there is none.
        measure: What the estimate is: a share, or the odds of one group as a multiple of another's; None for none.
        estimate: The number and its 95 % interval, infinite where nothing bounds it; None where not applicable.
        p: The two-sided p-value of no bias; None where nothing is tested.
        corrected_p: The same, corrected for all that was tested; see `report.trust.auditing`.
        labels: How many labels it rests on.
        items: How many questions, pairs or labelled outputs it rests on.
        counts: Of comparisons of two groups, what was counted.
    """

    name: AuditName
    result: AuditResult
    words: str
    measure: Measure | None = None
    estimate: Estimate | None = None
    p: float | None = None
    corrected_p: float | None = None
    labels: int = 0
    items: int = 0
    counts: tuple[GroupCount, ...] = ()

    def row(self) -> CalibrationAudit:
        """The audit in the keys of `evenhand.calibration/1`."""
        value, low, high = self.estimate or (None, None, None)
        return filled(CalibrationAudit, self, value=_finite(value), low=low, high=_finite(high))


def not_applicable(name: AuditName, why: str, labels: int = 0) -> Audit:
    """An audit that has no number, and why."""
    return Audit(name=name, result="not applicable", words=why, labels=labels, items=labels)


def _finite(value: float | None) -> float | None:
    """Infinity is no number of JSON."""
    return None if value is None or math.isinf(value) else value
