"""`score`: the metrics of one answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import evenhand
from evenhand import score, score_async
from evenhand.core.errors import AuthError, BudgetStop, ProviderError, UsageError
from evenhand.core.score import Score
from evenhand.scorers import (
    CLARITY,
    Contains,
    ContextRecall,
    EditDistance,
    Faithfulness,
    Passes,
    Rating,
)
from evenhand.scorers.metric import metric
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted

STATED = {
    "refusal": False,
    "sentences": [
        {"id": 1, "statements": [{"statement": "Matz made Ruby.", "claim": True, "topic": "on"}]},
        {
            "id": 2,
            "statements": [{"statement": "<b>It is old.</b>", "claim": True, "topic": "off"}],
        },
    ],
}
CHECKED = {
    "verdicts": [
        {
            "id": 1,
            "reasoning": "it says so",
            "verdict": "supported",
            "evidence": [{"passage": 1, "quote": "Matz made Ruby"}],
        },
        {"id": 2, "reasoning": "nothing", "verdict": "not_found", "evidence": []},
    ]
}
GIVEN: dict[str, Any] = {
    "question": "Who made Ruby?",
    "answer": "Matz made Ruby. <b>It is old.</b>",
    "context": ["Matz made Ruby in 1995."],
}
TWO = ["faithfulness", "answer_relevance"]


def judge(**more: Any) -> Scripted:
    """A judge that reads the answer, then checks it."""
    return Scripted((json.dumps(STATED), json.dumps(CHECKED)), cost_usd=0.25, **more)


def test_a_script_gets_numbers_with_reasons_intervals_cost_and_tokens(tmp_path: Path):
    """One line, and all is in hand."""
    found = score(**GIVEN, metrics=TWO, judge=judge(), home=tmp_path)
    one = found["faithfulness"]
    assert (one.value, one.n, one.interval) == (0.5, 2, (0.0945, 0.9055))
    assert "1 of 2 claims supported" in one.reason
    assert [row["verdict"] for row in one.details["claims"]] == ["supported", "not_found"]
    assert (found.calls, found.cost_usd) == (2, 0.5)
    assert found.tokens_in
    assert found.tokens_out
    assert found.overall == 0.5
    assert list(found) == TWO
    assert len(found) == 2
    assert "faithfulness" in found
    assert "correctness" not in found
    with pytest.raises(KeyError):
        found["correctness"]


async def test_it_runs_inside_a_running_loop_and_can_be_awaited(tmp_path: Path):
    """As in a notebook, with await and without."""
    here = score(**GIVEN, metrics=TWO, judge=judge(), home=tmp_path)
    there = await score_async(**GIVEN, metrics=TWO, judge=judge(), home=tmp_path, cache=False)
    assert here.values == there.values


def test_it_runs_where_asyncio_run_has_been(tmp_path: Path):
    """A script whose main is async may call it."""

    async def main() -> float | None:
        return score(**GIVEN, metrics=TWO, judge=judge(), home=tmp_path).overall

    assert asyncio.run(main()) == 0.5


async def test_definitions_hold_in_a_thread_of_its_own(tmp_path: Path):
    """Called without await in a loop, it runs elsewhere: the choice goes with it."""
    found = score(
        **GIVEN, metrics="faithfulness", judge=judge(), definitions="deepeval", home=tmp_path
    )
    assert found["faithfulness"].value == 1.0
    assert found["faithfulness"].details["definitions"] == "deepeval"


def test_the_same_question_is_answered_from_the_cache(tmp_path: Path):
    """And costs nothing then."""
    asked = judge()
    first = score(**GIVEN, metrics=TWO, judge=asked, home=tmp_path)
    again = score(**GIVEN, metrics=TWO, judge=asked, home=tmp_path)
    assert (again.values, again.cached, again.cost_usd) == (first.values, 2, 0.0)
    assert len(asked.asked) == 2


def test_nothing_is_left_on_disk_but_the_cache(tmp_path: Path):
    """A program may score every answer that it gives; where nobody is asked, not even a folder is made."""
    asked = judge()
    found = score(**GIVEN, metrics=TWO, judge=asked, home=tmp_path / "judged")
    score(answer="a", expected="a", metrics=["token_f1"], home=tmp_path / "counted", cache=False)
    assert found.run is None
    assert [one.name for one in tmp_path.iterdir()] == ["judged"]
    assert [one.name for one in (tmp_path / "judged").iterdir()] == ["cache"]


def test_a_run_is_kept_where_that_is_wanted(tmp_path: Path):
    """With every question and answer."""
    found = score(**GIVEN, metrics=TWO, judge=judge(), home=tmp_path, keep=True)
    assert found.run is not None
    with RunFile.open(found.run) as run:
        assert len(list(run.calls())) == 2


def test_an_error_is_no_number_and_costs_its_neighbours_nothing(tmp_path: Path):
    """Faithfulness has no verdicts; relevance has."""
    broken = Scripted((json.dumps(STATED), "no", "no"))
    found = score(**GIVEN, metrics=TWO, judge=broken, home=tmp_path)
    one = found["faithfulness"]
    assert (one.value, one.outcome, one.error) == (None, "error", "judge")
    assert found["answer_relevance"].value == 0.5
    assert found.errors == (one,)
    assert found.overall_of == ("answer_relevance",)
    assert "error" in str(found)


def test_what_is_shown_is_escaped_and_rows_are_alike(tmp_path: Path):
    """Whatever the judge or the answer says."""
    found = score(**GIVEN, metrics=[*TWO, "context_recall"], judge=judge(), home=tmp_path)
    html = found._repr_html_()
    assert "<b>It" not in html
    assert "&lt;b&gt;It is old." in html
    assert "overall 0.500 over 2 · 2 calls" in str(found)
    rows = found.rows()
    assert [row["metric"] for row in rows] == [*TWO, "context_recall"]
    assert len({tuple(row) for row in rows}) == 1
    assert rows[2]["value"] is None


def test_scorers_of_your_own_are_metrics_too(tmp_path: Path):
    """They look at the answer, or at the passages where they are about those."""
    wise = Scripted(('{"reasoning": "yes", "passes": true, "confidence": 1}',))
    found = score(
        **GIVEN,
        metrics=[
            Contains("Matz"),
            Passes("is polite", judge=wise),
            Faithfulness(),
            ContextRecall(),
        ],
        judge=judge(),
        home=tmp_path,
    )
    assert found['contains "Matz"'].value == 1.0
    assert found['passes "is polite"'].value == 1.0
    assert found["faithfulness"].value == 0.5
    assert found["context_recall"].outcome == "not_applicable"


def test_what_is_on_a_scale_of_its_own_takes_no_part_in_the_overall_number(tmp_path: Path):
    """A distance of 3, a rating of 4 and somebody's 7 are no shares."""

    class Seven:
        def score(self, output: Any, trial: Any) -> Score:
            return Score(7.0)

        def __str__(self) -> str:
            return "seven"

    found = score(
        answer="kitten",
        expected="kitten",
        metrics=[EditDistance("sitting"), Rating(CLARITY), Seven(), "exact_match"],
        judge=Scripted(('{"reasoning": "r", "score": 4}',)),
        home=tmp_path,
    )
    assert [one.value for one in found.measures] == [3.0, 4.0, 7.0, 1.0]
    assert found["edit_distance"].best == "low"
    assert (found.overall, found.overall_of) == (1.0, ("exact_match",))


def test_by_default_five_metrics_are_asked_for(tmp_path: Path):
    """Those that lack their material do not apply, and nobody is asked for them."""
    found = score(question="Who?", judge=judge(), home=tmp_path)
    assert list(found) == [
        "faithfulness",
        "answer_relevance",
        "correctness",
        "context_precision",
        "context_recall",
    ]
    assert set(found.values.values()) == {None}
    assert found.calls == 0
    assert found.overall is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"metrics": ["faithfulnes"]}, "Did you mean 'faithfulness'"),
        ({"metrics": ["faithfulnes", "recal"]}, "recal"),
        ({"metrics": []}, "there are none"),
        ({"metrics": [Faithfulness]}, "Write Faithfulness"),
        ({"metrics": [7]}, "7 is not a name"),
        ({"metrics": TWO, "weights": {"correctness": 1}}, "'correctness' is not measured"),
        ({"metrics": TWO, "weights": {"faithfulness": -1}}, "not a number from 0"),
        ({"metrics": TWO, "weights": {"faithfulness": float("nan")}}, "not a number from 0"),
        ({"metrics": ["edit_distance"], "weights": {"edit_distance": 1}}, "takes no part"),
        ({"metrics": TWO, "judge": 7}, "judge= takes a model"),
        ({"metrics": TWO, "judge": "opnai:gpt"}, "opnai"),
        ({"metrics": TWO, "definitions": "raga"}, "Did you mean 'ragas'"),
    ],
)
def test_a_mistake_is_told_before_anything_is_asked(tmp_path: Path, wrong: Any, said: str):
    """All of them at once, with what to write."""
    with pytest.raises(UsageError) as told:
        score(**{**GIVEN, "home": tmp_path, **wrong})
    assert said in str(told.value)
    assert not list(tmp_path.iterdir())


def test_material_of_the_wrong_kind_is_the_error_of_those_that_look_at_it(tmp_path: Path):
    """The others are measured."""
    found = score(**{**GIVEN, "context": 7}, metrics=TWO, judge=judge(), home=tmp_path)
    assert found["faithfulness"].outcome == "error"
    assert found["answer_relevance"].value == 0.5


def test_nobody_to_judge_is_told_where_somebody_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """With the ways to name one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENHAND_JUDGE", raising=False)
    found = score(**GIVEN, metrics=["faithfulness"], home=tmp_path)
    assert found["faithfulness"].error == "usage"
    assert "EVENHAND_JUDGE" in found["faithfulness"].hint


def test_a_judge_that_cannot_be_asked_at_all_is_raised(tmp_path: Path):
    """A wrong key, or a budget that is spent."""
    with pytest.raises(ProviderError, match="key"):
        score(**GIVEN, metrics=TWO, judge=Scripted((AuthError("no key"),)), home=tmp_path)
    with pytest.raises(BudgetStop):
        score(**GIVEN, metrics=TWO, judge=judge(bound_usd=1.0), max_cost_usd=0.5, home=tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "faithfulness",
        "context_recall",
        "context_precision@5",
        "context_average_precision@3",
        "noise_sensitivity:irrelevant",
        "summarisation:coverage",
        "semantic_similarity",
    ],
)
def test_names_parse_back(name: str):
    """What a report says can be asked for."""
    found = metric(name)
    assert found.name == name
    _, scorer = found.ask(
        evenhand.scorers.metric.AnsweredQuestion(
            question="q", answer="a", context=["c"], expected="e"
        )
    )
    assert str(scorer) == name


def test_less_is_better_counts_the_other_way_round(tmp_path: Path):
    """In the overall number."""
    found = score(
        **GIVEN,
        metrics=["hallucination", "faithfulness"],
        judge=judge(),
        home=tmp_path,
        weights={"hallucination": 1},
    )
    assert found["hallucination"].best == "low"
    assert found.overall == 0.5
