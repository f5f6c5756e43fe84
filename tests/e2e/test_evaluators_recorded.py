"""An evaluator of another library whose model is asked through a recording client: its calls are a judge's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

from evenhand import Case, Dataset, EvalSet, Expect, run
from evenhand.doors import recording
from evenhand.scorers import DeepEval, PydanticEvals
from evenhand.testing import FakeProvider, Rule, Script

SCRIPT = Script([Rule(("Paris",), "yes"), Rule(("Lyon",), "no")])


def grade(text: str) -> Any:
    """What is asked of the model that grades."""
    return {"model": "gpt-5-mini", "messages": [{"role": "user", "content": f"Right? {text}"}]}


class Async:
    """An evaluator as pydantic-evals wants it, with a client of its own."""

    async def evaluate(self, ctx: Any) -> bool:
        client = openai.AsyncOpenAI(http_client=recording.async_http_client())
        reply = await client.chat.completions.create(**grade(ctx.output))
        return reply.choices[0].message.content == "yes"


class Plain:
    """A metric as DeepEval wants it, which is not async."""

    threshold = 0.5
    async_mode = False
    score: float | None = None

    def measure(self, test_case: Any) -> float:
        client = openai.OpenAI(http_client=recording.http_client())
        reply = client.chat.completions.create(**grade(test_case.actual_output))
        self.score = float(reply.choices[0].message.content == "yes")
        return self.score

    def is_successful(self) -> bool:
        return self.score == 1


@pytest.mark.parametrize("scorer", [PydanticEvals(Async()), DeepEval(Plain())], ids=str)
def test_its_calls_are_journaled_as_a_judges_and_count_as_its_cost(
    scorer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two answers, two calls; their tokens are the judge's part of the trial's."""
    monkeypatch.chdir(tmp_path)
    evals = EvalSet("capitals", data=Dataset([Case("a", input="Paris"), Case("b", input="Lyon")]))

    @evals.eval
    def is_right(case: Case, expect: Expect) -> None:
        expect(case.input, scorer)

    with FakeProvider(SCRIPT) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        done = run(evals)
    trials = list(done.trials())
    assert [trial.outcome for trial in trials] == ["pass", "fail"]
    for trial in trials:
        assert trial.judged is not None
        assert (trial.judged.calls, trial.calls) == (1, 1)
        assert trial.judged.tokens_in > 0
        (outcome,) = trial.outcomes
        assert len(outcome.rests_on) == 1
