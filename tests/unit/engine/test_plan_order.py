"""Results in the plan's order, whatever finishes first."""

from __future__ import annotations

from evenhand.core.run import TrialResult
from evenhand.engine.agenda import InOrder


def test_a_result_waits_for_those_begun_before_it():
    """Handed on as soon as it can be, and not before; one without a result keeps nobody waiting."""
    told: list[int] = []
    order = InOrder(lambda result: told.append(result.index))
    for index in (3, 4, 7, 8):
        order.begin(index)
    order.end(4, TrialResult(index=4, case="c", variant=0, repeat=0, outcome="pass", score=1.0))
    assert told == []
    order.end(3, TrialResult(index=3, case="c", variant=0, repeat=0, outcome="pass", score=1.0))
    assert told == [3, 4]
    order.end(8, TrialResult(index=8, case="c", variant=0, repeat=0, outcome="pass", score=1.0))
    order.end(7, None)
    assert told == [3, 4, 8]
