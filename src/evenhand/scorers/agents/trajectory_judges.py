"""A judge's verdict on all that an agent did: whether it reached its goal, or met a criterion on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from evenhand.core.encoding import encode
from evenhand.core.errors import JudgeError, ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.step import Step, depth
from evenhand.core.traits import Traits
from evenhand.scorers.agents.trial_steps import own_places, own_steps, steps_in
from evenhand.scorers.constructor_checks import need_number, need_text
from evenhand.scorers.invocations import shown
from evenhand.scorers.judge_prompt import judge_prompt, mark_of
from evenhand.scorers.judge_reply import ruled
from evenhand.scorers.judging import (
    UNSURE,
    AsksJudge,
    answer_details,
    answer_schema,
    ask_judge,
    check_judge,
    lent_judge,
)
from evenhand.scorers.text import quoted, text_of

OUTPUT = 8_000
"""Characters of the output that a judge is shown; of more, the head and the tail."""
_KEYS = (
    'with the keys "reasoning", "step" (a number or null), "passes" (true or false) and "confidence" '
    "(from 0 to 1)"
)
_SCHEMA = answer_schema(step={"type": ["integer", "null"]}, passes={"type": "boolean"})
_Answer = tuple[bool, str, int | None, float | None]


@dataclass(frozen=True, slots=True)
class AchievesGoal(AsksJudge):
    """A judge who sees all steps says that the agent reached this goal.

    The judge is shown the steps of the output, where it has some, or else the trial's: at most 60 of them and 30,000
    characters, the head and the tail of what is longer. The metadata holds the step that decides, in `steps`.

    Args:
        goal: In words.
        context: What else the judge should know: the policy, say.
        judge: Who judges; the set's judge by default.
        unsure_below: A confidence below this is warned of.

    Raises:
        UsageError: There is no goal, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    goal: str
    context: str = field(default="", kw_only=True)
    unsure_below: float = field(default=UNSURE, kw_only=True)

    def __post_init__(self) -> None:
        _check("AchievesGoal", "goal", self.goal, self)

    async def score(self, output: Any, trial: Trial) -> Score:
        return await _judged(self, output, trial, goal=self.goal.strip())

    def __str__(self) -> str:
        return f"achieves the goal {quoted(self.goal.strip())}"


@dataclass(frozen=True, slots=True)
class TrajectoryPasses(AsksJudge):
    """A judge who sees all steps says that what the agent did meets the criteria; see `AchievesGoal`.

    Args:
        criteria: What the agent must do, or must not do, on its way, in words.
        context: What else the judge should know.
        judge: Who judges; the set's judge by default.
        unsure_below: A confidence below this is warned of.

    Raises:
        UsageError: There are no criteria, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    criteria: str
    context: str = field(default="", kw_only=True)
    unsure_below: float = field(default=UNSURE, kw_only=True)

    def __post_init__(self) -> None:
        _check("TrajectoryPasses", "criteria", self.criteria, self)

    async def score(self, output: Any, trial: Trial) -> Score:
        return await _judged(self, output, trial, criteria=self.criteria.strip())

    def __str__(self) -> str:
        return f"trajectory passes {quoted(self.criteria.strip())}"


_Question = AchievesGoal | TrajectoryPasses


def _check(who: str, what: str, said: object, question: _Question) -> None:
    check_judge(question.judge)
    need_text(who, what, said)
    if not str(said).strip():
        raise UsageError(f"{who}: there are no words for the {what}", hint="Say what is wanted.")
    need_text(who, "context", question.context)
    need_number(who, "unsure_below", question.unsure_below, (0, 1))


def _text(output: object) -> str:
    """The output as the judge reads it: an agent's own objects in Python's words."""
    try:
        return text_of(output)
    except ScoreError:
        return shown(output)


async def _judged(
    question: _Question, output: Any, trial: Trial, *, goal: str = "", criteria: str = ""
) -> Score:
    model = lent_judge(question.judge, trial)
    steps = steps_in(output, trial)
    own = own_steps(output)
    # If the steps are the output itself, the judge is shown them already.
    text = "" if output is None or own is not None else _clipped(_text(output))
    values = {
        "goal": goal,
        "criteria": criteria,
        "context": question.context,
        "steps": shown_steps(steps),
        "output": text,
    }
    mark = mark_of(*values.values())
    version, prompt = judge_prompt("trajectory", {"mark": mark, **values})
    read: Callable[[str], _Answer] = partial(_read, count=len(steps))
    reply, (passed, reasoning, step, confidence) = await ask_judge(
        model, prompt, read, _KEYS, _SCHEMA
    )
    places = [] if step is None else own_places([step - 1], steps, trial)
    judged, unsure_below = (values["steps"], text), question.unsure_below
    metadata = {
        "passes": passed,
        "reasoning": reasoning,
        "step": step,
        **({"steps": places} if places else {}),
        **answer_details(
            reply, model, version, confidence, *judged, unsure_below=unsure_below, prompt=prompt
        ),
    }
    reason = reasoning if step is None else f"step {step}: {reasoning}"
    return Score(1.0 if passed else 0.0, passed, reason, metadata)


def _read(text: str, *, count: int) -> _Answer:
    passed, reasoning, confidence, value = ruled(text, "passes")
    step = value.get("step")
    # True is an int in Python, and would be taken for step 1.
    if isinstance(step, bool) or not isinstance(step, (int, type(None))):
        raise JudgeError(f"the judge named step {step!r}, which is not a number")
    if step is not None and not 1 <= step <= count:
        raise JudgeError(f"the judge named step {step}, and there are {count}")
    return passed, reasoning, step, confidence


def _clipped(text: str) -> str:
    left = len(text) - OUTPUT
    if left <= 0:
        return text
    half = OUTPUT // 2
    return f"{text[:half]}\n… {left:,} characters left out …\n{text[-half:]}"


STEPS, TEXT = 60, 30_000
"""So many steps are shown, and characters of them in all."""
LONGEST, SHORTEST = 2_000, 120
"""Characters of one value: where there are few steps, and where there are many."""


def shown_steps(steps: Sequence[Step]) -> str:
    """The steps, counted from 1. What is left out is said, with how much it is. No steps: a line that says so.

    What an agent, a tool or a customer wrote stands in a line as JSON, so it can end neither its line nor the fence.
    """
    if not steps:
        return "(no steps)"
    half = STEPS // 2
    places = [*range(len(steps))]
    if len(steps) > STEPS:
        places = [*places[:half], *places[-half:]]
    most = LONGEST
    while True:
        lines = [_line(steps, place, most) for place in places]
        if most <= SHORTEST or sum(map(len, lines)) <= TEXT:
            break
        # All values become shorter together, so that no step is left out because another one is long.
        most = max(SHORTEST, most // 2)
    if len(places) < len(steps):
        first, last = half + 1, len(steps) - half
        lines.insert(half, f"… {len(steps) - STEPS:,} steps left out: {first:,} to {last:,} …")
    return "\n".join(lines)


def _line(steps: Sequence[Step], place: int, most: int) -> str:
    step = steps[place]
    words = [f"{'  ' * min(depth(steps, place), 8)}[{place + 1}]", step.kind, _json(step.name, 80)]
    if step.agent:
        words.append(f"by {_json(step.agent, 80)}")
    if step.kind == "tool" and step.arguments is not None:
        words.append(_json(step.arguments, most))
    if step.status != "unknown":
        words.append(f"-> {step.status}")
    if step.error:
        words.append(f"error {_json(step.error, most)}")
    if step.result is not None:
        words.append(f"result {_json(step.result, most)}")
    if step.duration_s is not None:
        words.append(f"({step.duration_s:.1f} s)")
    return " ".join(words)


def _json(value: object, most: int) -> str:
    """A value on one line: as JSON, the middle left out where it is long."""
    text = value if isinstance(value, str) else _written(value)
    if len(text) > most:
        half = most // 2
        left = len(text) - 2 * half
        value = text = f"{text[:half]} … {left:,} characters left out … {text[-half:]}"
    line = json.dumps(text, ensure_ascii=False) if isinstance(value, str) else text
    # JSON leaves these three as they are, and a reader may take them for the end of the line.
    return line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def _written(value: object) -> str:
    try:
        return encode(value, ordered=False).decode("utf-8", "replace")
    except (TypeError, ValueError):
        return repr(value)
