"""How many waves of batches a plan takes, as far as that is known before it has run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from evenhand.core.plan import CallEstimate, Plan
from evenhand.core.step import Step
from evenhand.store.runfile import RunFile

WALKED = 100_000
"""Trials that are looked at for how they come after one another."""
LOOKED_AT = 200
"""Trials of an earlier run that are looked at for how many answers they waited for."""
HOURS = 24


def planned_waves(
    plan: Plan, estimates: Sequence[CallEstimate], shares: Mapping[str, float]
) -> int:
    """The waves of a plan whose calls are known: one for answers, one for judges, as often as trials follow others.

    Args:
        estimates: Its calls.
        shares: The models that are asked in batches.

    Returns:
        At least so many; 0 where nothing is asked in batches.
    """
    roles = {one.role for one in estimates if one.calls and one.provider in shares}
    return len(roles) * _longest(plan) if roles else 0


def waves_of_run(run: RunFile) -> int:
    """The waves that a run took, or would have taken: the most answers that a trial waited for, one after another."""
    depths = run.depths()
    if depths:
        return max(depths.values())
    before: dict[int, int] = {}
    judged = False
    for call in run.ended():
        if call.role == "judge":
            judged = True
        elif call.role != "subject":
            before[call.trial] = before.get(call.trial, 0) + 1
    most = max(before.values(), default=0)
    one_call = {call.trial for call in run.ended() if call.role == "subject"}
    for place in islice(sorted(run.stepped()), LOOKED_AT):
        steps = run.kept_steps(place) or ()
        most = max(most, before.get(place, 0) + one_after_another(steps))
    return max(most, 1 if one_call else 0) + judged


def one_after_another(steps: Iterable[Step]) -> int:
    """The most calls of models among these, each of which began when the one before it had been answered."""
    number, free_s = 0, 0.0
    spans = [
        (one.started_s or 0.0, (one.started_s or 0.0) + (one.duration_s or 0.0))
        for one in steps
        if one.kind == "model"
    ]
    for start_s, end_s in sorted(spans, key=lambda span: span[1]):
        if not number or start_s >= free_s:
            number, free_s = number + 1, end_s
    return number


def waves_in_words(waves: int) -> str:
    """How many, and how long that may be.

    >>> waves_in_words(4)
    'about 4 waves, each of up to 24 h'
    """
    return (
        f"1 wave of up to {HOURS} h"
        if waves == 1
        else f"about {waves} waves, each of up to {HOURS} h"
    )


def _longest(plan: Plan) -> int:
    """The longest chain of trials that come after one another; 1 where none does."""
    depths: dict[int, int] = {}
    for planned in islice(plan.trials(), WALKED):
        if planned.after:
            depths[planned.index] = 1 + max(depths.get(i, 1) for i in planned.after)
    return max(depths.values(), default=1)
