"""What all calibrations have in common: how many labels they take, their verdicts, and what they are bound to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

from evenhand.core.encoding import digest
from evenhand.report.judged import JudgedMetric, Judgements
from evenhand.report.words import count
from evenhand.stats.correction import Estimate

FEWEST = 30
"""Labels below which there is no verdict."""
FEW = 50
"""Labels below which a warning is given."""
TELLS_APART = 0.3
"""The lower end of TPR + TNR − 1 has to be above this for a judge's own number to be read."""
UNLIKELY = 0.01
"""Labels that a random draw would give so seldom are taken for none."""


NOT_CHECKED = "not checked against people"
NO_VERDICT = "the judge gave no verdict"

TrustVerdict = Literal["usable", "usable with labels", "do not use", "no verdict"]
Bound = Mapping[str, str]
"""What a calibration holds for, as digests by name: of another one it says nothing."""


def estimate_row(estimate: Estimate | None) -> dict[str, float] | None:
    """A number and its interval, in the keys of documents."""
    return None if estimate is None else estimate._asdict()


def bound_to(metric: JudgedMetric, judged: Judgements, rule: str) -> Bound:
    """What a calibration of this judge holds for."""
    members = metric.model.split("+")
    basis = judged.parts.basis(metric.evals)
    return {
        "judge model": metric.model,
        "judge prompt": digest(*sorted(metric.instruments))[:16],
        "judge settings": digest(*(basis.settings.get(member, "") for member in members))[:16],
        "criteria": digest(*sorted(metric.criteria))[:16],
        "system": basis.system,
        "data": basis.data,
        "rule": digest(rule)[:16],
    }


def age(at: float | None) -> str:
    """How long ago, in days: `today`, `12 days old`."""
    days = 0 if at is None else int((time.time() - at) // 86_400)
    return "today" if days < 1 else f"{count(days, 'day')} old"
