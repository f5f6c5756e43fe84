"""Several judges, asked the same, through a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from evenhand.core.errors import AuthError, BadRequest, UsageError
from evenhand.core.score import Score
from evenhand.scorers import CLARITY, CustomJudge, Graded, Judgement, Jury, Passes, Rating
from evenhand.testing import Scripted


class Tone(Judgement):
    warmth: Graded[1, 5]


class ToneJudge(CustomJudge[Tone]):
    def messages(self, output):
        from evenhand.core.message import Message

        return [Message("user", f"How warm?\n{output}")]


def votes(*passes: bool | Exception | str) -> list[Scripted]:
    """Judges with these verdicts, errors, or words."""
    return [
        Scripted(
            (
                json.dumps({"reasoning": f"says {p}", "passes": p, "confidence": 0.9})
                if isinstance(p, bool)
                else p,
            ),
            label=f"judge {i}",
        )
        for i, p in enumerate(passes)
    ]


def scores(*given: object) -> list[Scripted]:
    """Judges with these scores."""
    return [Scripted((json.dumps({"reasoning": f"says {s}", "score": s}),)) for s in given]


@pytest.mark.parametrize(
    ("passes", "state", "score", "agreement"),
    [
        ((True, True, True), "pass", 1.0, 1.0),
        ((True, False, True), "pass", 2 / 3, 2 / 3),
        ((True, False, False), "fail", 1 / 3, 2 / 3),
        ((True, False), "fail", 0.5, 0.5),
        ((False,), "fail", 0.0, 1.0),
    ],
)
async def test_more_than_half_must_pass_it(judged, passes, state, score, agreement):
    """The score is the share that does; how far they agree is kept."""
    outcome = await judged(Jury(votes(*passes), of=Passes("is kind")))
    assert outcome.name == f'jury of {len(passes)}: passes "is kind"'
    assert (outcome.outcome, outcome.score) == (state, score)
    assert outcome.metadata["agreement"] == agreement
    assert outcome.metadata["spread"] == (0 if agreement == 1 else 1)
    assert [told["passes"] for told in outcome.metadata["jury"]] == list(passes)
    assert outcome.metadata["jury"][0]["prompt"] == "passes/1"
    assert (
        outcome.reason == f"{sum(passes)} of {len(passes)} judges pass it: says {state == 'pass'}"
    )


async def test_agreement_is_of_the_judges_that_gave_a_verdict(judged):
    """One in error agrees with nobody, and disagrees with nobody."""
    outcome = await judged(Jury(votes(True, True, BadRequest("no")), of=Passes("is kind")))
    assert outcome.metadata["agreement"] == 1.0


@dataclass(frozen=True)
class Given:
    """A question with an answer for each judge: a score, or None where it does not apply."""

    answers: Mapping[str, float | None]
    judge: Any = None

    def judged_by(self, judge):
        return replace(self, judge=judge)

    async def score(self, output, trial):
        return Score(self.answers[self.judge.label])


@pytest.mark.parametrize(("given", "value"), [((4.0, 2.0), 3.0), ((4.0, None), None)])
async def test_what_does_not_apply_for_one_judge_has_no_mean(given, value):
    """A mean of the others would be one of fewer judges."""
    judges = votes(True, True)
    answers = {judge.label: one for judge, one in zip(judges, given, strict=True)}
    jury = Jury(judges, of=Given(answers))
    assert (await jury.score("x", None)).value == value


@pytest.mark.parametrize(
    ("passes", "state"),
    [
        ((True, True, BadRequest("no")), "pass"),
        ((False, "no JSON", False), "fail"),
        ((True, False, "no JSON"), "error"),
        ((BadRequest("no"), "no JSON"), "error"),
        ((True, BadRequest("no")), "error"),
        ((True, True, False, BadRequest("no"), "no JSON"), "error"),
    ],
)
async def test_a_judge_without_a_verdict_counts_only_where_it_could_matter(judged, passes, state):
    """Two of three have decided, whatever the third would say."""
    outcome = await judged(Jury(votes(*passes), of=Passes("is kind")))
    assert outcome.outcome == state
    if state == "error":
        assert outcome.error == "judge"
    else:
        assert sum("error" in told for told in outcome.metadata["jury"]) == 1
        # It may have been the share of two or of three, of one or of none.
        assert outcome.score is None
        assert outcome.reason.startswith(
            f"{passes.count(True)} of 3 judges pass it, and 1 gave no verdict: "
        )


async def test_of_scores_it_is_the_mean(judged):
    """With how far they lie apart."""
    jury = Jury(scores(3, 4, 5), of=Rating(CLARITY))
    assert jury.traits.gives == "number"
    outcome = await judged(jury, at_least=4)
    assert (outcome.outcome, outcome.score) == ("pass", 4.0)
    assert (outcome.metadata["spread"], outcome.metadata["deviation"]) == (2.0, 1.0)
    assert outcome.reason == "mean of 3, 4, 5: says 3"


async def test_of_scores_every_judge_must_give_one(judged):
    """A mean of the others would be another number."""
    outcome = await judged(Jury(scores(3, 9, 5), of=Rating(CLARITY)), at_least=1)
    assert (outcome.outcome, outcome.error) == ("error", "judge")
    assert outcome.reason.startswith(
        "1 of 3 judges gave no score: asked twice, without a usable answer:"
    )


async def test_the_same_judge_may_be_asked_several_times(judged):
    """Each time is a question of its own."""
    judge = Scripted(votes(True)[0].replies)
    outcome = await judged(Jury([judge] * 3, of=Passes("is kind")))
    assert len(judge.asked) == 3
    assert outcome.metadata["deviation"] == 0


async def test_a_judge_of_your_own_may_sit_on_it(judged):
    """What it counts by name is the mean as well."""
    judges = [Scripted((json.dumps({"warmth": {"reasoning": "r", "score": s}}),)) for s in (2, 5)]
    outcome = await judged(Jury(judges, of=ToneJudge()), at_least=1)
    assert (outcome.score, outcome.named) == (3.5, {"warmth": 3.5})


async def test_a_further_number_that_one_judge_lacks_has_no_mean():
    """A mean of the others would be one of fewer judges."""
    answers = [Score(4.0, named={"a": 1.0, "b": 2.0}), Score(2.0, named={"b": 4.0})]
    judges = votes(True, True)

    class Named(Given):
        async def score(self, output, trial):
            return answers[judges.index(self.judge)]

    assert (await Jury(judges, of=Named({})).score("x", None)).named == {"b": 3.0}


async def test_an_error_that_no_retry_mends_stops_the_run(trial):
    """It is not voted on."""
    trial.judge.replies = [AuthError("401")] * 3
    with pytest.raises(AuthError):
        await Jury(votes(True, True, True), of=Passes("is kind")).score("output", trial)


@pytest.mark.parametrize(
    ("judges", "of", "says"),
    [
        ([], Passes("x"), "no judges"),
        ([None], Passes("x"), "a judge is None"),
        ([3], Passes("x"), "judge= takes a model"),
        ("openai:gpt-5-mini", Passes("x"), "is a text, not a list"),
        (votes(True), Passes("x", judge=votes(True)[0]), "has a judge of its own"),
    ],
)
def test_mistakes_are_told_where_they_are_written(judges, of, says):
    """Before anything is asked."""
    with pytest.raises(UsageError, match=says):
        Jury(judges, of=of)
