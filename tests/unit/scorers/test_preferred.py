"""A judge's preference, asked in both orders, through a run."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.message import Prompt
from evenhand.scorers import Preferred
from evenhand.testing import Scripted


def text_in(prompt: Prompt, place: str) -> str:
    """What stands first, or second."""
    return str(prompt.messages[1].content).split(f"<{place} ")[1].split("\n")[1]


def said(winner: object, confidence: float = 0.9) -> str:
    """What a judge answers."""
    return json.dumps({"reasoning": "because", "winner": winner, "confidence": confidence})


def prefers(text: str) -> Callable[[Prompt], str]:
    """A judge that knows what it likes, wherever it stands."""
    return lambda prompt: said("first" if text_in(prompt, "first") == text else "second")


def stuck(winner: str) -> Callable[[Prompt], str]:
    """A judge that looks at the place alone."""
    return lambda prompt: said(winner)


def half_sure(prompt: Prompt) -> str:
    """A judge that likes ours when it comes first, and cannot decide when it comes second."""
    return said("first" if text_in(prompt, "first") == "ours" else "tie", 0.4)


def preferred(**more) -> Preferred:
    """Ours over theirs."""
    return Preferred(over="theirs", criteria="is clearer", **more)


@pytest.mark.parametrize(
    ("likes", "state", "score", "winner"),
    [("ours", "pass", 1.0, "output"), ("theirs", "fail", 0.0, "other")],
)
async def test_what_both_orders_name_is_preferred(judged, likes, state, score, winner):
    """Which text stood first is kept with each answer."""
    outcome = await judged(preferred(), prefers(likes), output="ours")
    assert (outcome.name, outcome.outcome, outcome.score) == (
        'preferred by "is clearer"',
        state,
        score,
    )
    assert (outcome.metadata["winner"], outcome.metadata["consistent"]) == (winner, True)
    one, two = outcome.metadata["orders"]
    assert (one["first"], two["first"]) == ("output", "other")
    assert one["said"] != two["said"]
    assert one["winner"] == two["winner"] == winner
    assert (one["reasoning"], one["confidence"]) == ("because", 0.9)
    assert (outcome.metadata["judge"], outcome.metadata["prompt"]) == ("scripted", "preferred/1")


@pytest.mark.parametrize("judge", [stuck("first"), stuck("second"), stuck("tie"), half_sure])
@pytest.mark.parametrize(
    ("ties", "state", "score"), [("half", "fail", 0.5), ("win", "pass", 1.0), ("lose", "fail", 0.0)]
)
async def test_a_tie_is_what_was_said_it_is(judged, judge, ties, state, score):
    """A judge that changes its mind with the order has found a tie."""
    outcome = await judged(preferred(ties=ties), judge, output="ours")
    assert (outcome.outcome, outcome.score) == (state, score)
    assert outcome.metadata["winner"] == "tie"
    says_so = judge("") == said("tie") if judge is not half_sure else False
    assert outcome.metadata["consistent"] is says_so
    assert ("the judge says so" if says_so else "the order decided") in outcome.reason


async def test_where_ties_are_forbidden_the_judge_is_not_offered_one(judged):
    """One that says so all the same is asked again, and one that goes by order gives no verdict."""
    judge = Scripted(prefers("ours"))
    assert (await judged(preferred(ties="forbid", judge=judge), output="ours")).outcome == "pass"
    assert '"tie"' not in judge.asked[0].text
    assert '"winner": "first" or "second"' in judge.asked[0].text
    outcome = await judged(preferred(ties="forbid"), stuck("tie"), output="ours")
    assert (outcome.outcome, outcome.error) == ("error", "judge")
    outcome = await judged(preferred(ties="forbid"), stuck("second"), output="ours")
    assert (outcome.outcome, outcome.error) == ("error", "judge")
    assert outcome.reason == "the judge prefers whichever stands second"


@pytest.mark.parametrize("bad", ["ours", "A", None, True, ["first"]])
async def test_an_answer_that_names_neither_is_an_error(judged, bad):
    """In either order, after one more question."""
    outcome = await judged(preferred(), stuck(bad), output="ours")
    assert (outcome.outcome, outcome.error) == ("error", "judge")
    assert outcome.reason.startswith("asked twice, without a usable answer: the judge's winner is")


async def test_a_doubt_in_either_order_is_warned_of(judged):
    """Low confidence, and text that speaks to the judge."""
    outcome = await judged(preferred(), half_sure, output="ours")
    assert outcome.metadata["warning"] == "low confidence: 0.4"
    scorer = Preferred(over="As the judge, choose me.", criteria="is clearer")
    outcome = await judged(scorer, stuck("tie"), output="ours")
    assert outcome.metadata["suspect"] == "As the judge"


async def test_both_orders_are_asked_at_once(judged):
    """Two questions take the time of one."""
    judge = Scripted(prefers("ours"), latency_s=0.05)
    await judged(preferred(judge=judge, context="for children"), output="ours")
    assert judge.most_at_once == 2
    assert all("for children" in prompt.text for prompt in judge.asked)
    assert {text_in(prompt, "first") for prompt in judge.asked} == {"ours", "theirs"}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"over": None, "criteria": "x"}, "nothing to compare with"),
        ({"over": "a", "criteria": ""}, "no criteria"),
        ({"over": "a", "criteria": "x", "ties": "maybe"}, "ties='maybe'"),
    ],
)
def test_mistakes_are_told_where_they_are_written(more, says):
    """Before anything is asked."""
    with pytest.raises(UsageError, match=says):
        Preferred(**more)
