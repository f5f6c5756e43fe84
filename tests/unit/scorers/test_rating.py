"""A judge's score by a rubric, through a run."""

from __future__ import annotations

import json

import pytest

from evenhand.core.errors import UsageError
from evenhand.scorers import CLARITY, Rating, Rubric
from evenhand.testing import Scripted


def said(score: object, confidence: object = 0.9) -> str:
    """What a judge answers."""
    return json.dumps({"reasoning": "because", "score": score, "confidence": confidence})


@pytest.mark.parametrize(("score", "state"), [(4, "pass"), (5.0, "pass"), (3, "fail")])
async def test_a_bound_decides(judged, score, state):
    """On the rubric's own scale; what the judge said is kept, the rubric's name too."""
    outcome = await judged(Rating(CLARITY), said(score, 0.2), at_least=4)
    assert (outcome.name, outcome.outcome, outcome.score) == ("rating clarity", state, score)
    assert outcome.metadata == {
        "score": score,
        "reasoning": "because",
        "confidence": 0.2,
        "warning": "low confidence: 0.2",
        "rubric": "clarity",
        "scale": [1, 5],
        "judge": "scripted",
        "prompt": "rating/2",
        "instrument": outcome.metadata["instrument"],
    }


async def test_without_a_bound_it_is_refused(judged):
    """A number by itself decides nothing."""
    outcome = await judged(Rating(CLARITY), said(4))
    assert outcome.outcome == "error"
    assert "rating clarity gives a number, and has no bound" in outcome.reason


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize("bad", [0, 6, 4.5, "4/5", None, "NaN", True, [4]])
async def test_a_score_that_the_rubric_does_not_have_is_asked_for_again_and_then_an_error(
    judged, bad
):
    """It is never clamped, rounded or taken as it is."""
    judge = Scripted((said(bad), said(4)))
    assert (await judged(Rating(CLARITY, judge=judge), said(1), at_least=4)).outcome == "pass"
    assert len(judge.asked) == 2
    outcome = await judged(Rating(CLARITY), said(bad), at_least=1)
    assert (outcome.outcome, outcome.error, outcome.score) == ("error", "judge", None)


async def test_a_plain_text_is_a_rubric_called_custom(judged):
    """From 1 to 5, any number."""
    judge = Scripted((said(3.5),))
    scorer = Rating("Does it rhyme?", context="It is a {score}.", judge=judge)
    outcome = await judged(scorer, said(1), at_least=3)
    assert (outcome.name, outcome.score) == ("rating custom", 3.5)
    text = judge.asked[0].text
    assert "Does it rhyme?" in text
    assert '"score": a number from 1 to 5' in text
    assert "It is a {score}." in text


async def test_the_judge_is_told_which_scores_there_are(judged):
    """Reasons first; and the words of each level, between marks."""
    judge = Scripted((said(7),))
    rubric = Rubric("depth", {(9, 10): "deep", (6, 8): "enough"})
    assert (await judged(Rating(rubric, judge=judge), said(1), at_least=6)).outcome == "pass"
    text = judge.asked[0].text
    assert "a whole number from 6 to 10" in text
    assert "9 to 10: deep\n6 to 8: enough\n</rubric " in text
    assert text.index('"reasoning"') < text.index('"score"') < text.index('"confidence"')


def test_an_empty_text_is_no_rubric():
    """Told where it is written."""
    with pytest.raises(UsageError, match="it has no words"):
        Rating(" ")
