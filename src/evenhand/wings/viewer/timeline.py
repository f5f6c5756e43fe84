"""A trial's steps as the page draws them: some at once, of each what a line shows, the rest when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any

from evenhand.core.document import Key, as_object, filled
from evenhand.core.encoding import encode
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import TrialResult
from evenhand.core.step import Step, StepKind, StepStatus, depth
from evenhand.render.step_lines import blaming
from evenhand.render.step_rows import step_row
from evenhand.render.trial_steps import steps_of
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.columns import text_of

PAGE, TEXT = 300, 1_500
"""Steps that are sent at once, and characters of the arguments and of the result of each."""
SUMS = 12
"""So many models, tools and agents are summed up; those that took longest."""


class DrawnStep(Record, frozen=True, kw_only=True):
    """One thing that an agent did. Arguments and result are text, cut where `cut` says so."""

    place: Annotated[int, Key("Among the trial's steps, from 0, and how deep it is nested.")]
    depth: int
    kind: StepKind
    name: str
    agent: str
    status: StepStatus
    error: str
    arguments: str
    result: str
    cut: bool
    started_s: float | None
    duration_s: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


class StepSum(MutableRecord, kw_only=True):
    """What all steps of a kind and a name took, as far as it is known."""

    kind: StepKind
    name: str
    count: int = 0
    failed: int = 0
    duration_s: float = 0.0
    cost_usd: float = 0.0


class StepPage(Record, frozen=True, kw_only=True):
    """Some of a trial's steps, and what is to be said of all of them."""

    first: Annotated[int, Key("The place of the first of these, from 0.")]
    total: int
    size: Annotated[int, Key("How many come at once.")]
    took_s: Annotated[
        float,
        Key(
            "Seconds from the beginning of the first step to the end of the last, as far as they are known."
        ),
    ]
    steps: Sequence[DrawnStep]
    sums: Annotated[Sequence[StepSum], Key("By kind and name, what took longest first.")]
    blamed: Annotated[
        Sequence[tuple[int, Sequence[str]]],
        Key(
            "The places of steps that are named by expectations which did not pass, with the names of these."
        ),
    ]


def steps_page(run: RunFile, trial: TrialResult, first: int | None = None) -> StepPage | None:
    """The steps of a trial from a place on; None for a trial that did nothing but ask a model once.

    Args:
        run: Its run.
        trial: It.
        first: From there on; by default, so that the first step that an expectation blames is among them, or else the
            first that failed in a trial that did not pass.
    """
    if run.kept_steps(trial.index) is None:
        return None
    steps = steps_of(run, trial)
    blamed = {
        place: names for place, names in blaming(trial.outcomes).items() if 0 <= place < len(steps)
    }
    if first is None:
        first = min(blamed, default=_first_failure(steps, trial)) // PAGE * PAGE
    drawn = [drawn_step(steps, place) for place in range(first, min(first + PAGE, len(steps)))]
    ends = [(s.started_s or 0.0) + (s.duration_s or 0.0) for s in steps]
    return StepPage(
        first=first,
        total=len(steps),
        size=PAGE,
        took_s=max(ends, default=0.0),
        steps=drawn,
        sums=_sums(steps),
        blamed=[(place, names[:5]) for place, names in islice(sorted(blamed.items()), PAGE)],
    )


def drawn_step(steps: Sequence[Step], place: int) -> DrawnStep:
    """A step as a line of the page."""
    step = steps[place]
    arguments, result = _text(step.arguments), _text(step.result)
    return filled(
        DrawnStep,
        step,
        place=place,
        depth=depth(steps, place),
        name=step.name[:TEXT],
        agent=step.agent[:TEXT],
        error=step.error[:TEXT],
        arguments=arguments[:TEXT],
        result=result[:TEXT],
        cut=max(map(len, (arguments, result, step.name, step.error, step.agent))) > TEXT,
    )


def whole_step(run: RunFile, trial: TrialResult, place: int) -> dict[str, Any] | None:
    """A step whole, in the keys of the document; None where there is none at this place."""
    steps = steps_of(run, trial)
    return as_object(step_row(steps[place])) if place < len(steps) else None


def _first_failure(steps: Sequence[Step], trial: TrialResult) -> int:
    """The place of the first step that failed, of a trial that did not pass; 0 for none."""
    if trial.outcome == "pass":
        return 0
    return next((place for place, step in enumerate(steps) if step.status == "error"), 0)


def _sums(steps: Sequence[Step]) -> list[StepSum]:
    sums: dict[tuple[StepKind, str], StepSum] = {}
    for step in steps:
        if step.kind == "message":
            continue
        key = step.kind, step.name[:80]
        one = sums.setdefault(key, StepSum(kind=key[0], name=key[1]))
        one.count += 1
        one.failed += step.status == "error"
        one.duration_s += step.duration_s or 0.0
        one.cost_usd += step.cost_usd or 0.0
    longest = sorted(sums.values(), key=lambda one: (-one.duration_s, -one.count))
    return longest[:SUMS]


def _text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return text_of(value)
    except (TypeError, ValueError):
        return encode(value, ordered=False).decode("utf-8", "replace")
