"""Plans, which are not public: how front doors, the engine and tests go together. Type-checked, never executed."""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

from pathlib import Path
from typing import assert_type

from evenhand.core.expect import Trial
from evenhand.core.plan import Plan, Selection
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine.door import Finished, Settings, run
from evenhand.testing import Scripted, example


def plans() -> None:
    """A plan is loaded, then run; what comes back says where it is kept."""
    plan: Plan = load(Path("evals"), Chosen(Selection(first=10)))
    finished = run(plan, Settings(max_cost_usd=1.0), progress=None)
    assert_type(finished, Finished)
    assert_type(finished.path, Path)
    run("evals")  # pyright: ignore[reportArgumentType]
    Settings(max_costs=1.0)  # pyright: ignore[reportCallIssue]


def examples() -> None:
    """A plan of a body is run as any other."""

    async def body(trial: Trial) -> str:
        return trial.case.id

    plan: Plan = example(3, body, providers=[Scripted(["yes", "no"])])
    run(plan)
