"""Memory is given back while a run goes on."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from tests.unit.engine.test_agenda import linked

from evenhand.core.expect import Trial
from evenhand.core.step import Step
from evenhand.engine.trial import LiveTrial


def trials() -> list[LiveTrial]:
    """Those that there are, of this run and of others."""
    return [
        one for one in gc.get_objects() if type(one) is LiveTrial
    ]  # not asking `__class__` of proxies


async def body(trial: Trial) -> object:
    """Says which case it is."""
    return trial.case.id


async def stepping(trial: Trial) -> object:
    """Does something, too."""
    trial.step_ended(trial.step(Step("tool", "look")))
    return trial.case.id


@pytest.mark.thorough
@pytest.mark.parametrize("does", [body, stepping])
def test_a_settled_trial_is_gone_before_the_cycle_collector_looks(runs: Any, does: Any) -> None:
    """Whatever refers to it in a circle would be held for a hundred thousand objects, and cost a twentieth of a run."""
    gc.collect()
    before = {id(one) for one in trials()}
    gc.disable()
    try:
        runs.run(linked(20, does, after=lambda _: ()), concurrency=4)
        left = [one for one in trials() if id(one) not in before]
    finally:
        gc.enable()
    assert left == []
