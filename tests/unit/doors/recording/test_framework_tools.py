"""Tools that agent frameworks call are steps of the trial, with arguments, results, failures and times."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.test import TestModel

from evenhand import EvalSet, Expect, run
from evenhand.core.message import ToolCall
from evenhand.core.step import Step
from evenhand.core.timeline import StepNote, steps_from
from evenhand.doors import recording
from evenhand.doors.recording.wrapping.framework_tools import METHODS, ToolMethod, wrap
from evenhand.scorers import NeverFails


class Tool:
    """A tool of some framework's, with the ways in which they call theirs."""

    def __init__(self, function: Callable[..., Any], name: str = "find_order") -> None:
        self.name = name
        self.function = function

    def run(self, arguments: dict[str, Any]) -> Any:
        """Runs it."""
        return self.function(**arguments)

    async def run_async(self, **arguments: Any) -> Any:
        """Runs it, through another of its methods."""
        await asyncio.sleep(0)
        return self.run(arguments)


@pytest.fixture(autouse=True)
def _wrapped() -> Iterator[None]:
    """The methods of `Tool`, as those of a framework."""
    first = METHODS["langchain_core.tools.base"][0].called
    keywords = METHODS["haystack.tools.tool"][0].called
    module = SimpleNamespace(Tool=Tool)
    methods = (
        ToolMethod("Tool", ("run", "gone"), first),
        ToolMethod("Tool", ("run_async",), keywords),
        ToolMethod("Missing", ("run",), first),
    )
    replaced = wrap(methods, module)
    assert [one.name for one in replaced] == ["run", "run_async"]
    yield
    for one in replaced:
        one.put_back()


def steps_of(body: Callable[[], Any], home: Path) -> list[Step]:
    """The steps of a trial in which this runs; what it raises is the trial's error."""
    evals = EvalSet("tools", data=[{"id": "a"}])
    if asyncio.iscoroutinefunction(body):

        @evals.eval
        async def runs_async(expect: Expect) -> None:
            await body()
            expect(True, "runs")

    else:

        @evals.eval
        def runs(expect: Expect) -> None:
            body()
            expect(True, "runs")

    result = run(evals, home=home, progress=False)
    return result.steps(result.trials()[0])


def find_order(order: int) -> dict[str, Any]:
    """Where an order is."""
    if order > 9:
        raise LookupError(f"there is no order {order}")
    return {"order": order, "state": "sent"}


def test_a_frameworks_call_of_a_tool_is_a_step(tmp_path: Path) -> None:
    """With arguments, result and time."""
    (step,) = steps_of(lambda: Tool(find_order).run({"order": 7}), tmp_path)
    assert (step.kind, step.name, step.status) == ("tool", "find_order", "ok")
    assert (step.arguments, step.result) == ({"order": 7}, {"order": 7, "state": "sent"})
    assert step.duration_s is not None


def test_one_method_that_calls_another_is_one_step(tmp_path: Path) -> None:
    """And an async one is, too."""

    async def ask() -> None:
        await Tool(find_order).run_async(order=7)

    assert [step.name for step in steps_of(ask, tmp_path)] == ["find_order"]


def test_what_a_tool_raises_is_a_failure_also_where_the_framework_goes_on(tmp_path: Path) -> None:
    """As most of them tell the model of it."""

    def ask() -> None:
        with pytest.raises(LookupError):
            Tool(find_order).run({"order": 10})

    (step,) = steps_of(ask, tmp_path)
    assert (step.status, step.error) == ("error", "LookupError: there is no order 10")


@pytest.mark.parametrize("name", ["is_error", "is_sdk_generated_error"])
def test_what_a_framework_says_of_a_result_counts(tmp_path: Path, name: str) -> None:
    """A failure that it has turned into a text."""
    failed = SimpleNamespace(content="not there", **{name: True})
    (step,) = steps_of(lambda: Tool(lambda: failed).run({}), tmp_path)
    assert (step.status, step.error) == ("error", "not there")


class FunctionExecutionResult:
    """What Agno returns of a tool's call."""

    def __init__(self, result: object, error: str | None) -> None:
        self.status = "success" if error is None else "failure"
        self.result = result
        self.error = error


class ToolOutput:
    """What Mirascope returns of a tool's call: the error's words are the result, too."""

    def __init__(self, result: object, error: str | None) -> None:
        self.result = result if error is None else error
        self.error = None if error is None else RuntimeError(error)


@pytest.mark.parametrize("kind", [FunctionExecutionResult, ToolOutput])
@pytest.mark.parametrize(("error", "status"), [(None, "ok"), ("no such order", "error")])
def test_what_agno_and_mirascope_return_is_the_tools_result_or_why_it_failed(
    tmp_path: Path,
    kind: type[FunctionExecutionResult | ToolOutput],
    error: str | None,
    status: str,
) -> None:
    """Without what stands around it."""
    value = kind("late", error)
    (step,) = steps_of(lambda: Tool(lambda: value).run({}), tmp_path)
    assert (step.status, step.result) == (status, None if error else "late")
    assert step.error == (error or "")


def test_what_llama_index_returns_under_that_name_is_its_content(tmp_path: Path) -> None:
    """With `is_error` where the tool has raised."""
    fields = {"content": "there is no order 10", "raw_output": LookupError(), "is_error": True}
    value = type("ToolOutput", (), fields)()
    (step,) = steps_of(lambda: Tool(lambda: value).run({}), tmp_path)
    assert (step.status, step.error) == ("error", "there is no order 10")


class KernelFunction:
    """Semantic Kernel's, which asks a model or calls a tool."""

    fully_qualified_name = "shop-find_order"

    def __init__(self, *, is_prompt: bool) -> None:
        self.is_prompt = is_prompt

    async def invoke(self, kernel: object, arguments: dict[str, Any] | None = None) -> str:
        """Runs it."""
        await asyncio.sleep(0)
        return f"{kernel} {arguments}"


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(("is_prompt", "names"), [(True, []), (False, ["shop-find_order"])])
def test_functions_of_semantic_kernel_run_as_without_a_recorder(
    tmp_path: Path, by_name: bool, is_prompt: bool, names: list[str]
) -> None:
    """One that asks a model is no tool; `None` for its arguments is none."""
    (replaced,) = wrap(
        METHODS["semantic_kernel.functions.kernel_function"],
        SimpleNamespace(KernelFunction=KernelFunction),
    )
    results: list[str] = []

    async def ask() -> None:
        function = KernelFunction(is_prompt=is_prompt)
        if by_name:
            results.append(await function.invoke("kernel", arguments=None))
        else:
            results.append(await function.invoke("kernel", None))

    try:
        steps = steps_of(ask, tmp_path)
    finally:
        replaced.put_back()
    assert results == ["kernel None"]
    assert [(step.name, step.arguments) for step in steps] == [(name, {}) for name in names]


def test_a_recorder_never_breaks_an_application(tmp_path: Path) -> None:
    """Whatever reading the call raises, e.g. in a release with other parameters."""

    def called(*_: object) -> tuple[str, object]:
        raise RuntimeError("not bound")

    class Other:
        def run(self) -> str:
            return "done"

    (replaced,) = wrap((ToolMethod("Other", ("run",), called),), SimpleNamespace(Other=Other))
    results: list[str] = []
    try:
        assert steps_of(lambda: results.append(Other().run()), tmp_path) == []
    finally:
        replaced.put_back()
    assert results == ["done"]


class Unreadable:
    """A result that fails to be read."""

    status = "success"

    @property
    def content(self) -> str:
        """Isn't there."""
        raise RuntimeError("not yet")

    def __str__(self) -> str:
        return "a result"


def test_a_result_that_cannot_be_read_is_the_frameworks_all_the_same(tmp_path: Path) -> None:
    """The framework gets it; the step has its text."""
    value, results = Unreadable(), []
    (step,) = steps_of(lambda: results.append(Tool(lambda: value).run({})), tmp_path)
    assert results == [value]
    assert (step.status, step.result) == ("ok", "a result")


def test_a_recorded_tool_inside_is_the_step(tmp_path: Path) -> None:
    """Once, with its record, which a replay needs."""
    tool = recording.tool(find_order)
    steps = steps_of(lambda: Tool(tool).run({"order": 7}), tmp_path)
    assert [step.name for step in steps] == ["find_order"]
    assert steps[0].record.startswith("tool:")


def test_a_tool_that_ends_the_conversation_is_no_step(tmp_path: Path) -> None:
    """Neither where a framework runs it, nor where only a model's answer asks for it."""
    assert steps_of(lambda: Tool(str, "final_answer").run({"object": "done"}), tmp_path) == []
    final = ToolCall("final_answer", {"answer": "done"}, "c1")
    assert [s.kind for s in steps_from([StepNote(Step("model", "m"), tool_calls=(final,))])] == [
        "model"
    ]


def test_a_tool_that_is_the_form_of_an_answer_is_no_step_unless_something_is_returned() -> None:
    """OpenAI's and Anthropic's `tool_choice`, as Instructor uses it."""
    call = ToolCall("Order", {"order": 7}, "c1")
    for choice in (
        b'{"type":"function","function":{"name":"Order"}}',
        b'{"type":"tool","name":"Order"}',
    ):
        request = b'{"body":{"messages":[{"role":"user","content":"x"}],"tool_choice":%s}}' % choice
        asking = StepNote(Step("model", "m"), tool_calls=(call,), request=request)
        assert [step.kind for step in steps_from([asking])] == ["model"]
        asking = StepNote(Step("model", "m"), tool_calls=(call,), request=request)
        then = b'{"body":{"messages":[{"role":"tool","tool_call_id":"c1","content":"kept"}]}}'
        told = StepNote(Step("model", "m"), request=then)
        assert [step.kind for step in steps_from([asking, told])] == ["model", "tool", "model"]


def test_outside_of_trials_tools_just_run() -> None:
    """And nothing is kept of them."""
    with recording.install():
        assert Tool(find_order).run({"order": 7})["order"] == 7


def test_a_real_frameworks_tools_are_steps(tmp_path: Path) -> None:
    """Pydantic AI's, one of which fails once and is tried again."""
    tries: list[int] = []

    def refund(order: int) -> str:
        tries.append(order)
        if len(tries) == 1:
            raise ModelRetry("try again")
        return "done"

    agent = Agent(TestModel(), tools=[refund])
    evals = EvalSet("real", data=[{"id": "a"}])

    @evals.eval
    async def asks(expect: Expect) -> None:
        await agent.run("refund order 7")
        expect(expect.steps, ~NeverFails("refund"))

    result = run(evals, home=tmp_path, progress=False)
    assert result.passed, result.trials()[0].reason
    steps = [step for step in result.steps(result.trials()[0]) if step.kind == "tool"]
    assert [(step.name, step.status, step.result) for step in steps] == [
        ("refund", "error", None),
        ("refund", "ok", "done"),
    ]


def test_the_frameworks_that_are_here_have_the_methods_that_are_looked_for() -> None:
    """So that a new release which renames one is noticed; the others are tested in environments of their own."""
    module = importlib.import_module("pydantic_ai.toolsets.function")
    replaced = wrap(METHODS["pydantic_ai.toolsets.function"], module)
    assert [one.name for one in replaced] == ["call_tool"]
    replaced[0].put_back()
