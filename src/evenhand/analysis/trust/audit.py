"""An audit of a judge: whether its verdicts depend on what they should not depend on, and how firm they are."""

from __future__ import annotations

import math
from typing import Any, Literal

from evenhand.core.record import Record
from evenhand.stats.correction import Estimate

AuditName = Literal["repeats", "orders", "position", "length", "family", "refusals"]
AuditResult = Literal["biased", "not shown", "measured", "not applicable"]
Measure = Literal["share", "odds ratio"]

SIGNIFICANT = 0.05
"""A judge is called biased where the p-value, corrected for the number of audits, is at most this."""


class GroupCount(Record, frozen=True):
    """How many outputs of one group a judge passes, among those of which people say the same.

    Attributes:
        group: Which group, e.g. `long`.
        people: What people say of them: `pass` or `fail`.
        passed: How many the judge passes.
        items: How many there are.
    """

    group: str
    people: Literal["pass", "fail"]
    passed: int
    items: int


class Audit(Record, frozen=True, kw_only=True):
    """What one audit of a judge came to.

    Attributes:
        name: Which audit.
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

    def row(self) -> dict[str, Any]:
        """The audit in the keys of `evenhand.calibration/1`."""
        value, low, high = self.estimate or (None, None, None)
        return {
            "name": self.name,
            "result": self.result,
            "words": self.words,
            "measure": self.measure,
            "value": _finite(value),
            "low": low,
            "high": _finite(high),
            "p": self.p,
            "corrected_p": self.corrected_p,
            "labels": self.labels,
            "items": self.items,
            "counts": [
                {
                    "group": one.group,
                    "people": one.people,
                    "passed": one.passed,
                    "items": one.items,
                }
                for one in self.counts
            ],
        }


def not_applicable(name: AuditName, why: str, labels: int = 0) -> Audit:
    """An audit that has no number, and why."""
    return Audit(name=name, result="not applicable", words=why, labels=labels, items=labels)


def _finite(value: float | None) -> float | None:
    """Infinity is no number of JSON."""
    return None if value is None or math.isinf(value) else value
