"""Limits on the time of a trial and of a run: what takes longer is an error, and all else is as it was."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from evenhand.core.expect import Expectation, Trial
from evenhand.core.plan import RunOptions
from evenhand.core.run import TrialResult
from evenhand.core.score import Score, check
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import example


async def waiting(trial: Trial) -> object:
    """A body that waits for the number of its case, in tenths of a second."""
    await asyncio.sleep(trial.case.vars["n"] / 10)
    return "done"


class Slow:
    """A scorer that takes its time."""

    def __str__(self) -> str:
        return "slow"

    async def score(self, output: object, trial: Trial) -> Score:
        del output, trial
        await asyncio.sleep(30)
        return check(passed=True)


async def settled(plan: object, home: Path) -> list[TrialResult]:
    """The results of a plan."""
    finished = await door.settle(plan, Settings(home=home, concurrency=1))  # pyright: ignore[reportArgumentType]
    assert finished.ending.status == "finished"
    with RunFile.open(finished.path) as run:
        return list(run.trials())


def told(results: list[TrialResult]) -> list[tuple[str, str]]:
    """Outcomes, and what is said of errors."""
    return [(r.outcome, f"{r.error.slug}: {r.error.message}" if r.error else "") for r in results]


async def test_a_trial_over_its_limit_is_an_error_and_the_others_go_on(tmp_path: Path) -> None:
    """Only the slow one, and its time is not waited for."""
    bodies = iter((waiting, waiting, waiting))

    async def body(trial: Trial) -> object:
        if trial.case.vars["n"] == 1:
            await asyncio.sleep(30)
        return await next(bodies)(trial)

    plan = example(3, body, options=RunOptions(trial_limit_s=0.5))
    late = ("error", "out-of-time: it took longer than 0.5 s and was given up")
    fine = ("pass", "")
    assert told(await settled(plan, tmp_path)) == [fine, late, fine]


async def test_the_time_of_a_scorer_counts(tmp_path: Path) -> None:
    """A judge that hangs is over the limit like a model; the output is kept."""

    async def body(trial: Trial) -> object:
        trial.expect(Expectation("text", Slow()))
        return "text"

    (result,) = await settled(example(1, body, options=RunOptions(trial_limit_s=0.1)), tmp_path)
    assert result.outcome == "error"
    assert result.output == "text"
    assert result.error is not None
    assert result.error.slug == "out-of-time"


async def test_what_a_run_has_no_time_for_is_an_error_and_is_not_begun(tmp_path: Path) -> None:
    """Trials under way are given up, and the others are never asked."""
    begun: list[int] = []

    async def body(trial: Trial) -> object:
        begun.append(trial.case.vars["n"])
        await asyncio.sleep(900 * (trial.case.vars["n"] > 0))
        return "done"

    started = time.monotonic()
    results = await settled(example(4, body, options=RunOptions(run_limit_s=0.3)), tmp_path)
    assert time.monotonic() - started < 300
    assert told(results)[1:] == [("error", "out-of-time: the run took longer than 0.3 s")] * 3
    assert results[0].outcome == "pass"
    assert begun == [0, 1]


async def test_a_user_s_own_timeout_is_its_own_error(tmp_path: Path) -> None:
    """Within the limit, a TimeoutError of the body is told as what it is."""

    async def body(trial: Trial) -> object:
        del trial
        raise TimeoutError("mine")

    (result,) = await settled(example(1, body, options=RunOptions(trial_limit_s=5)), tmp_path)
    assert result.error is not None
    assert (result.error.slug, "mine" in result.error.message) == ("code", True)
