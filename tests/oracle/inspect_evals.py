"""Evals of Inspect's own, run with its mock model: one log for each thing that a log can hold."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zipfile_zstd  # noqa: F401 (zipfile reads Zstandard with it)
from inspect_ai import Task
from inspect_ai import eval as run_evals
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Score, choice, includes, match, mean, scorer
from inspect_ai.solver import generate, multiple_choice, use_tools
from inspect_ai.tool import ToolError, tool

MODEL = "mockllm/model"
LONG = "a long text " * 50


@tool
def add() -> Any:
    """A tool that refuses one number."""

    async def execute(x: int, y: int) -> str:
        """Adds.

        Args:
            x: One number.
            y: The other.
        """
        if x == 13:
            raise ToolError("13 is not added")
        return str(x + y)

    return execute


@scorer(metrics=[mean()])
def number() -> Any:
    """A number between 0 and 1."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value=0.3, explanation="so close")

    return score


@scorer(metrics={"*": [mean()]})
def several() -> Any:
    """Two numbers by name, one of which is not there."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value={"polite": 1, "short": float("nan")}, metadata={"by": "hand"})

    return score


def said(*texts: str | ModelOutput) -> Any:
    """A model that says these, one after the other."""
    outputs = [
        one if isinstance(one, ModelOutput) else ModelOutput.from_content(MODEL, one)
        for one in texts
    ]
    for place, one in enumerate(outputs):
        one.usage = ModelUsage(
            input_tokens=7 + place, output_tokens=2, total_tokens=9 + place, reasoning_tokens=1
        )
    return get_model(MODEL, custom_outputs=outputs, memoize=False)


def calls(function: str, **arguments: Any) -> ModelOutput:
    """An answer that asks for a tool."""
    return ModelOutput.for_tool_call(MODEL, function, arguments)


def sums(*more: Any, **options: Any) -> Task:
    """Two sums."""
    samples = [
        Sample(input="1+1?", target="2", id="one", metadata={"kind": "add"}),
        Sample(input="2+2?", target="4"),
    ]
    return Task(dataset=samples, solver=[*more, generate()], scorer=includes(), **options)


def tasks() -> Iterator[tuple[str, Task, Any, dict[str, Any]]]:
    """By name: a task, what answers it, and the options that it is run with."""
    yield "plain", sums(), said("2", "5"), {}
    yield "epochs", sums(epochs=2), said("2", "4", "3", "5"), {"max_samples": 1}
    yield "error", sums(), said("2"), {"fail_on_error": False}
    yield "stopped", sums(), said("2"), {"max_samples": 1}
    sum_of_13 = [calls("add", x=1, y=1), "2", calls("add", x=13, y=1), "no"]
    yield "tools", sums(use_tools(add())), said(*sum_of_13), {"max_samples": 1}
    talk = [ChatMessageUser(content=LONG), ChatMessageAssistant(content="Yes?")]
    agent = Task(
        dataset=[Sample(input=[*talk, ChatMessageUser(content="1+1?")], target=["2", "two"])],
        solver=react(tools=[add()]),
        scorer=[several(), match()],
        name="agents",
    )
    yield "agent", agent, said(calls("add", x=1, y=1), calls("submit", answer="2")), {}
    picked = Task(
        dataset=[Sample(input="Which?", choices=["a", "b"], target="B")],
        solver=multiple_choice(),
        scorer=choice(),
    )
    yield "choice", picked, said("ANSWER: B"), {}
    yield "number", Task(dataset=[Sample(input="?", target="")], scorer=number()), said("x"), {}
    yield "limit", sums(message_limit=1), said("2", "4"), {}
    yield "json", sums(use_tools(add())), said(*sum_of_13), {"log_format": "json", "max_samples": 1}


def write_logs(folder: Path) -> dict[str, EvalLog]:
    """Runs all of them; the logs, by name. `deflated` is `tools` as older versions compress it."""
    logs: dict[str, EvalLog] = {}
    for name, task, model, options in tasks():
        (logs[name],) = run_evals(
            task, model=model, log_dir=str(folder / name), display="none", **options
        )
    old = folder / "deflated.eval"
    with (
        zipfile.ZipFile(logs["tools"].location) as new,
        zipfile.ZipFile(old, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for member in new.namelist():
            archive.writestr(member, new.read(member))
    logs["deflated"] = logs["tools"].model_copy(update={"location": str(old)})
    return logs
