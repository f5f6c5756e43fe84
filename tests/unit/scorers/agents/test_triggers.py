from __future__ import annotations

import json
from typing import Any

import pytest

from evenhand.core.errors import JudgeError
from evenhand.core.message import Prompt, Reply
from evenhand.scorers.agents.triggers import Triggers


class Judge:
    """A model that answers in turn, and keeps what it was asked."""

    name = "judge"

    def __init__(self, *said: Any) -> None:
        self.said = [x if isinstance(x, str) else json.dumps(x) for x in said]
        self.asked: list[Prompt] = []

    async def generate(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        return Reply(self.said[min(len(self.asked), len(self.said)) - 1])


class Here:
    judge = None


def decision(matches: Any) -> dict[str, Any]:
    """What a judge answers."""
    return {"reasoning": "so", "matches": matches, "confidence": 0.9}


@pytest.mark.parametrize(
    ("wanted", "matches", "passed", "named"),
    [
        (True, True, True, {"trigger precision": 1.0, "trigger recall": 1.0}),
        (True, False, False, {"trigger recall": 0.0}),
        (False, True, False, {"trigger precision": 0.0}),
        (False, False, True, {}),
    ],
)
async def test_a_decision_tells_of_precision_and_recall_only_where_it_can(
    wanted, matches, passed, named
):
    """A query that was left alone says nothing of precision, one that should be left nothing of recall."""
    score = await Triggers(
        wanted=wanted, description="greets", judge=Judge(decision(matches))
    ).score("hello", Here())
    assert (score.passed, score.named) == (passed, named)
    assert score.metadata["decision"] == ("YES" if matches else "NO")


async def test_the_judge_sees_what_the_skill_says_of_itself():
    """Description, what people say, what it is not for, other skills, and the query between marks."""
    judge = Judge(decision(True))
    await Triggers(
        wanted=True,
        description="greets",
        positive=["hello"],
        negative=["bye"],
        others=["leave: says bye"],
        judge=judge,
    ).score("hi", Here())
    text = judge.asked[0].text
    for part in ("greets", "- hello", "- bye", "- leave: says bye", "\nhi\n</message"):
        assert part in text


@pytest.mark.parametrize("said", ["I would rather not", decision(None), decision("perhaps"), ""])
async def test_no_decision_is_an_error(said):
    """Asked for once more, and then an error, whichever way it should have gone."""
    judge = Judge(said)
    with pytest.raises(JudgeError, match="asked twice"):
        await Triggers(wanted=False, description="greets", judge=judge).score("hello", Here())
    assert len(judge.asked) == 2
