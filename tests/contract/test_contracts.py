"""One suite for each protocol, over everything that implements it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.expect import Scorer
from evenhand.core.message import Prompt, Reply
from evenhand.core.plan import Step
from evenhand.core.provider import Provider
from evenhand.core.variant import Variant
from evenhand.engine.code import CodeHost
from evenhand.engine.trial import LiveTrial
from evenhand.providers.catalog import create
from evenhand.scorers.code import PythonCode
from evenhand.scorers.judge import MeetsRubric
from evenhand.scorers.limits import Cost, Latency
from evenhand.scorers.structured import ContainsJson, IsJson
from evenhand.scorers.text import Contains, ContainsAll, ContainsAny, Equals, Matches, StartsWith
from evenhand.testing import FakeProvider, Scripted, check_model, check_scorer, check_store

VERDICT = '{"reason": "it says so", "pass": true, "score": 0.75}'


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """A fake provider that answers anything."""
    with FakeProvider() as server:
        yield server


@pytest.mark.parametrize(
    "id_",
    [
        "echo",
        "openai:chat:gpt-4o",
        "anthropic:messages:claude-sonnet-4-5",
        "python:model.py",
        "exec:echo said",
    ],
)
async def test_a_provider_keeps_the_promises_of_a_model(
    id_: str, fake: FakeProvider, tmp_path: Path
):
    """Pure requests, replies that can be read again, no negative numbers."""
    (tmp_path / "model.py").write_text(
        "def call_api(prompt, options, context): return {'output': 'hi'}\n"
    )
    provider = create(id_, env=fake.env(), base=tmp_path)
    host = CodeHost()
    with host.open():
        await check_model(provider, Prompt.of("Say hello."), host)
    await provider.close()


async def test_the_scripted_model_keeps_them_too():
    """It stands for all the others in tests."""
    await check_model(Scripted(), Prompt.of("Say hello."), CodeHost())


class Direct:
    """Asks a provider without an engine."""

    async def ask(self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: Any) -> Reply:
        return provider.reply((await provider.send(provider.request(prompt), trial)).body)


@pytest.mark.parametrize(
    "scorer",
    [
        Equals("the answer is 42"),
        Contains("42"),
        ContainsAny(("7", "42")),
        ContainsAll(("the", "42")),
        StartsWith("the"),
        Matches(r"\d+"),
        IsJson(),
        ContainsJson(),
        Latency(1000.0),
        Cost(1.0),
        PythonCode("len(output) > 3", dict),
        MeetsRubric("gives a number", Scripted((VERDICT,))),
    ],
    ids=lambda scorer: type(scorer).__name__,
)
async def test_a_scorer_keeps_the_promises_of_a_scorer(scorer: Scorer):
    """A label of one line, a finite score, the same one twice."""
    host = CodeHost()

    async def body(trial: Any) -> object:
        return None

    with host.open():
        step = Step(0, Case("1"), Variant(0, "p", "m"), 0, body)
        trial = LiveTrial(step, Direct(), host)
        trial.reply = Reply("the answer is 42", latency_s=0.5, cost_usd=0.01)
        score = await check_scorer(scorer, "the answer is 42", trial)
    assert score.value is not None


async def test_the_run_file_keeps_the_promises_of_a_store(tmp_path: Path):
    """Through a close and a reopening."""
    await check_store(tmp_path)


async def test_a_broken_promise_is_named():
    """So that the author knows what to mend."""

    class Forgetful(Scripted):
        def request(self, prompt: Prompt) -> Any:
            from dataclasses import replace

            return replace(
                super().request(prompt),
                key=str(id(object())),
                identity=str(len(self.asked)).encode(),
            )

    class Vague:
        def score(self, output: Any, trial: Any) -> Any:
            return "good"

        def __str__(self) -> str:
            return "two\nlines"

    with pytest.raises(AssertionError, match="broken promise"):
        await check_model(Forgetful(), Prompt.of("x"), CodeHost())
    with pytest.raises(AssertionError, match="one line"):
        await check_scorer(Vague(), "x", None)  # type: ignore[arg-type]
