"""What the metrics of one trial share."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.scorers import (
    AnswerRelevance,
    Completeness,
    ContextPrecision,
    ContextRecall,
    ContextRelevance,
    ContextUtilization,
    Correctness,
    EntityRecall,
    Faithfulness,
    Hallucination,
    NoiseSensitivity,
)
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted

PAGES = ["Matz made Ruby. Trees grow.", "Ruby is from 1995."]
ANSWER = "Matz made Ruby. Ruby is fast."
CASE = Case(
    "1", input="Who made Ruby and what is Ruby?", expected="Matz made Ruby. Ruby is from 1995."
)
OF_ANSWER = [
    Faithfulness(PAGES),
    Hallucination(PAGES),
    AnswerRelevance(),
    Completeness(),
    Correctness(),
    NoiseSensitivity(PAGES),
    ContextUtilization(PAGES),
]
OF_PAGES = [ContextRecall(), ContextPrecision(), ContextRelevance(), EntityRecall()]
ALL = [*((ANSWER, one) for one in OF_ANSWER), *((PAGES, one) for one in OF_PAGES)]


async def test_eleven_metrics_of_one_case_are_six_calls(settled: Any, judge: Any):
    """What the answer says, what the case is about, and four readings of the two."""
    found = await settled(*ALL, case=CASE)
    assert [one.outcome for one in found] == ["pass"] * 11
    assert len(judge.asked) == 6


async def test_five_metrics_cost_little_more_than_two(settled: Any, judge: Any):
    """Faithfulness and recall take four calls; hallucination, utilization and precision come with them."""
    await settled((ANSWER, Faithfulness(PAGES)), (PAGES, ContextRecall()), case=CASE)
    two = len(judge.asked)
    judge.asked.clear()
    await settled(
        *(
            pair
            for pair in ALL
            if str(pair[1])
            in {
                "faithfulness",
                "context_recall",
                "hallucination",
                "context_utilization",
                "context_precision",
            }
        ),
        case=CASE,
    )
    assert (two, len(judge.asked)) == (4, 4)


async def test_stored_facts_save_a_call(settled: Any, judge: Any):
    """Five for all of them."""
    stored = {
        "reference_claims": ["Matz made Ruby"],
        "entities": ["Ruby"],
        "sub_questions": ["Who made Ruby"],
    }
    case = Case("1", input=CASE.input, expected=CASE.expected, metadata=stored)
    await settled(*ALL, case=case)
    assert len(judge.asked) == 5


@pytest.mark.thorough(after=5)
@pytest.mark.parametrize("pair", ALL, ids=lambda pair: str(pair[1]))
async def test_a_metric_comes_to_the_same_alone_and_in_company(settled: Any, pair: Any):
    """What is asked of the judge hangs on the texts alone."""
    (alone,) = await settled(pair, case=CASE)
    together = await settled(*ALL, case=CASE)
    assert alone.score == together[ALL.index(pair)].score
    assert alone.metadata == together[ALL.index(pair)].metadata


async def test_other_texts_and_other_judges_are_other_questions(
    settled: Any, judge: Any, rule: Any
):
    """Only the same question of the same judge is shared."""
    other = Scripted(rule, id="other", label="other")
    await settled(
        (ANSWER, Faithfulness(PAGES)),
        (ANSWER, Faithfulness(PAGES, judge=other)),
        (ANSWER, Faithfulness(PAGES[:1])),
        (ANSWER, Faithfulness(PAGES, judge=other)),
    )
    assert (len(judge.asked), len(other.asked)) == (3, 2)


async def test_who_comes_later_waits_for_the_same_answer(tmp_path: Path, rule: Any):
    """Whether expectations are settled together, at once, or side by side in the eval."""
    judge = Scripted(rule, latency_s=0.01)
    evals = EvalSet("shared", judge=judge)

    @evals.eval
    async def asks(expect: Any) -> None:
        ask = [expect.now(ANSWER, Faithfulness(PAGES), at_least=0) for _ in range(3)]
        first, *_ = await asyncio.gather(*ask)
        assert first.score == 0.5
        expect(ANSWER, Hallucination(PAGES), at_most=1)
        expect(ANSWER, Faithfulness(PAGES), at_least=0)

    finished = await door.settle(plan_of([evals], env={}), Settings(home=tmp_path, cache=False))
    with RunFile.open(finished.path) as run:
        (trial,) = run.trials()
        assert {one.outcome for one in trial.outcomes} == {"pass"}
        assert trial.calls == 2
    assert len(judge.asked) == 2


async def test_an_error_of_the_judge_is_the_error_of_all_who_wait(settled: Any):
    """And is not asked for once for each of them."""
    judge = Scripted(("no", "no"))
    found = await settled((ANSWER, Faithfulness(PAGES)), (ANSWER, Hallucination(PAGES)), by=judge)
    assert [(one.outcome, one.error) for one in found] == [("error", "judge")] * 2
    assert len(judge.asked) == 2


async def test_a_stopped_run_goes_on_without_asking_again(tmp_path: Path, rule: Any):
    """Replies of the first session answer the second one, whoever asks first; the scores are the same."""

    def evals_with(judge: Scripted) -> EvalSet:
        evals = EvalSet("resumed", data=[CASE], judge=judge)

        @evals.eval
        def all_of_them(expect: Any) -> None:
            for output, scorer in ALL:
                expect(output, scorer, at_least=-1)

        return evals

    failing = {"left": 4}

    def breaks(prompt: Any) -> str:
        failing["left"] -= 1
        if failing["left"] < 0:
            return "no"
        return rule(prompt)

    first = Scripted(breaks)
    settings = Settings(home=tmp_path, cache=False)
    finished = await door.settle(plan_of([evals_with(first)], env={}), settings)
    second = Scripted(rule)
    with RunFile.open(finished.path) as run:
        assert run.totals().errors == 1
        errors = [o for t in run.trials() for o in t.outcomes if o.outcome == "error"]
    assert errors
    plan = plan_of([evals_with(second)], env={})
    resumed = await door.settle(plan, settings, resume=finished.path)
    with RunFile.open(resumed.path) as run:
        (trial,) = run.trials()
    assert len(second.asked) < 6
    assert trial.calls >= 6
