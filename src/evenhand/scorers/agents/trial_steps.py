"""The steps that a scorer looks at: those of the output, where it has some, or else the trial's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import get_args

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_mapping
from evenhand.core.message import Reply
from evenhand.core.score import Score
from evenhand.core.step import Step, StepKind, StepStatus
from evenhand.scorers.invocations import Invocation, invocations, listed_calls
from evenhand.scorers.text import quoted

Failed = Callable[[Step], bool]
"""Says of a tool's call whether it failed, in the place of its status."""

_KINDS = frozenset(get_args(StepKind))
_FIELDS = frozenset(field.name for field in fields(Step))
SHOWN = 5
"""So many steps are named in a reason."""


def steps_in(output: object, trial: Trial | None) -> Sequence[Step]:
    """The steps of an output: a list of them, or what has `steps`; of any other output, those of its trial.

    An empty list is no steps.

    Raises:
        ScoreError: There are none to look at: the run has seen nothing of what the application did.
    """
    own = own_steps(output)
    if own is not None:
        return own
    steps = trial.steps if trial is not None else ()
    if not steps:
        raise ScoreError(
            "there are no steps: the run has seen nothing of what the application did",
            hint="Record its tools with @recording.tool and its model's client with recording.http_client(), report "
            "steps with expect.step(…), or give a list of steps.",
        )
    return steps


def own_steps(output: object) -> Sequence[Step] | None:
    """The steps that an output holds; None where it is nothing that holds steps."""
    if isinstance(output, (list, tuple)):
        listed = [_step(item) for item in output]
        steps = [step for step in listed if step is not None]
        # A list with anything else in it is an output of its own, such as a list of messages.
        return steps if len(steps) == len(listed) else None
    if is_mapping(output):
        inner = output.get("steps")
    else:
        inner = getattr(output, "steps", None)
        if isinstance(output, Reply) and not inner:
            return None  # of a model that answers at once
    return own_steps(inner) if isinstance(inner, (list, tuple)) else None


def _step(item: object) -> Step | None:
    """A step, or what a document says of one."""
    if isinstance(item, Step):
        return item
    if not is_mapping(item):
        return None
    if item.get("kind") not in _KINDS or not isinstance(item.get("name"), str):
        return None
    return Step(**{name: value for name, value in item.items() if name in _FIELDS})


def tool_calls(steps: Sequence[Step]) -> list[tuple[int, Step]]:
    """The calls of tools among steps, with their places."""
    return [(place, step) for place, step in enumerate(steps) if step.kind == "tool"]


def invocation(step: Step) -> Invocation:
    """A tool's step as a call. Arguments that are no object, or not known, cannot be read."""
    arguments = step.arguments
    known = arguments if is_mapping(arguments) else None
    return Invocation(step.name, known, step.call, arguments)


def calls_in(output: object, trial: Trial | None) -> Sequence[Invocation]:
    """The calls that an output lists; of its steps, where it has some; of an output that can list none, the trial's.

    An answer that can list none is a text, a conversation, a number, an application's own object.

    Raises:
        ScoreError: It can list none, and its trial has no steps either.
    """
    steps = own_steps(output)
    if not steps:
        calls = listed_calls(output)
        if calls is not None:
            return calls
    if steps is None:
        steps = trial.steps if trial is not None else ()
        if not steps:
            return invocations(output)  # which raises
    return [invocation(step) for _, step in tool_calls(steps)]


def status_of(step: Step, failed: Failed | None) -> StepStatus:
    """How a step ended: as `failed` says, or else its status."""
    if failed is None:
        return step.status
    return "error" if failed(step) else "ok"


def unsaid(question: object, steps: Iterable[tuple[int, Step]]) -> ScoreError:
    """What to say where nobody says how a call ended, and the verdict hangs on it."""
    place, step = next(iter(steps))
    return ScoreError(
        f"{question}: it is unknown whether step {place + 1}, {step.name}, succeeded",
        hint="Record the tool with @recording.tool, or say how to tell: failed=lambda step: 'error' in step.result.",
    )


def check_failed(who: str, failed: object) -> None:
    """Refuses what is no function.

    Raises:
        UsageError: It isn't one.
    """
    if failed is not None and not callable(failed):
        raise UsageError(
            f"{who}: failed is {failed!r}", hint="Give a function of a step: lambda step: …"
        )


def named_steps(steps: Iterable[tuple[int, Step]]) -> str:
    """Steps in words: `step 3 refund(…), step 7 refund(…)`."""
    listed = list(steps)
    words = [words_of(place, step) for place, step in listed[:SHOWN]]
    more = len(listed) - SHOWN
    return ", ".join([*words, f"and {more} more"] if more > 0 else words)


def words_of(place: int, step: Step) -> str:
    """A step in words."""
    what = str(invocation(step)) if step.kind == "tool" else f"{step.kind} {quoted(step.name)}"
    return f"step {place + 1} {what}" + (f": {quoted(step.error)}" if step.error else "")


def verdict(
    passed: bool, reason: str, named: Iterable[int], steps: Sequence[Step], trial: Trial | None
) -> Score:
    """The score of a yes-or-no question about steps, which names the steps that it hangs on.

    Args:
        named: The places of the steps.
        steps: Those that were looked at.
        trial: The trial, whose places are kept: where the steps are not its own, none are.
    """
    places = own_places(list(named), steps, trial)
    metadata = {"steps": places} if places else {}
    return Score(1.0 if passed else 0.0, passed, reason, metadata)


def own_places(named: Sequence[int], steps: Sequence[Step], trial: Trial | None) -> list[int]:
    """The places among the trial's own steps of these among others; empty where the others are not all its own."""
    whole = trial.steps if trial is not None and named else ()
    # The steps are the trial's own, so the places hold. A search would take equal steps for the first of them.
    if len(whole) == len(steps) and all(whole[place].name == steps[place].name for place in named):
        return list(named)
    places: list[int] = []
    for place in named:
        at = next((i for i, step in enumerate(whole) if step == steps[place]), None)
        if at is None:
            return []
        places.append(at)
    return places
