"""The promises of a scorer, over every assertion type, whatever the output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import EvenhandError
from evenhand.core.message import Prompt, Reply
from evenhand.core.plan import Step
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.core.variant import Variant
from evenhand.engine.code import CodeHost
from evenhand.engine.trial import LiveTrial
from evenhand.promptfoo.assertions.assertion import Assertion, Cell
from evenhand.promptfoo.assertions.kinds import SUPPORTED
from evenhand.promptfoo.assertions.preparing import prepared
from evenhand.testing import Scripted, check_scorer

SCHEMA = {"type": "object", "required": ["answer"]}
JUDGE = Scripted(('{"reason": "it says so", "pass": true, "score": 0.75}',))
VALUES: dict[str, dict[str, Any]] = {
    "equals": {"value": "42"},
    "contains": {"value": "42"},
    "icontains": {"value": "THE"},
    "contains-any": {"value": ["7", "42"]},
    "icontains-any": {"value": "7, THE"},
    "contains-all": {"value": ["the", "42"]},
    "icontains-all": {"value": ["THE", "42"]},
    "starts-with": {"value": "the"},
    "regex": {"value": r"(\d+)\s*$"},
    "is-json": {"value": SCHEMA},
    "contains-json": {"value": SCHEMA},
    "python": {"value": "len(str(output)) > 3"},
    "llm-rubric": {"value": "gives a number", "judge": JUDGE},
    "latency": {"threshold": 1000},
    "cost": {"threshold": 1},
}
OUTPUTS: dict[str, Any] = {
    "text": "the answer is 42",
    "empty": "",
    "JSON": '{"answer": 42}',
    "nearly JSON": 'Here: {"answer": NaN, } and {"answer"',
    "deep": "[" * 20_000,
    "long": "the 42 " * 30_000,
    "surrogate and NUL": "a\ud800b\0c",
    "bidi and escapes": "\u202e\u200b\x1b[2J\x07 {{ 7*7 }} </output>",
    "object": {"answer": 42, "more": [1, None, {"x": "\ud800"}]},
    "list": [1, "two", None],
    "number": 42,
    "NaN": float("nan"),
    "yes": True,
    "nothing": None,
}


class Direct:
    """Asks a provider without an engine."""

    async def ask(self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: Any) -> Reply:
        return provider.reply((await provider.send(provider.request(prompt), trial)).body)


async def scored(assertion: Assertion, output: Any) -> Score:
    """The score of an output, by a scorer that is held to its promises meanwhile."""

    async def body(trial: Any) -> object:
        return None

    host = CodeHost()
    with host.open():
        trial = LiveTrial(Step(0, Case("1"), Variant(0, "p", "m"), 0, body), Direct(), host)
        trial.reply = Reply("the answer is 42", latency_s=0.5, cost_usd=0.01)
        cell = Cell(output, "the prompt", {}, {}, "echo", "echo", trial.reply)
        expectation = prepared(assertion)(cell)
        return await check_scorer(expectation.scorer, expectation.value, trial)


def test_every_assertion_type_is_held_to_its_contract():
    """A new one is not forgotten here."""
    assert VALUES.keys() == SUPPORTED


@pytest.mark.parametrize("negated", [False, True], ids=["", "not-"])
@pytest.mark.parametrize("type_", sorted(VALUES))
async def test_a_scorer_keeps_its_promises_whatever_the_output(type_: str, negated: bool):
    """A score that is a number, and the same one twice; or an error that says what is the matter, and no score."""
    assertion = Assertion(type_, negated, base=Path(), **VALUES[type_])
    for name, output in OUTPUTS.items():
        try:
            score = await scored(assertion, output)
        except EvenhandError:
            continue
        assert score.value is not None, name
        assert (score.passed is True) == (score.value == 1.0) or type_ == "llm-rubric", name


@pytest.mark.parametrize("type_", sorted(VALUES))
async def test_a_question_and_its_opposite_never_agree(type_: str):
    """On an output that both can look at."""
    yes = await scored(Assertion(type_, **VALUES[type_]), '{"answer": "the 42"}')
    no = await scored(Assertion(type_, negated=True, **VALUES[type_]), '{"answer": "the 42"}')
    assert yes.passed is not no.passed


class Scores:
    """Says what it is told to."""

    def __init__(self, *scores: Any, label: str = "scores") -> None:
        self.scores = list(scores)
        self.label = label

    def score(self, output: Any, trial: Any) -> Any:
        if isinstance(output, list):
            output.append("more")
        return self.scores.pop(0)

    def __str__(self) -> str:
        return self.label


@pytest.mark.parametrize(
    ("scorer", "output", "promise"),
    [
        (Scores("good"), "x", "gives a Score"),
        (Scores(label="two\nlines"), "x", "one line"),
        (Scores(Score(float("nan")), Score(float("nan"))), "x", "finite"),
        (Scores(Score(1.0, named={"a": float("inf")}), Score(1.0)), "x", "finite"),
        (Scores(Score(1.0), Score(0.0)), "x", "same score"),
        (Scores(Score(None, False), Score(None, False)), "x", "no verdict either"),
        (Scores(Score(1.0), Score(1.0)), ["x"], "left as it was"),
    ],
    ids=["kind", "label", "NaN", "infinite", "fickle", "verdict", "meddling"],
)
async def test_a_broken_promise_is_named(scorer: Any, output: Any, promise: str):
    """So that its author knows what to mend."""
    trial: Any = None
    with pytest.raises(AssertionError, match=f"broken promise: .*{promise}"):
        await check_scorer(scorer, output, trial)
