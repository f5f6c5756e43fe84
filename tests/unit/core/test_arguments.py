"""A call that cannot be made is refused in words: what is not taken, and what was probably meant."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from typing import Any

import pytest

import evenhand
from evenhand import scorers
from evenhand.core.arguments import checked, misgiven_arguments
from evenhand.core.errors import UsageError

MADE_BY_RUNS = {
    "Expect",
    "Run",
    "Scored",
    "Talk",
    "World",
    "Model",
    "__version__",
    "django_rolled_back",
}
"""Nobody calls these with names: a run makes them, they only say what something has to have, or take none."""
NO_ARGUMENTS = {"CustomJudge", "TokenCount", "StepCost", "StepDuration", "FirstToken", "Judgement"}
OTHERS: dict[str, tuple[str, str]] = {
    "Case": ("ground_truth", "expected"),
    "CommandAgent": ("timeout", "timeout_s"),
    "Conversation": ("start_messages", ""),
    "DatabaseWorld": ("database", ""),
    "Dataset": ("title", "name"),
    "DictWorld": ("state", ""),
    "EvalSet": ("dataset", "data"),
    "Fault": ("reason", ""),
    "FunctionUser": ("fn", ""),
    "GateTerms": ("tolerance", "margin"),
    "MCPWorld": ("command", ""),
    "Message": ("text", ""),
    "Prompt": ("template", "text"),
    "Reply": ("content", ""),
    "Rubric": ("title", "name"),
    "Score": ("explanation", "reason"),
    "ScriptedUser": ("turns", ""),
    "SimulatedUser": ("llm", "model"),
    "StatefulUser": ("reducer", ""),
    "ToolTable": ("tools", ""),
    "TurnChecks": ("rules", ""),
    "TurnJudge": ("llm", "judge"),
    "UserContract": ("title", ""),
    "at_least": ("value", ""),
    "at_most": ("value", ""),
    "compare": ("threshold", "margin"),
    "rolled_back": ("session", "sessions"),
    "run": ("limit", "first"),
    "run_async": ("max_workers", "concurrency"),
    "score": ("contexts", "context"),
    "score_async": ("ground_truth", "expected"),
    "score_batch": ("dataset", "data"),
    "score_batch_async": ("evaluators", "metrics"),
}
"""Of each public name a word of another tool, and what it means here; empty where nothing does."""


def refusal(call: Any, **kwargs: Any) -> str:
    """What is said of a call with these arguments."""
    with pytest.raises(UsageError) as refused:
        _ended(call, kwargs)
    return str(refused.value)


def _ended(call: Any, kwargs: dict[str, Any]) -> None:
    result = call(**kwargs)
    if inspect.iscoroutine(result):
        asyncio.run(result)


def test_every_public_callable_has_a_row():
    """A new one is not forgotten."""
    assert {*evenhand.__all__} - MADE_BY_RUNS == OTHERS.keys()


@pytest.mark.parametrize("name", OTHERS)
def test_a_foreign_or_misspelt_keyword_is_refused_in_the_name_that_was_called(name: str):
    """With what was meant, as far as there is something."""
    call, (foreign, meant) = getattr(evenhand, name), OTHERS[name]
    said = refusal(call, **{foreign: 1})
    assert f"{name} takes no `{foreign}`" in said
    assert (f"did you mean `{meant}`?" in said) if meant else "It takes: " in said
    taken = list(inspect.signature(call).parameters.values())
    known = next(
        p.name for p in reversed(taken) if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    )
    assert f"{name} takes no `{known}x`: did you mean `{known}`?" in refusal(
        call, **{f"{known}x": 1}
    )


@pytest.mark.parametrize("name", sorted({*scorers.__all__} - NO_ARGUMENTS))
def test_a_misspelt_keyword_of_a_scorer_is_refused_with_the_right_one(name: str):
    """By the class that was called, not by the one that it inherits from."""
    kind = getattr(scorers, name)
    if not isinstance(kind, type) or not hasattr(kind, "score") or name == "Graded":
        return
    known = next(iter(inspect.signature(kind).parameters))
    said = refusal(kind, **{f"{known}x": 1})
    assert said.startswith(f"{name} takes no `{known}x`: did you mean `{known}`?")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: evenhand.score("q", "a"), "score takes no argument without a name, and got 2"),
        (lambda: evenhand.EvalSet("x", []), "EvalSet takes 1 argument without a name, and got 2"),
        (lambda: evenhand.EvalSet("x", []), "Write EvalSet(name, data=…)."),
        (evenhand.EvalSet, "EvalSet needs `name`"),
        (lambda: evenhand.EvalSet("x", name="y"), "EvalSet is given `name` twice"),
        (lambda: evenhand.EvalSet("x", models=["a"]), 'did you mean `over={"model": […]}`?'),
        (
            lambda: evenhand.Dataset.of({}, nam="x"),
            "Dataset.of takes no `nam`: did you mean `name`",
        ),
        (lambda: evenhand.Dataset.read("x", streem=True), "Dataset.read takes no `streem`"),
        (lambda: evenhand.Prompt("x"), "Prompt needs `text`"),
        (evenhand.Case, "Case needs `id`"),
        (
            lambda: evenhand.EvalSet("x").eval(tag="a"),
            "EvalSet.eval takes no `tag`: did you mean `tags`?",
        ),
        (
            lambda: evenhand.EvalSet("x").fixture(scope="session"),
            "EvalSet.fixture takes no `scope`",
        ),
        (lambda: evenhand.EvalSet("x", a=1, b=2), "takes no `a`\nEvalSet takes no `b`"),
        (scorers.Contains, "Contains needs `wanted`"),
    ],
)
def test_whatever_is_wrong_with_arguments_is_said_in_words(call: Any, says: str):
    """Too many, too few, twice, unknown."""
    assert says in refusal(call)


def test_a_type_error_of_the_function_itself_is_left_as_it_is():
    """Only a call that cannot be made is refused."""

    @checked
    def adds(a: Any, b: Any) -> Any:
        return a + b

    with pytest.raises(TypeError, match="unsupported operand"):
        adds(1, "2")
    assert misgiven_arguments(adds, "adds", (1,), {"b": 2}) is None


def test_a_set_still_knows_where_it_was_made():
    """What checks arguments stands between it and whoever makes it."""
    assert evenhand.EvalSet("x").path.name == "test_arguments.py"


def test_a_judge_of_ones_own_refuses_what_it_does_not_take():
    """Its arguments are what its author declares."""

    @dataclass
    class Shouts:
        shouts: bool

    class ShoutJudge(scorers.CustomJudge[Shouts]):
        document: str = ""

        def messages(self, output: str) -> list[Any]:
            return []

    assert "ShoutJudge takes no `documnt`: did you mean `document`?" in refusal(
        ShoutJudge, documnt="x"
    )
