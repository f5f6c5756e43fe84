"""Whatever an eval gives as an agent's answer, scorers of calls and of steps look at what the trial did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import pydantic
import pytest

from evenhand import Conversation, EvalSet, Expect, run
from evenhand.core.score import Outcome
from evenhand.scorers import (
    AchievesGoal,
    CallsTool,
    CallsTools,
    NeverFails,
    NeverLoops,
    NeverRepeats,
    NeverSucceeds,
    OnlyCalls,
    Recovers,
    StepCount,
    Succeeds,
    TrajectoryPasses,
)
from evenhand.testing import Scripted

JUDGE = Scripted(('{"reasoning": "it did", "step": null, "passes": true, "confidence": 1}',))


class Person(pydantic.BaseModel):
    name: str
    input: str | None = None


class Reply(pydantic.BaseModel):
    content: str
    choices: list[str] = []


@dataclass
class Ticket:
    name: str
    steps: list[str] = field(default_factory=list[str])


class State(Enum):
    DONE = "done"


ANSWERS: dict[str, Any] = {
    "a text": "refunded",
    "no text": "",
    "nothing": None,
    "a number": 42,
    "a float": 4.2,
    "a bool": True,
    "bytes": b"refunded",
    "a date": date(2026, 1, 1),
    "an enum": State.DONE,
    "a dict": {"answer": "refunded", "amount": 20},
    "a dict with a name": {"name": "Ada", "age": 36},
    "a dict with a content": {"content": "refunded"},
    "a dict with a message": {"message": {"title": "refunded"}},
    "a dict with choices": {"choices": ["yes", "no"]},
    "a dict with an output": {"output": ["refunded", "closed"]},
    "a dict with steps of its own": {"steps": ["mix", "bake"]},
    "a list of texts": ["refunded", "closed"],
    "a list of dicts": [{"id": 1}, {"id": 2}],
    "pydantic's": Person(name="Ada"),
    "pydantic's with a content": Reply(content="refunded", choices=["yes"]),
    "a dataclass": Ticket("Ada", ["mix", "bake"]),
    "an object": object(),
}
SCORERS: dict[str, Callable[[], Any]] = {
    "calls": lambda: CallsTool("refund", {"id": 7}),
    "calls, and it did not": lambda: CallsTool("Ada"),
    "calls not": lambda: ~CallsTool("refund"),
    "calls not, and it did not": lambda: ~CallsTool("Ada"),
    "calls all": lambda: CallsTools(["find", "refund"], order="in_order"),
    "calls other": lambda: CallsTools(["refund"], order="exact"),
    "only": lambda: OnlyCalls(["find", "refund"]),
    "only others": lambda: OnlyCalls(["find"]),
    "succeeds": lambda: Succeeds("refund", {"id": 7}),
    "succeeds not": lambda: ~Succeeds("find"),
    "never succeeds": lambda: NeverSucceeds("refund"),
    "never succeeds not": lambda: ~NeverSucceeds("find"),
    "never fails": NeverFails,
    "recovers": lambda: Recovers("find", by=["refund"]),
    "never repeats": NeverRepeats,
    "never loops": NeverLoops,
    "steps": lambda: StepCount("tool"),
    "goal": lambda: AchievesGoal("refunds", judge=JUDGE),
    "passes": lambda: TrajectoryPasses("is short", judge=JUDGE),
}


async def outcomes(value: Any, home: Path) -> list[Outcome]:
    """What every scorer says of an answer, in a trial with two calls."""
    evals = EvalSet("answers")

    @evals.eval
    async def one(expect: Expect) -> None:
        expect.step("find", {"id": 7}, error="not there")
        expect.step("refund", {"id": 7}, result="done")
        answer = await value() if callable(value) else value
        for name, make in SCORERS.items():
            bounds = {"at_most": 3} if name == "steps" else {}
            expect(expect.steps if value is STEPS else answer, make(), label=name, **bounds)

    with run(evals, cache=False, home=home) as result:
        (trial,) = result.trials()
    return list(trial.outcomes)


async def talk() -> Any:
    """A conversation with an agent."""
    return await Conversation(lambda messages: "refunded", ["Refund 7, please"]).run()


STEPS = object()
"""The steps themselves."""


Said = tuple[str, str, float | None]


def said(outcome: Outcome) -> Said:
    """What counts of an outcome."""
    return outcome.name, outcome.outcome, outcome.score


@pytest.fixture(scope="module")
def of_steps(tmp_path_factory: pytest.TempPathFactory) -> list[Said]:
    """What every scorer says of the steps themselves."""
    import asyncio

    return [said(one) for one in asyncio.run(outcomes(STEPS, tmp_path_factory.mktemp("s")))]


@pytest.mark.thorough(after=9)
@pytest.mark.parametrize("kind", [*ANSWERS, "a conversation"])
async def test_whatever_an_agent_answers_its_steps_are_judged(
    kind: str, of_steps: Any, tmp_path: Path
) -> None:
    """The verdict is that on `expect.steps`, of each scorer and of its opposite."""
    value = talk if kind == "a conversation" else ANSWERS[kind]
    assert [said(one) for one in await outcomes(value, tmp_path)] == of_steps
    assert {outcome for _, outcome, _ in of_steps} == {"pass", "fail"}


@pytest.mark.parametrize(
    ("answer", "calls"),
    [
        ({"name": "search"}, True),
        ({"name": "search", "arguments": {}}, True),
        ([{"name": "search"}], True),
        ({"tool_calls": [{"name": "search"}]}, True),
        ({"role": "assistant", "content": "no"}, False),
        ({"role": "assistant", "content": None, "tool_calls": []}, False),
        ({"choices": [{"message": {"role": "assistant", "content": "no"}}]}, False),
        ([], False),
    ],
)
async def test_an_answer_that_lists_calls_stands_for_itself(
    tmp_path: Path, answer: Any, calls: bool
) -> None:
    """Also where it lists none: what the trial did is not what the reply asks for."""
    evals = EvalSet("answers")

    @evals.eval
    async def one(expect: Expect) -> None:
        expect.step("refund", {"id": 7}, result="done")
        expect(answer, CallsTool("search"))
        expect(answer, ~CallsTool("refund"))

    with run(evals, home=tmp_path) as result:
        (trial,) = result.trials()
    assert [o.outcome for o in trial.outcomes] == ["pass" if calls else "fail", "pass"]
