"""How much an agent did, and what it took: steps, tokens, money, time. What is not known is an error, never 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.names import did_you_mean
from evenhand.core.score import Score
from evenhand.core.scripted import SCRIPT_HAS_NO_PRICE, script_answers
from evenhand.core.step import Step, StepKind
from evenhand.core.traits import Traits
from evenhand.core.wording.words import count as number_of
from evenhand.scorers.agents.trial_steps import own_places, steps_in
from evenhand.scorers.constructor_checks import need_text
from evenhand.scorers.opposite import Question


@dataclass(frozen=True, slots=True)
class StepCount(Question):
    """How many steps there are; of a kind, or with a name: `StepCount("tool", "search")`.

    Attributes:
        kind: `model`, `tool`, `agent` or `message`; empty for all.
        name: Of the tool, the agent or the model, or who spoke; empty for all.
    """

    traits: ClassVar[Traits] = Traits(gives="number", lower_is_better=True, counted=False)
    kind: StepKind | None = None
    name: str = ""

    def __post_init__(self) -> None:
        kinds = get_args(StepKind)
        if self.kind is not None and self.kind not in kinds:
            hint = did_you_mean(str(self.kind), kinds, f"There are: {', '.join(kinds)}.")
            raise UsageError(f"StepCount: kind is {self.kind!r}", hint=hint)
        need_text("StepCount", "name", self.name)

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        counted = [
            place
            for place, step in enumerate(steps)
            if self.kind in (None, step.kind) and self.name in ("", step.name)
        ]
        chosen = self.kind is not None or bool(self.name)
        places = own_places(counted, steps, trial) if chosen else []
        reason = f"{len(counted)} of {number_of(len(steps), 'step')}"
        return Score(float(len(counted)), None, reason, {"steps": places} if places else {})

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, "steps", self.name)))


@dataclass(frozen=True, slots=True)
class TokenCount(Question):
    """The tokens that all model calls read and wrote. It is an error where a vendor did not say."""

    traits: ClassVar[Traits] = Traits(gives="number", lower_is_better=True, counted=False)

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        counts = [_plus(step.tokens_in, step.tokens_out) for step in steps]
        total, count = _summed(counts, steps, "how many tokens {} took")
        return Score(total, None, number_of(count, "model call"))

    def __str__(self) -> str:
        return "tokens"


@dataclass(frozen=True, slots=True)
class StepCost(Question):
    """What all steps cost, in US dollars. It is an error where the price of a model call is not known.

    It is not applicable to scripted replies (`--offline`).
    """

    traits: ClassVar[Traits] = Traits(gives="number", lower_is_better=True, counted=False)

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        try:
            total, count = _summed([step.cost_usd for step in steps], steps, "what {} cost")
        except ScoreError:
            if script_answers():
                return Score(None, reason=SCRIPT_HAS_NO_PRICE)
            raise
        return Score(total, None, f"{number_of(count, 'step')} with a price")

    def __str__(self) -> str:
        return "cost of all steps"


@dataclass(frozen=True, slots=True)
class StepDuration(Question):
    """Seconds from the beginning of the first step to the end of the last. Replayed answers count as they took."""

    traits: ClassVar[Traits] = Traits(gives="number", lower_is_better=True, counted=False)

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        began: list[float] = []
        ended: list[float] = []
        open_: list[tuple[float, str]] = []
        for step in steps:
            if step.started_s is None:
                continue
            if (
                step.record.startswith("tool:")
                and step.status != "unknown"
                and step.duration_s is None
            ):
                raise ScoreError(f"the recording doesn't say how long the tool {step.name} took")
            began.append(step.started_s)
            if step.duration_s is not None or step.kind == "message":
                ended.append(step.started_s + (step.duration_s or 0.0))
            else:
                open_.append((step.started_s, step.name))
        if not began:
            raise ScoreError("none of the steps says when it began")
        end = max(ended, default=-math.inf)
        # What others come after has ended by then, as far as anybody can see.
        last = max(open_, default=(-math.inf, ""))
        if open_ and last[0] >= end:
            raise ScoreError(f"nobody says when the last step, {last[1]}, ended")
        return Score(end - min(began), None, number_of(len(steps), "step"))

    def __str__(self) -> str:
        return "seconds of all steps"


def _plus(a: int | None, b: int | None) -> int | None:
    # A vendor may report only one of the two; the number is unknown only where both are missing.
    return None if a is None and b is None else (a or 0) + (b or 0)


def _summed(numbers: Sequence[float | None], steps: Sequence[Step], what: str) -> tuple[float, int]:
    """The sum of what steps say, and of how many; where a step says what steps within it say too, only theirs count.

    Where a model call within a step doesn't say, the step's own number stands for all that is within it.

    Raises:
        ScoreError: A model call doesn't say, and no step that it is within does.
    """
    around: set[int] = set()  # steps whose number stands for those within
    silent: list[Step] = []
    for place, number in enumerate(numbers):
        if number is None and steps[place].kind == "model":
            telling = [at for at in _above(steps, place) if numbers[at] is not None]
            # The innermost step is enough: those further out include its number already.
            around.update(telling[:1])
            silent += [] if telling else [steps[place]]
    if silent:
        more = f" and {len(silent) - 1} more" if len(silent) > 1 else ""
        raise ScoreError(f"nobody says {what.format(silent[0].name)}{more}")
    above: set[int] = set()
    covered: set[int] = set()
    for place, number in enumerate(numbers):
        parents = list(_above(steps, place)) if number is not None or around else []
        if around.intersection(parents):
            covered.add(place)
        elif number is not None:
            above.update(parents)
    counted = [
        n for i, n in enumerate(numbers) if n is not None and i not in above and i not in covered
    ]
    return float(sum(counted)), len(counted)


def _above(steps: Sequence[Step], place: int) -> Iterator[int]:
    """The places of the steps that one is within, the innermost first."""
    parent = steps[place].parent
    child = place
    while parent is not None and 0 <= parent < child:  # a parent stands before its children
        yield parent
        child, parent = parent, steps[parent].parent
