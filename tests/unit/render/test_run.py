"""A run as its user holds it: it has a run file, and reads what that says."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.unit.conftest import Make, result

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.step import Step
from evenhand.render.comparing import compare
from evenhand.render.run import Run
from evenhand.store.runfile import RunFile


async def test_a_run_says_what_its_file_says(make_run: Make) -> None:
    """Counts, trials, calls, labels and what is said of the whole are read from the file that it holds."""
    made = await make_run([result(0), result(1, ok=False)])
    with Run.open(made.path) as run:
        assert not isinstance(run, RunFile)
        assert (run.path, run.meta, run.remarks) == (made.path, made.meta, made.remarks)
        assert run.totals() == made.totals()
        assert list(run.trials()) == list(made.trials())
        assert run.trial(1) == made.trial(1)
        assert list(run.calls()) == list(made.calls())
        assert list(run.labels()) == list(made.labels())
        assert (run.usage(), run.spend()) == (made.usage(), made.spend())
        assert run.alive is made.alive is False
        assert run.verdict == "failed"


async def test_a_run_gives_the_steps_of_a_trial(make_run: Make) -> None:
    """Whole, of a trial or of its index; a trial that isn't there is a mistake, and no trial without steps."""
    steps = (Step("tool", "refund", {"id": 7}, "done", status="ok", started_s=0.0),)
    made = await make_run([replace(result(0), steps=steps), result(1)])
    with Run.open(made.path) as run:
        assert run.steps(0) == list(steps)
        assert [run.steps(trial) for trial in run.trials()] == [list(steps), []]
        with pytest.raises(UsageError, match="no result of trial 2"):
            run.steps(2)


async def test_a_run_and_its_file_are_compared_alike(make_run: Make) -> None:
    """Whichever of the two is given, and a run that is closed says so in one line."""
    first = await make_run([result(i, ok=False) for i in range(8)])
    second = await make_run([result(i) for i in range(8)])
    with Run.open(first.path) as a, Run.open(second.path) as b:
        assert str(compare(a, b)) == str(compare(a.file, b.file)) == str(compare(first, second))
    with pytest.raises(StoreError, match="was closed before it was read"):
        a.totals()
