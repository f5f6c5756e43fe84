"""What EvalRuby's own tests pin down, as it is here: its rights kept, its wrongs put right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand import score
from evenhand.scorers import ContextRecall, Faithfulness
from evenhand.testing import Scripted

RUBY = "Ruby was created in 1995."


async def test_context_recall_of_the_founding_example_is_one(settled: Any):
    """The passage says what the ground truth says."""
    (one,) = await settled(([RUBY], ContextRecall(RUBY)))
    assert one.score == 1.0


async def test_context_recall_is_the_share_of_statements_that_the_contexts_support(settled: Any):
    """Counted here, from the verdicts, whatever score the judge names."""
    (one,) = await settled(([RUBY], ContextRecall(f"{RUBY} Ruby is fast. Ruby is red.")))
    assert one.score == pytest.approx(1 / 3)


async def test_no_contexts_ask_no_judge(settled: Any, judge: Any):
    """And are not applicable, where it gave 0."""
    (one,) = await settled(([], ContextRecall(RUBY)))
    assert (one.outcome, one.score, judge.asked) == ("not_applicable", None, [])


def test_a_context_that_is_one_text_is_one_passage(tmp_path: Path, judge: Any):
    """In `score`, where it cannot be taken for the answer."""
    found = score(
        answer=RUBY,
        context=RUBY,
        expected=RUBY,
        metrics=["context_recall"],
        judge=judge,
        home=tmp_path,
    )
    assert found["context_recall"].value == 1.0


@pytest.mark.parametrize(
    "said", ["", "null", "{}", '{"score": 0.9}', '{"score": null}', '{"verdicts": null}']
)
async def test_a_missing_answer_a_missing_list_or_a_bare_score_is_an_error(
    settled: Any, rule: Any, said: str
):
    """It took `score` at its word, and a missing list for an empty one."""

    def reply(prompt: Any) -> str:
        first = prompt.schema is not None and "claims" in prompt.schema["properties"]
        return rule(prompt) if first else said

    (one,) = await settled(([RUBY], ContextRecall(RUBY)), by=Scripted(reply))
    assert (one.outcome, one.error, one.score) == ("error", "judge", None)


async def test_braces_in_strings_and_three_levels_of_nesting_are_read(settled: Any, rule: Any):
    """It read an inner object, or the first of two."""

    def reply(prompt: Any) -> str:
        said = json.loads(rule(prompt))
        for one in said.get("verdicts", []):
            one["reasoning"] = 'it says "{" and } and {"score": 0.0}'
        return f"The form: ```json\n{json.dumps(said)}\n```"

    (one,) = await settled((RUBY, Faithfulness([RUBY])), by=Scripted(reply))
    assert one.score == 1.0


def test_overall_leaves_out_what_does_not_apply(tmp_path: Path, judge: Any):
    """It counted missing contexts as 0."""
    found = score(
        question="What is Ruby?",
        answer="Ruby is red.",
        metrics=["faithfulness", "answer_relevance", "context_recall"],
        judge=judge,
        home=tmp_path,
    )
    assert found.overall == 1.0
    assert found.overall_of == ("answer_relevance",)


def test_overall_with_weights_of_two_to_one(tmp_path: Path, judge: Any):
    """1 twice and 0 once is two thirds."""
    found = score(
        question="What is Ruby?",
        answer="Ruby is red.",
        context=["Trees grow."],
        metrics=["faithfulness", "answer_relevance"],
        weights={"answer_relevance": 2, "faithfulness": 1},
        judge=judge,
        home=tmp_path,
    )
    assert found.values == {"faithfulness": 0.0, "answer_relevance": 1.0}
    assert found.overall == pytest.approx(2 / 3)


@pytest.mark.parametrize("weights", [None, {"faithfulness": 0}])
def test_overall_of_nothing_is_none(tmp_path: Path, judge: Any, weights: Any):
    """It was NaN where the weights came to 0."""
    found = score(
        answer="",
        context=["x"],
        metrics=["faithfulness"],
        weights=weights,
        judge=judge,
        home=tmp_path,
    )
    assert found.overall is None
    assert found.overall_of == ()


def test_retrieval_metrics_need_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its evaluator made a judge first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENHAND_JUDGE", raising=False)
    found = score(
        retrieved=["a", "b", "c"],
        relevant=["a", "c"],
        metrics=["P@1", "P@3", "R@1", "RR", "nDCG@3"],
        home=tmp_path,
    )
    numbers = [1.0, 2 / 3, 0.5, 1.0, 0.9197]
    assert list(found.values.values()) == pytest.approx(numbers, abs=1e-4)
    assert found.calls == 0
