"""Spans that real instrumentations emitted for one agent: the same question, tool call and answer, whoever wrote them.

`tests/frameworks/spans/` has them as they were written: `tests/frameworks/write_spans.py NAME FILE` writes one again.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest

from evenhand.core.run import TrialResult
from evenhand.wings.traces.run import run_of

SPANS = Path(__file__).resolve().parents[1] / "frameworks" / "spans"
WHOLE = (
    "agent_framework",
    "openinference_crewai",
    "openinference_langchain",
    "openinference_llama_index",
    "openinference_openai_agents",
    "openinference_smolagents",
    "pydantic_ai",
)
"""A trace for each answer of the agent."""
BY_CALL = ("openinference_anthropic", "openinference_openai", "openllmetry_openai")
"""A trace for each call of a model, as nothing is above them."""
SHAPES = ("autogen", "google_adk")
"""By default, names and times only: they leave out what was said."""


def trials(name: str, folder: Path) -> list[TrialResult]:
    """The trials of the spans that were written under this name."""
    path = folder / f"{name}.json"
    path.write_bytes(gzip.decompress((SPANS / f"{name}.json.gz").read_bytes()))
    run, _ = run_of([path])
    return [*run.trials()]


def test_every_file_is_tested() -> None:
    """Under its name."""
    names = {path.name.removesuffix(".json.gz") for path in SPANS.glob("*.json.gz")}
    assert names == {*WHOLE, *BY_CALL, *SHAPES}


@pytest.mark.parametrize("name", WHOLE)
def test_a_trace_has_the_question_the_tool_call_and_the_answer(name: str, tmp_path: Path) -> None:
    """Two of them, of two questions."""
    both = trials(name, tmp_path)
    assert len(both) == 2
    for n, trial in enumerate(both, 1):
        asked = trial.input["question"] if isinstance(trial.input, Mapping) else trial.input
        assert asked == f"Where is order {n}?"
        assert trial.output == f"Order {n} was delivered on 3 May."
        (tool,) = [step for step in trial.steps if step.kind == "tool"]
        assert (tool.name, tool.arguments, tool.status) == ("find_order", {"order": n}, "ok")
        assert tool.result == f"parcel {n} was delivered on 3 May"


@pytest.mark.parametrize(
    "name", [one for one in (*WHOLE, "google_adk") if one != "openinference_crewai"]
)
def test_a_trace_has_both_calls_of_the_model_with_tokens_and_cost(
    name: str, tmp_path: Path
) -> None:
    """CrewAI's instrumentation leaves models to another one."""
    for trial in trials(name, tmp_path):
        models = [step for step in trial.steps if step.kind == "model"]
        assert len(models) == 2
        assert all(step.tokens_in and step.tokens_out and step.cost_usd for step in models)


@pytest.mark.parametrize("name", BY_CALL)
def test_a_trace_of_one_call_has_its_tokens_and_what_it_asked_for(
    name: str, tmp_path: Path
) -> None:
    """The first call of each answer asks for the tool, the second one says where the order is."""
    four = trials(name, tmp_path)
    assert len(four) == 4
    tools = [step for trial in four for step in trial.steps if step.kind == "tool"]
    assert [(tool.name, tool.arguments) for tool in tools] == [
        ("find_order", {"order": n}) for n in (1, 2)
    ]
    assert [one.output for one in four if "delivered" in str(one.output)] == [
        f"Order {n} was delivered on 3 May." for n in (1, 2)
    ]
    assert all(
        trial.input == f"Where is order {n}?" for n, trial in zip((1, 1, 2, 2), four, strict=True)
    )


@pytest.mark.parametrize("name", SHAPES)
def test_spans_without_contents_have_the_tools_name(name: str, tmp_path: Path) -> None:
    """Below the agent."""
    for trial in trials(name, tmp_path):
        kinds = [(step.kind, step.name) for step in trial.steps if step.kind != "model"]
        assert kinds == [("agent", "shop"), ("tool", "find_order")]
