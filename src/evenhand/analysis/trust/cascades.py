"""How sure each judge of a cascade has to be, by labels; how many outputs each decided in a run, and at what cost.

How sure they have to be is chosen in a run in which both were asked about every output. Labels of
a draw say from which certainty on at most a share `risk` of the first judge's verdicts is wrong;
and of what that leaves, from which on of the second one's. Each has half of delta, so that both
hold together. A run that goes by such limits chooses no new ones: what the first judge decides
there, the second one hasn't seen, and what nobody decides has no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from evenhand.analysis.trust.calibration_document import CalibrationCascade
from evenhand.analysis.trust.judgements.judged import CascadeStages, Item, JudgedMetric
from evenhand.core.json_shapes import as_mapping
from evenhand.core.record import Record
from evenhand.core.wording.words import count, money, percent
from evenhand.stats.selective import DELTA, Acceptance, acceptable
from evenhand.store.runfile import RunFile

_KIND = "cascade:"


class CascadeCalibration(Record, frozen=True, kw_only=True):
    """How sure the judges of a cascade have to be.

    Attributes:
        id: The cascade's id.
        risk: The share of verdicts that stand which may be wrong.
        items: How many outputs both judged.
        labels: How many of them are labelled.
        first: What the first judge may decide; None where it may decide nothing.
        then: What the second one may decide of the rest; None where it may decide nothing.
        questions: Digests of what they were asked, sorted.
    """

    id: str
    risk: float
    items: int
    labels: int
    first: Acceptance | None
    then: Acceptance | None
    questions: list[str]

    @property
    def decided_first(self) -> int:
        """How many of these outputs the first judge would decide."""
        return 0 if self.first is None else self.first.accepted

    @property
    def decided_then(self) -> int:
        """How many of the rest the second one would decide."""
        return 0 if self.then is None else self.then.accepted

    def row(self) -> CalibrationCascade:
        """The keys of `evenhand.calibration/1`."""
        return CalibrationCascade(
            id=self.id,
            risk=self.risk,
            confidence=1 - DELTA,
            first=None if self.first is None else self.first.threshold,
            then=None if self.then is None else self.then.threshold,
            decided_first=self.decided_first,
            decided_then=self.decided_then,
            items=self.items,
            questions=self.questions,
        )

    def lines(self) -> list[str]:
        """What later runs go by, in words."""
        at = f"at a risk of {self.risk * 100:g} % ({percent(1 - DELTA)} confidence)"
        if self.first is None:
            words = f"the first judge decides nothing {at}: it saves nothing; label more, or name the second one alone"
        else:
            words = (
                f"the first judge decides {self.decided_first:,} of {count(self.items, 'output')} from "
                f"{self.first.threshold:.2f} on, {at}"
            )
        rest = self.items - self.decided_first
        if self.then is None:
            then = f"the second one decides none of the {rest:,} others, which are for a person"
        else:
            left = rest - self.decided_then
            then = f"the second one decides {self.decided_then:,} of the {rest:,} others"
            then += f" from {self.then.threshold:.2f} on"
            then += f"; {left:,} are for a person" if left else ""
        return [words, then]


def cascade_calibration(
    metric: JudgedMetric, people: Mapping[Item, bool]
) -> CascadeCalibration | None:
    """How sure the judges of a metric's cascade have to be; None for one judge, and in a run that goes by such limits.

    Args:
        metric: What the cascade said.
        people: People's verdicts on a uniform draw, in its order.
    """
    stages = {item: item.stages for item in metric.items if item.stages is not None}
    if not people or len(stages) < len(metric.items) or metric.undecided:
        return None
    if any(one.then is None for one in stages.values()):
        return None
    some = next(iter(stages.values()))
    first = _accepted(
        [
            (one.first, one.first_passed is passed)
            for item, passed in people.items()
            for one in [stages[item]]
            if one.first is not None
        ],
        [one.first for one in stages.values() if one.first is not None],
        some.risk,
    )

    def is_left(one: CascadeStages) -> bool:
        return first is None or one.first is None or one.first < first.threshold

    then = _accepted(
        [
            (one.then, item.passed is passed)
            for item, passed in people.items()
            for one in [stages[item]]
            if one.then is not None and is_left(one)
        ],
        [one.then for one in stages.values() if one.then is not None and is_left(one)],
        some.risk,
    )
    return CascadeCalibration(
        id=some.id,
        risk=some.risk,
        items=len(metric.items),
        labels=len(people),
        first=first,
        then=then,
        questions=sorted(metric.instruments),
    )


def _accepted(
    labelled: Sequence[tuple[float, bool]], everything: Sequence[float], risk: float
) -> Acceptance | None:
    if not labelled:
        return None
    return acceptable(labelled, everything, risk, DELTA / 2, later=True)


def cascade_lines(run: RunFile, metrics: Mapping[tuple[str, str], JudgedMetric]) -> list[str]:
    """How many outputs each judge of a run's cascades decided, what it cost, and what it would have cost without."""
    lines: list[str] = []
    ids: dict[str, int] = {}
    for metric in metrics.values():
        stages = [item.stages for item in metric.items if item.stages is not None]
        if not stages:
            continue
        first = sum(one.stage == "first" for one in stages)
        left = f", nobody {len(metric.undecided):,}" if metric.undecided else ""
        lines.append(
            f"{metric.metric}: the first judge decided {first:,}, the second {len(stages) - first:,}{left}"
        )
        outputs = len(stages) + len(metric.undecided)
        ids[stages[0].id] = ids.get(stages[0].id, 0) + outputs
    for id_, verdicts in ids.items():
        lines.append(_cost_line(run, id_, verdicts))
    return lines


def _cost_line(run: RunFile, id_: str, verdicts: int) -> str:
    """What the judges of a cascade cost, and what the second one alone would have cost."""
    table = as_mapping(json.loads(id_.removeprefix(_KIND)))
    first_id = str(table.get("first"))
    costs: dict[bool, list[float | None]] = {True: [], False: []}
    for call in run.calls():
        if call.start.role == "judge" and call.end is not None:
            costs[call.start.provider == first_id].append(call.end.cost_usd)
    sums = {side: _sum(known) for side, known in costs.items()}
    words = [
        "price not known" if total is None else money(total) for total in (sums[True], sums[False])
    ]
    line = f"cost of judging: {words[0]} for the first, {words[1]} for the second judge"
    total = sums[False]
    if total is None or not costs[False]:
        return f"{line}; what the second one alone would have cost is not known"
    alone = total / len(costs[False]) * verdicts
    return f"{line}; the second one alone would have cost about {money(alone)}"


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
