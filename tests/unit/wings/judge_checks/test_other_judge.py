"""A judged expectation, asked of another judge, in other words, or several times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from tests.unit.scorers.conftest import FakeModel, FakeTrial, judged

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.message import Message
from evenhand.core.provider import Provider
from evenhand.core.score import Outcome, Score
from evenhand.doors.assertions.grading import Grader
from evenhand.doors.assertions.judged import Factual, GEval, MeetsCriterion
from evenhand.scorers import CLARITY, Contains, Jury, Passes, Rating
from evenhand.scorers.judge import MeetsRubric
from evenhand.scorers.opposite import Not
from evenhand.testing import Scripted
from evenhand.wings.judge_checks.judge_variants import JudgeModel, JudgeVariant
from evenhand.wings.judge_checks.other_judge import asked_of_variant

__all__ = ["judged"]

MODEL = (JudgeModel("some:model"),)


def says(passes: bool, reason: str = "so") -> str:
    """A judge's answer, to whichever of our prompts."""
    verdict = {"reason": reason, "pass": passes, "score": float(passes)}
    return json.dumps({**verdict, "reasoning": reason, "passes": passes})


def judge(passes: bool, label: str = "another") -> Scripted:
    """A judge that always says so, and who it is."""
    return Scripted((says(passes, label),), label=label)


def asked(outcome: Outcome) -> list[str]:
    """Who was asked, by the reasons that they gave."""
    rows = outcome.metadata.get("jury") or [outcome.metadata]
    return [row.get("reasoning") or json.loads(row["reply"])["reason"] for row in rows]


TODAY = judge(passes=True, label="today")


def varied(
    scorer: Any, variant: JudgeVariant, models: Sequence[Scripted] = (), **more: Any
) -> Expectation:
    """What is asked of the variant."""
    trial = cast("Trial", FakeTrial(judge=cast("FakeModel", None)))
    return asked_of_variant(
        Expectation("an answer", scorer, **more),
        variant,
        cast("Sequence[Provider]", models),
        trial,
        {"topic": "tides"},
    )


@pytest.mark.parametrize(
    "scorer",
    [
        Passes("is kind", judge=TODAY),
        Passes("is kind"),
        MeetsRubric("is kind", cast("Provider", TODAY)),
        Not(Not(MeetsRubric("is kind", cast("Provider", TODAY)))),
        Jury([TODAY, TODAY, TODAY], of=Passes("is kind")),
    ],
    ids=str,
)
async def test_another_model_takes_the_place_of_whoever_judges(judged, scorer: Any):
    """Of a scorer with a judge, of one without, of an assertion, below `not-`, and of a whole jury."""
    changed = varied(scorer, JudgeVariant("v", MODEL), [judge(passes=False)])
    outcome = await judged(changed.scorer)
    assert (outcome.outcome, asked(outcome)) == ("fail", ["another"])
    assert changed.label == str(scorer)


async def test_several_models_are_a_panel_and_repeats_are_votes(judged):
    """More than half must pass it, whatever scorer asks."""
    panel = [judge(passes=True, label="a"), judge(passes=False, label="b")]
    rubric = MeetsRubric("is kind", cast("Provider", TODAY))
    outcome = await judged(varied(rubric, JudgeVariant("v", MODEL * 2), panel).scorer)
    assert outcome.outcome == "fail"
    assert asked(outcome) == ["a", "b"]
    outcome = await judged(varied(rubric, JudgeVariant("v", repeats=3)).scorer)
    assert asked(outcome) == ["today"] * 3
    jury = Jury([TODAY, *panel], of=Passes("is kind"))
    outcome = await judged(varied(jury, JudgeVariant("v", criteria="is rude")).scorer)
    assert asked(outcome) == ["today", "a", "b"]


GRADER = Grader(cast("Provider", TODAY))


@pytest.mark.parametrize(
    "scorer",
    [
        Passes("is kind", judge=TODAY),
        MeetsRubric("is kind", cast("Provider", TODAY)),
        MeetsRubric(
            "is kind", cast("Provider", TODAY), messages=lambda r, _: (Message("user", r),)
        ),
        MeetsCriterion("is kind", GRADER, "?"),
        GEval(["is kind"], GRADER, GRADER, "?"),
    ],
    ids=lambda scorer: type(scorer).__name__,
)
def test_the_criteria_are_replaced_in_every_scorer_that_has_some(scorer: Any):
    """And nothing else: who judges stays."""
    changed = varied(scorer, JudgeVariant("v", criteria="is brief")).scorer
    assert type(changed) is type(scorer)
    assert "is brief" in str(changed)


class AskedOnce:
    """A scorer that shares its question with others of its trial."""

    async def score(self, output: Any, trial: Trial) -> Score:
        async def ask() -> str:
            assert trial.judge is not None
            return (await trial.model(trial.judge, "judge").generate("?")).text

        passes = bool(json.loads(await trial.once("what", ask))["passes"])
        return Score(float(passes), passes, "so")


async def test_what_is_asked_once_is_asked_of_each_judge_of_a_panel(judged):
    """An answer of one is none of the other's."""
    panel = [judge(passes=True, label="a"), judge(passes=False, label="b")]
    outcome = await judged(varied(AskedOnce(), JudgeVariant("v", MODEL * 2), panel).scorer)
    assert [row["passed"] for row in outcome.metadata["jury"]] == [True, False]


async def test_a_prompt_of_the_users_replaces_the_question(judged):
    """It names the output, the criteria and the case's variables; bounds of another scale no longer count."""
    words = "{{topic}} / {{criteria}} / {{output}}"
    for scorer in (Rating(CLARITY, judge=TODAY), Factual("noon", GRADER, "?")):
        changed = varied(scorer, JudgeVariant("v", prompt=words), at_least=4)
        assert (changed.at_least, changed.at_most) == (None, None)
        outcome = await judged(changed.scorer)
        assert outcome.metadata["prompt"] == "your own"
        assert outcome.outcome == "pass"
    inner = varied(Passes("is kind", judge=TODAY), JudgeVariant("v", prompt=words)).scorer
    model = FakeModel([says(True)])
    await inner.score("an {{topic}} answer", cast("Trial", FakeTrial(judge=model)))
    assert model.asked[0].text == "tides / is kind / an {{topic}} answer", (
        "outputs are no templates"
    )


async def test_what_cannot_be_changed_is_an_error(judged):
    """Not a verdict of today's judge under another name."""
    with pytest.raises(ScoreError, match="no criteria in words"):
        varied(Rating(CLARITY, judge=TODAY), JudgeVariant("v", criteria="is brief"))
    with pytest.raises(ScoreError, match="isn't known which model"):
        varied(Contains("x"), JudgeVariant("v", repeats=2))
    changed = varied(Contains("x"), JudgeVariant("v", MODEL), [judge(passes=True)])
    outcome = await judged(changed.scorer)
    assert outcome.outcome == "error"
    assert "doesn't ask its judge through the run" in outcome.reason
