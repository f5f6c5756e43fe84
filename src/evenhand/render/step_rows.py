"""A trial's steps in the keys of the documents: whole for one trial, and cut where a document has many of them."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from evenhand.core.document import filled
from evenhand.core.encoding import encode
from evenhand.core.run import TrialResult
from evenhand.core.step import Step
from evenhand.render.trial_document import RunStep
from evenhand.render.trial_steps import steps_of
from evenhand.store.runfile import RunFile

STEPS, TEXT = 200, 1_000
"""Of a trial among many: so many steps, and characters of a step's arguments and of its result."""


def step_row(step: Step) -> RunStep:
    """A step, in the keys of the document."""
    return filled(
        RunStep,
        step,
        started_s=_rounded(step.started_s),
        duration_s=_rounded(step.duration_s),
        cut=UNSET,
    )


def step_rows(run: RunFile, trial: TrialResult) -> list[RunStep]:
    """All steps of a trial."""
    return [step_row(step) for step in steps_of(run, trial)]


def bounded_steps(run: RunFile, trial: TrialResult, stepped: Container[int]) -> dict[str, Any]:
    """What a trial among many is told of its steps: `steps`, and `more_steps` where there are more of them.

    Args:
        run: The run.
        trial: One of its trials.
        stepped: The places of the trials that have steps of their own (`RunFile.stepped`). The others did nothing but
            ask once, which their prompt and output say.
    """
    if trial.index not in stepped:
        return {}
    steps = steps_of(run, trial)
    rows: dict[str, Any] = {"steps": [_cut(step_row(step)) for step in steps[:STEPS]]}
    return {**rows, "more_steps": len(steps) - STEPS} if len(steps) > STEPS else rows


def _cut(row: RunStep) -> RunStep:
    parts: dict[str, Any] = {}
    for name, value in (("arguments", row.arguments), ("result", row.result)):
        if value is None:
            continue
        text = value if isinstance(value, str) else encode(value, ordered=False).decode()
        if len(text) > TEXT:
            parts |= {name: text[:TEXT] + "…", "cut": True}
    return replace(row, **parts)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
