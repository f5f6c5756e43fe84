"""Evaluators of pydantic-evals, DeepEval, Ragas and autoevals as scorers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_evals.evaluators import Contains
from tests.unit.scorers.evaluator_objects import Autoevals42, Has42, Ragas42, Share42

from evenhand import Case, Dataset, EvalSet, Expect, run
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.scorers import Autoevals, DeepEval, PydanticEvals, Ragas

pytestmark = pytest.mark.usefixtures("home_of_its_own")

CASE = Case("q", input="What is it?", expected="42", context=("It is 42.",), metadata={"level": 1})
Settled = Callable[..., Outcome]


@pytest.fixture
def settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settled:
    """What an expectation comes to."""
    monkeypatch.chdir(tmp_path)

    def settle(output: Any, scorer: Any, **bounds: Any) -> Outcome:
        evals = EvalSet("evaluators", data=Dataset([CASE]))

        @evals.eval
        def only(expect: Expect) -> None:
            expect(output, scorer, **bounds)

        (trial,) = _trials(evals)
        (outcome,) = trial.outcomes
        return outcome

    return settle


def _trials(evals: EvalSet) -> list[TrialResult]:
    return list(run(evals).trials())


@pytest.mark.parametrize(
    ("scorer", "name", "bounds"),
    [
        (PydanticEvals(Has42()), "Has42", {}),
        (PydanticEvals(Contains("42", evaluation_name="has it")), "has it", {}),
        (DeepEval(Share42()), "Share of 42", {}),
        (Ragas(Ragas42()), "has_42", {"at_least": 0.5}),
        (Autoevals(Autoevals42()), "has 42", {"at_least": 0.5}),
    ],
)
def test_an_evaluator_passes_what_it_passes_at_home(
    settled: Settled, scorer: Any, name: str, bounds: Any
):
    """Its name is the label; its score is the score."""
    good, bad = settled("it is 42", scorer, **bounds), settled("it is 41", scorer, **bounds)
    assert (good.name, good.outcome, good.score) == (name, "pass", 1.0)
    assert (bad.name, bad.outcome, bad.score) == (name, "fail", 0.0)


def test_they_are_shown_the_case(settled: Settled):
    """Input, expected answer, passages and metadata, under each library's names."""
    seen: list[Any] = []

    class Sees(Share42):
        async def a_measure(self, test_case: Any) -> float:
            seen.append(test_case)
            return await super().a_measure(test_case)

    settled("42", DeepEval(Sees(), contexts=["a page"]))
    (case,) = seen
    assert (case.input, case.actual_output, case.expected_output) == ("What is it?", "42", "42")
    assert (case.context, case.retrieval_context) == (["It is 42."], ["a page"])

    class Context:
        def evaluate(self, ctx: Any) -> bool:
            seen.append(ctx)
            return True

    settled({"a": 1}, PydanticEvals(Context(), duration=1.5))
    ctx = seen[-1]
    assert (ctx.name, ctx.inputs, ctx.expected_output, ctx.metadata) == (
        "q", "What is it?", "42", {"level": 1},
    )  # fmt: skip
    assert (ctx.output, ctx.duration) == ({"a": 1}, 1.5)

    class Legacy:
        name = "legacy"

        async def single_turn_ascore(self, sample: Any) -> float:
            seen.append(sample)
            return 0.25

    assert settled("42", Ragas(Legacy()), at_least=0.2).score == 0.25
    assert (seen[-1].user_input, seen[-1].response, seen[-1].reference) == (
        "What is it?",
        "42",
        "42",
    )
    assert seen[-1].retrieved_contexts == ["It is 42."]


@dataclass
class Gives:
    """An evaluator that returns what it is told to, plain or not."""

    value: Any
    seen: list[Any] = field(default_factory=list)

    async def evaluate(self, ctx: Any) -> Any:
        return self.value


@pytest.mark.parametrize(
    ("value", "outcome", "score", "named"),
    [
        (True, "pass", 1.0, {}),
        (False, "fail", 0.0, {}),
        ({"a": True, "b": False}, "fail", 0.0, {}),
        ({"a": True, "n": 3}, "pass", 1.0, {"n": 3.0}),
        (SimpleNamespace(value=True, reason="well said"), "pass", 1.0, {}),
        ("calm", "not_applicable", None, {}),
        ({}, "not_applicable", None, {}),
        ({"n": 1, "m": 2}, "not_applicable", None, {"n": 1.0, "m": 2.0}),
        (object(), "error", None, {}),
    ],
)
def test_what_pydantic_evals_may_return(
    settled: Settled, value: Any, outcome: str, score: float | None, named: Any
):
    """Truth values decide; numbers beside them and labels are kept; what is none of them is an error."""
    settled_ = settled("x", PydanticEvals(Gives(value)))
    assert (settled_.outcome, settled_.score) == (outcome, score)
    assert dict(settled_.named) == named


def test_the_reason_of_each_part_has_its_name_where_there_are_several(settled: Settled):
    """One alone says by itself what it is about."""
    said = SimpleNamespace(value=True, reason="well said")
    assert settled("x", PydanticEvals(Gives(said))).reason == "well said"
    rude = SimpleNamespace(value=False, reason="rude")
    both = settled("x", PydanticEvals(Gives({"words": said, "tone": rude})))
    assert both.reason == "words: well said; tone: rude; tone"


def test_the_rationale_of_an_evaluator_of_autoevals_is_the_reason(settled: Settled):
    """As the model gave it."""
    assert settled("42", Autoevals(Autoevals42()), at_least=0.5).reason == "What is it?"


def test_a_number_alone_needs_a_bound(settled: Settled):
    """As any number does."""
    assert settled("x", PydanticEvals(Gives(0.5)), at_least=0.4).outcome == "pass"
    assert settled("x", PydanticEvals(Gives(0.5))).outcome == "error"


@pytest.mark.parametrize("value", [float("nan"), None, "high?"])
def test_a_metric_that_failed_is_an_error_and_no_score(settled: Settled, value: Any):
    """NaN is how Ragas says so; DeepEval has a field for it."""

    class Broken:
        name = "broken"

        async def ascore(self, response: str) -> Any:
            return SimpleNamespace(value=value, reason=None)

    outcome = settled("x", Ragas(Broken()), at_least=0.5)
    assert outcome.score is None
    assert outcome.outcome == ("not_applicable" if value == "high?" else "error")

    class Errs(Share42):
        error = "the judge timed out"

    assert settled("42", DeepEval(Errs())).outcome == "error"

    class Skips(Autoevals42):
        async def eval_async(self, output: Any, expected: Any = None, **kwargs: Any) -> Any:
            return SimpleNamespace(score=None, metadata={}, error=None)

    assert settled("42", Autoevals(Skips()), at_least=0.5).outcome == "not_applicable"


def test_a_metric_that_keeps_its_last_score_measures_many_outputs_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each trial has its own copy."""
    monkeypatch.chdir(tmp_path)
    evals = EvalSet("many", data=Dataset([Case(str(i), input=i) for i in range(40)]))
    metric = DeepEval(Share42())

    @evals.eval
    def measures(case: Case, expect: Expect) -> None:
        expect("42" if case.input % 2 else "41", metric)

    outcomes = [trial.outcome for trial in _trials(evals)]
    assert outcomes == ["fail", "pass"] * 20
    assert metric.metric.score is None


@pytest.mark.parametrize(
    ("kind", "what", "says"),
    [
        (PydanticEvals, Has42, "Has42 is a class"),
        (PydanticEvals, "text", "has no evaluate"),
        (DeepEval, Ragas42(), "has no a_measure or measure"),
        (Ragas, Share42(), "has no single_turn_ascore or ascore"),
        (Autoevals, len, "has no eval_async or eval"),
    ],
)
def test_what_is_no_evaluator_is_refused_when_it_is_passed(kind: Any, what: Any, says: str):
    """With an example of what to write."""
    with pytest.raises(UsageError, match=says) as refused:
        kind(what)
    assert refused.value.hint.startswith("Write ")


def test_an_evaluator_that_needs_more_than_the_case_has_says_what(settled: Settled):
    """An argument without a default."""

    class Needy:
        name = "needy"

        async def ascore(self, response: str, rubrics: dict[str, str]) -> Any:
            raise AssertionError

    outcome = settled("x", Ragas(Needy()), at_least=0.5)
    assert outcome.outcome == "error"
    assert "the metric needs rubrics" in outcome.reason
