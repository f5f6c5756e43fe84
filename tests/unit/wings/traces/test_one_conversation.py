"""One conversation, as instrumentations and frameworks write it: the same input, output, steps and cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from evenhand.core.step import Step
from evenhand.doors.spans.assembling import AssembledTrace, assembled
from evenhand.doors.spans.span import RawSpan
from evenhand.doors.spans.span_to_step import read_span
from evenhand.doors.spans.states import is_schema
from evenhand.scorers import CallsTool
from evenhand.wings.traces.run import trial_of

ASKED, SAID = "Refund order 101, 20 euros", "Order 101 is refunded."
ARGUMENTS = {"id": 101, "amount": 20}
SCHEMA = {
    "properties": {"id": {"description": "The order's number.", "type": "integer"}},
    "required": ["id"],
    "type": "object",
}
S = 1_000_000_000

DUMPED = [
    {"type": "human", "content": ASKED, "id": "1"},
    {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "refund", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}],
    },
    {"type": "tool", "content": "done", "tool_call_id": "c1", "name": "refund"},
    {"type": "ai", "content": SAID},
]
BLOCKS = [{**DUMPED[3], "content": [{"type": "text", "text": SAID, "index": 0}]}]


def constructor(name: str, **fields: Any) -> dict[str, Any]:
    """A message as LangChain serialises it."""
    where = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": where, "kwargs": fields}


INPUTS: Mapping[str, object] = {
    "text": ASKED,
    "pairs": {"messages": [["user", ASKED]]},
    "pairs of LangChain's": {"messages": [["human", ASKED]]},
    "roles": {"messages": [{"role": "user", "content": ASKED}]},
    "a list": [{"role": "user", "content": ASKED}],
    "with a system prompt": {
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": ASKED}]
    },
    "dumped": {"messages": DUMPED[:1]},
    "serialised": {"messages": [[constructor("HumanMessage", content=ASKED, type="human")]]},
    "data": {"messages": [{"type": "human", "data": {"content": ASKED}}]},
    "blocks": {"messages": [{"role": "user", "content": [{"type": "text", "text": ASKED}]}]},
    "more state": {"messages": [["user", ASKED]], "remaining_steps": 24},
    "parts": [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}],
    "OpenLLMetry's": {"inputs": {"messages": [["user", ASKED]]}, "tags": [], "metadata": {}},
}
OUTPUTS: Mapping[str, object] = {
    "text": SAID,
    "dumped": {"messages": DUMPED},
    "blocks": {"messages": [*DUMPED[:3], *BLOCKS]},
    "serialised": {"messages": [constructor("AIMessage", content=SAID, type="ai")]},
    "roles": {
        "messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": SAID}]
    },
    "more state": {"messages": DUMPED, "order": {"id": 101}},
    "parts": [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}],
    "OpenLLMetry's": {"outputs": {"messages": DUMPED}, "kwargs": {"tags": []}},
    "OpenLLMetry's, serialised": {
        "outputs": {"messages": [constructor("AIMessage", content=SAID, type="ai")]}
    },
}
RESULTS: Mapping[str, object] = {
    "text": "done",
    "dumped": DUMPED[2],
    "serialised": constructor("ToolMessage", content="done", tool_call_id="c1", type="tool"),
    "in an output": {"output": constructor("ToolMessage", content="done", tool_call_id="c1")},
    "written by Python": "content='done' name='refund' tool_call_id='c1'",
    "blocks": {**DUMPED[2], "content": [{"type": "text", "text": "done"}]},
}
GIVEN: Mapping[str, Mapping[str, object]] = {
    "input": {"input.value": ARGUMENTS},
    "parameters": {"tool.parameters": ARGUMENTS},
    "both": {"input.value": ARGUMENTS, "tool.parameters": ARGUMENTS},
    "with its schema": {"input.value": ARGUMENTS, "tool.parameters": SCHEMA},
    "the other way round": {"input.value": SCHEMA, "tool.parameters": ARGUMENTS},
    "with its definition": {
        "input.value": ARGUMENTS,
        "tool.parameters": {
            "type": "function",
            "function": {"name": "refund", "parameters": SCHEMA},
        },
    },
    "a schema alone": {"tool.parameters": SCHEMA},
    "two schemas": {"input.value": SCHEMA, "tool.parameters": [SCHEMA]},
    "nothing": {},
    "a table of parameters": {
        "input.value": ARGUMENTS,
        "tool.parameters": {"id": {"type": "integer", "description": "The order's number."}},
    },
    "written by Python": {"input.value": str(ARGUMENTS)},
    "a string of LangChain's": {"input.value": {"input_str": str(ARGUMENTS), "tags": []}},
}


def text_of(value: object) -> str:
    """As an attribute has it."""
    return value if isinstance(value, str) else json.dumps(value)


def openinference(
    given: object = None,
    answer: object = None,
    tool: Mapping[str, object] | None = None,
    result: object = "done",
    model: Mapping[str, object] | None = None,
) -> AssembledTrace:
    """The conversation's trace."""
    said = "llm.output_messages.0.message."
    call = f"{said}tool_calls.0.tool_call.function."
    root: dict[str, Any] = {"openinference.span.kind": "CHAIN" if given is not None else "AGENT"}
    if given is not None:
        root |= {"input.value": text_of(given), "output.value": text_of(answer)}
    llm = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-5-mini",
        "llm.token_count.prompt": 100,
        "llm.token_count.completion": 10,
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": ASKED,
        f"{said}role": "assistant",
        **(model or {}),
    }
    asks = {f"{call}name": "refund", f"{call}arguments": json.dumps(ARGUMENTS)}
    used = {key: text_of(value) for key, value in (tool or {"input.value": ARGUMENTS}).items()}
    runs = {
        "openinference.span.kind": "TOOL",
        "tool.name": "refund",
        "output.value": text_of(result),
    }
    return of(
        ("a", "", "graph", 0, 9, root),
        ("b", "a", "llm", 1, 2, {**llm, **asks}),
        ("c", "a", "refund", 3, 4, {**runs, **used}),
        ("d", "a", "llm", 5, 6, {**llm, f"{said}content": SAID}),
    )


def of(
    *rows: tuple[str, str, str, float, float, Mapping[str, Any]], scope: str = "x"
) -> AssembledTrace:
    """A trace of spans: id, parent, name, seconds of its beginning and its end, attributes."""
    spans = [
        RawSpan(
            trace="t",
            id=id_,
            parent=parent,
            name=name,
            start=int(a * S),
            end=int(b * S),
            status="ok",
            attributes=what,
            scope=scope,
        )
        for id_, parent, name, a, b, what in rows
    ]
    return assembled([read_span(span) for span in spans])


def told(trace: AssembledTrace) -> tuple[Any, Any, list[tuple[Any, ...]]]:
    """The input, the output and the steps but an agent around them."""
    trial = trial_of(trace, "t", "c", 0, 0, 0, "")
    steps = [step for step in trace.steps if step.kind != "agent"]
    return trial.input, trial.output, [shown(step) for step in steps]


def shown(step: Step) -> tuple[Any, ...]:
    """A step, as far as a framework should make no difference."""
    arguments = step.arguments if step.kind == "tool" else None
    return step.kind, step.name, arguments, step.result, step.status


STEPS = [
    ("model", "gpt-5-mini", None, None, "ok"),
    ("tool", "refund", ARGUMENTS, "done", "ok"),
    ("model", "gpt-5-mini", None, SAID, "ok"),
]


@pytest.mark.parametrize("answer", OUTPUTS)
@pytest.mark.parametrize("given", INPUTS)
def test_a_root_says_what_the_user_asked_and_what_was_answered(given: str, answer: str):
    """Whatever state its framework passes on."""
    assert told(openinference(INPUTS[given], OUTPUTS[answer])) == (ASKED, SAID, STEPS)


def test_a_root_that_says_nothing_leaves_it_to_its_models():
    """As the SDK of OpenAI's agents does."""
    assert told(openinference()) == (ASKED, SAID, STEPS)


@pytest.mark.parametrize(
    "value", [{"order": 7}, {"messages": 3}, {"messages": []}, [1, 2], ["user", 7]], ids=repr
)
def test_values_of_an_applications_own_stay_as_they_are(value: object):
    """They are no messages."""
    assert told(openinference(value, value))[:2] == (value, value)


@pytest.mark.parametrize("given", GIVEN)
def test_a_tools_arguments_are_what_the_model_called_it_with(given: str):
    """And never what it takes; two different calls are never equal."""
    trace = openinference(tool=GIVEN[given])
    assert told(trace)[2] == STEPS
    tool = next(step for step in trace.steps if step.kind == "tool")
    assert CallsTool("refund", {"id": 101, "amount": 20}).score([tool]).passed
    assert not CallsTool("refund", {"id": 102}).score([tool]).passed


@pytest.mark.parametrize("result", RESULTS)
def test_a_tools_result_is_what_it_returned(result: str):
    """Also where it is the message that goes to the model."""
    assert told(openinference(result=RESULTS[result]))[2] == STEPS


def test_a_result_that_only_looks_like_a_written_message_is_a_text():
    """Its quotes hold what no Python writes: nothing is raised, and nothing is lost."""
    text = r"content='\x' name='refund' tool_call_id='c1'"
    assert told(openinference(result=text))[2][1][3] == text


def test_a_message_that_tells_of_a_failure_is_one():
    """The framework catches it, and its span ends well."""
    failed = {**DUMPED[2], "content": "no such order", "status": "error"}
    assert told(openinference(result=failed))[2][1] == (
        "tool",
        "refund",
        ARGUMENTS,
        "no such order",
        "error",
    )


@pytest.mark.parametrize(
    "value",
    [ARGUMENTS, {}, {"type": "object"}, {"properties": "all"}, {"type": "refund", "title": "x"}],
    ids=repr,
)
def test_arguments_are_no_schema(value: dict[str, Any]):
    """A word such as `type` makes none; `{"type": "object"}` alone is one."""
    assert is_schema(value) is (value == {"type": "object"})


PRICED = (100 * 0.25 + 10 * 2.0) / 1e6


@pytest.mark.parametrize(
    ("more", "usd"),
    [
        ({}, PRICED),
        ({"llm.model_name": "gpt-5-mini-2025-08-07"}, PRICED),
        ({"llm.model_name": "openai/gpt-5-mini"}, PRICED),
        ({"llm.model_name": "openai:gpt-5-mini-2025-08-07", "llm.provider": "openai"}, PRICED),
        ({"llm.model_name": "claude-haiku-4-5-20251001"}, 150e-6),
        ({"llm.model_name": "anthropic/claude-haiku-4-5", "llm.system": "anthropic"}, 150e-6),
        ({"llm.model_name": "claude-haiku-4-5@20251001"}, 150e-6),
        ({"llm.model_name": "us.anthropic.claude-haiku-4-5-20251001-v1:0"}, 150e-6),
        ({"llm.model_name": "models/gemini-2.5-flash", "llm.provider": "google"}, 55e-6),
        ({"llm.token_count.prompt_details.cache_read": 40}, PRICED - 40 * 0.225e-6),
        ({"llm.token_count.completion_details.reasoning": 8}, PRICED),
        ({"llm.cost.total": 0.5}, 0.5),
        ({"llm.model_name": "nobody's"}, None),
        ({"llm.provider": "ollama"}, None),
        ({"llm.provider": "aws"}, None),
        ({"llm.invocation_parameters": '{"service_tier": "priority"}'}, None),
        ({"llm.invocation_parameters": '{"tools": [{"type": "web_search"}]}'}, None),
        ({"gen_ai.openai.response.service_tier": "flex"}, None),
        ({"gen_ai.openai.response.service_tier": "default"}, PRICED),
        ({"llm.token_count.completion": ""}, None),
    ],
    ids=repr,
)
def test_a_call_is_priced_by_the_list_and_says_so(more: dict[str, Any], usd: float | None):
    """By its model's name, however it is written; not where nobody knows, and never instead of what a span says."""
    trial = trial_of(openinference(model=more), "t", "c", 0, 0, 0, "")
    assert trial.cost_usd == (None if usd is None else pytest.approx(2 * usd))
    listed = usd is not None and "llm.cost.total" not in more
    assert ("priced" in trial.metadata["trace"]) is listed


def model(scope: str, a: float, b: float, said: str = SAID, **more: Any) -> RawSpan:
    """A model's call, as a library tells it."""
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-5-mini",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": said,
        **more,
    }
    id_, parent = f"{scope}{a}{b}", more.get("parent", "root")
    return RawSpan(
        trace="t",
        id=id_,
        parent=parent,
        name="llm",
        start=int(a * S),
        end=int(b * S),
        status="ok",
        attributes=attributes,
        scope=scope,
    )


ROOT = RawSpan(
    trace="t",
    id="root",
    parent="",
    name="agent",
    start=0,
    end=9 * S,
    status="ok",
    attributes={"openinference.span.kind": "AGENT"},
)


@pytest.mark.parametrize(
    ("spans", "calls"),
    [
        ([model("sdk", 1, 2), model("sdk", 3, 4)], 2),
        ([model("sdk", 1, 2), model("sdk", 1, 2.5)], 2),
        ([model("framework", 1, 3), model("sdk", 1.5, 2.5)], 1),
        ([model("sdk", 1.5, 2.5), model("framework", 1, 3), model("http", 1.6, 2)], 1),
        (
            [
                model("framework", 1, 3),
                model("framework", 1, 3.1),
                model("sdk", 1.5, 2),
                model("sdk", 1.6, 2),
            ],
            2,
        ),
        ([model("framework", 1, 3), model("sdk", 1.5, 2), model("sdk", 2.1, 2.9)], 2),
        ([model("framework", 1, 3), model("sdk", 4, 5)], 2),
        ([model("framework", 1, 3), model("sdk", 1.5, 2, "Another answer")], 2),
        (
            [
                model(
                    "framework",
                    1,
                    3,
                    **{"llm.token_count.prompt": 9, "llm.token_count.completion": 1},
                ),
                model(
                    "sdk", 1.5, 2, **{"llm.token_count.prompt": 8, "llm.token_count.completion": 1}
                ),
            ],
            2,
        ),
    ],
)
def test_a_call_that_two_libraries_told_side_by_side_is_one(spans: list[RawSpan], calls: int):
    """Two that one library told are two, however alike; so are two at different times, or with different answers."""
    trace = assembled([read_span(span) for span in (ROOT, *spans)])
    assert sum(step.kind == "model" for step in trace.steps) == calls
    assert trace.problems.doubled == len(spans) - calls
