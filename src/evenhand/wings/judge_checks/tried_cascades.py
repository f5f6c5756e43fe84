"""A cascade beside one judge: what it would decide, and cost, by limits that the half that chooses says.

Its judges are both asked about every output in a tryout. Their limits come from the labels that choose a variant, so
that the other half, which confirms, has no say in them.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from evenhand.analysis.trust.agreement import tells_apart
from evenhand.analysis.trust.judgements.judged import CascadeStages
from evenhand.stats.cascading import JudgedTwice, Limits, limits_of
from evenhand.wings.judge_checks.tried import CHOOSING, Tried, TriedCascade, TriedItem

Paid = Mapping[str, float | None]
"""What the judges of an output cost, by model."""


def cascaded(both: Tried, stages: Mapping[int, CascadeStages], paid: Mapping[int, Paid]) -> Tried:
    """The cascade: whose verdict stands on each output, and what that takes.

    Args:
        both: The verdicts of its second judge, who was asked about all.
        stages: What both said, by output.
        paid: What both cost, by output.

    Returns:
        `both` as it is where no limits can be chosen: a run of it would ask both, too.
    """
    some = next(iter(stages.values()), None)
    choosing = [one for one in both.items if one.half == CHOOSING and one.index in stages]
    if some is None or not choosing:
        return both
    tells = tells_apart(
        [
            (passed, one.people)
            for one in choosing
            if (passed := stages[one.index].first_passed) is not None
        ]
    )

    def judged(one: TriedItem) -> JudgedTwice:
        both_judges = stages[one.index]
        verdict = both.verdicts.get(one.index)
        return JudgedTwice(
            first=both_judges.first if tells else None,
            then=both_judges.then or 0.0,
            first_right=both_judges.first_passed is one.people,
            then_right=None if verdict is None else verdict is one.people,
        )

    everything = {one.index: judged(one) for one in both.items if one.index in stages}
    cases: set[str] = set()
    drawn: list[JudgedTwice] = []
    for one in choosing:  # of several outputs of a case, which may be alike, one counts
        if one.case not in cases:
            cases.add(one.case)
            drawn.append(everything[one.index])
    limits = limits_of([drawn], list(everything.values()), some.risk)
    if limits is None:
        return both
    return _by_limits(both, stages, paid, everything, limits)


def _by_limits(
    both: Tried,
    stages: Mapping[int, CascadeStages],
    paid: Mapping[int, Paid],
    everything: Mapping[int, JudgedTwice],
    limits: Limits,
) -> Tried:
    verdicts = dict(both.verdicts)
    decides = {index: limits.stage(one) for index, one in everything.items()}
    for index, stage in decides.items():
        if stage != "then":
            verdicts[index] = stages[index].first_passed if stage == "first" else None
    costs = [
        cost
        for index, stage in decides.items()
        if (cost := _cost(stages[index], paid.get(index, {}), alone=stage == "first")) is not None
    ]
    words = list(decides.values())
    return replace(
        both,
        verdicts=verdicts,
        per_verdict_usd=sum(costs) / len(costs) if costs else None,
        cascade=TriedCascade(
            risk=next(iter(stages.values())).risk,
            first=limits.first,
            then=limits.then,
            decided_first=words.count("first"),
            decided_then=words.count("then"),
            people=words.count("people"),
        ),
    )


def _cost(stages: CascadeStages, paid: Paid, *, alone: bool) -> float | None:
    """What an output costs: the first judge, and the second one where the first does not decide."""
    first, then = (paid.get(model) for model in stages.judges)
    if first is None or alone:
        return first
    return None if then is None else first + then
