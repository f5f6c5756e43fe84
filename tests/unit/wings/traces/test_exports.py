"""Exports of Langfuse and Logfire, and trajectories of Harbor: the steps that they tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.run import TrialResult
from evenhand.wings.traces.run import run_of

CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"order": 7}'}}
]
TOLD = [
    ("agent", "shop", None, None, None),
    ("model", "m", {"messages": [{"role": "user", "content": "Where is 7?"}]}, None, 0),
    ("tool", "find", {"order": 7}, "lost", 0),
]


def trial(folder: Path, value: Any) -> TrialResult:
    """The trial in a file with this value."""
    path = folder / "t.json"
    path.write_text(json.dumps(value))
    run, _ = run_of([path])
    (found,) = run.trials()
    return found


def told(found: TrialResult) -> list[tuple[Any, ...]]:
    """What its steps say."""
    return [(one.kind, one.name, one.arguments, one.result, one.parent) for one in found.steps]


def observation(own: str, kind: str, second: int, **more: Any) -> dict[str, Any]:
    """One of Langfuse's."""
    return {
        "id": own,
        "traceId": "t1",
        "type": kind,
        "name": own,
        "startTime": f"2026-11-23T10:00:0{second}.000Z",
        "endTime": f"2026-11-23T10:00:0{second + 1}.500Z",
        **more,
    }


OBSERVATIONS = [
    observation("shop", "AGENT", 0, endTime="2026-11-23T10:00:09.000Z"),
    observation(
        "ask",
        "GENERATION",
        1,
        parentObservationId="shop",
        model="m",
        input=[{"role": "user", "content": "Where is 7?"}],
        output={"role": "assistant", "content": None, "tool_calls": CALLS},
        usageDetails={"input": 50, "output": 9, "total": 59},
        costDetails={"total": 0.002},
    ),
    observation(
        "find",
        "TOOL",
        3,
        parentObservationId="shop",
        input={"order": 7},
        output="lost",
        level="ERROR",
        statusMessage="gone",
    ),
]


def snake(value: dict[str, Any]) -> dict[str, Any]:
    """As exports to a bucket name the fields."""
    return {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in key): one
        for key, one in value.items()
    }


@pytest.mark.parametrize(
    "value",
    [
        OBSERVATIONS,
        {"data": OBSERVATIONS, "meta": {"page": 1}},
        {"id": "t1", "name": "shop", "sessionId": "s", "observations": OBSERVATIONS},
        [{"id": "t1", "observations": OBSERVATIONS}],
        [snake(one) for one in OBSERVATIONS],
    ],
)
def test_langfuse_tells_models_tools_usage_and_errors(value: Any, tmp_path: Path):
    """Rows, a page of the API, traces with their observations; camel case and snake case."""
    found = trial(tmp_path, value)
    assert told(found) == TOLD
    assert (found.tokens_in, found.tokens_out, found.cost_usd) == (50, 9, 0.002)
    assert (found.steps[2].status, found.steps[2].error, found.steps[2].call) == (
        "error",
        "gone",
        "c1",
    )
    assert found.steps[2].duration_s == 1.5


def row(own: str, parent: str | None, second: int, **attributes: Any) -> dict[str, Any]:
    """One of Logfire's."""
    return {
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "span_id": own,
        "parent_span_id": parent,
        "kind": "span",
        "span_name": own,
        "start_timestamp": f"2026-11-23T10:00:0{second}.000000Z",
        "duration": 1.5,
        "otel_status_code": "ERROR" if own == "find" else None,
        "otel_status_message": "gone" if own == "find" else None,
        "service_name": "shop",
        "attributes": attributes,
    }


ANSWER = {"role": "assistant", "tool_calls": CALLS}
ROWS = [
    row("agent", None, 0, **{"gen_ai.operation.name": "invoke_agent", "agent_name": "shop"}),
    row(
        "ask",
        "agent",
        1,
        **{
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 50,
            "gen_ai.usage.output_tokens": 9,
            "operation.cost": 0.002,
            "events": [
                {"event.name": "gen_ai.user.message", "role": "user", "content": "Where is 7?"},
                {"event.name": "gen_ai.choice", "index": 0, "message": ANSWER},
            ],
        },
    ),
    row(
        "find",
        "agent",
        3,
        **{
            "gen_ai.tool.name": "find",
            "gen_ai.tool.call.id": "c1",
            "tool_arguments": '{"order": 7}',
            "tool_response": "lost",
        },
    ),
]


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        {"columns": [{"name": "trace_id"}], "rows": ROWS},
        {"columns": [{"name": key, "values": [one[key] for one in ROWS]} for key in ROWS[0]]},
    ],
)
def test_logfire_tells_what_pydantic_ai_reports(value: Any, tmp_path: Path):
    """Rows, the query API's answer by rows and by columns."""
    found = trial(tmp_path, value)
    assert told(found) == TOLD
    assert (found.tokens_in, found.tokens_out, found.cost_usd) == (50, 9, 0.002)
    assert (found.steps[2].status, found.steps[2].error) == ("error", "gone")
    assert found.steps[2].duration_s == 1.5
    assert found.outcome == "not_applicable"  # a tool failed, and not the whole


def test_a_span_that_logfire_told_at_its_beginning_is_no_other_span(tmp_path: Path):
    """It has an id of its own, and the span's as its parent."""
    pending = {
        **row("pending", "find", 3),
        "kind": "pending_span",
        "attributes": ROWS[2]["attributes"],
    }
    assert told(trial(tmp_path, [pending, *ROWS])) == TOLD


def test_a_negative_duration_says_nothing(tmp_path: Path):
    """Nor does it make a span end before it began."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{**ROWS[0], "duration": -1}, *ROWS[1:]]))
    run, notes = run_of([path])
    (found,) = run.trials()
    assert found.steps[0].duration_s is None
    assert not [note for note in notes if "ended before it began" in note.text]


def test_a_trajectory_of_harbors_tells_turns_calls_and_metrics(tmp_path: Path):
    """What the environment said is the result of the call; the next turn is asked with what came since."""
    steps = [
        {
            "step_id": 1,
            "timestamp": "2026-11-23T10:00:00Z",
            "source": "user",
            "message": "Where is 7?",
        },
        {
            "step_id": 2,
            "timestamp": "2026-11-23T10:00:01Z",
            "source": "agent",
            "message": "",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "find", "arguments": {"order": 7}}
            ],
            "observation": {"results": [{"source_call_id": "c1", "content": "lost"}]},
            "metrics": {"prompt_tokens": 50, "completion_tokens": 9, "cost_usd": 0.002},
        },
        {
            "step_id": 3,
            "timestamp": "2026-11-23T10:00:04Z",
            "source": "agent",
            "message": "It is lost.",
        },
    ]
    agent = {"name": "shop", "version": "1", "model_name": "m"}
    found = trial(
        tmp_path,
        {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": agent, "steps": steps},
    )
    assert told(found)[:3] == TOLD
    last = found.steps[3]
    assert last.result == "It is lost."
    assert last.arguments["earlier"] == 2
    assert last.arguments["messages"] == [{"role": "tool", "content": "lost", "tool_call_id": "c1"}]
    assert (found.case, found.output, found.tokens_in) == ("s1", "It is lost.", 50)


@pytest.mark.parametrize(
    ("costs", "cost"),
    [
        ({"costDetails": {"total": 0.002}, "calculatedTotalCost": 0.5}, 0.002),
        ({"calculatedTotalCost": 0.5}, 0.5),
        ({"totalCost": 0.5}, 0.5),
        ({"costDetails": {}, "calculatedTotalCost": 0.5}, 0.5),
        ({"costDetails": None, "totalCost": 0.5}, 0.5),
        ({"costDetails": {}}, None),
    ],
)
def test_what_langfuse_says_of_costs_counts_before_its_older_fields(
    costs: dict[str, Any], cost: float | None, tmp_path: Path
):
    """Which hold what it calculated; an empty object says nothing."""
    call = observation("ask", "GENERATION", 1, model="m", input="Hi", output="Ho", **costs)
    assert trial(tmp_path, [call]).cost_usd == cost


def test_what_a_trace_of_langfuses_was_given_is_not_of_its_inner_spans(tmp_path: Path):
    """An inner agent that does not say what it was given was given nothing that is known."""
    spans = [
        observation("shop", "AGENT", 0),
        observation("inner", "AGENT", 1, parentObservationId="shop"),
    ]
    found = trial(tmp_path, {"id": "t1", "input": "Q", "output": "A", "observations": spans})
    assert [(step.name, step.arguments, step.result) for step in found.steps] == [
        ("shop", "Q", "A"),
        ("inner", None, None),
    ]


def test_an_event_takes_no_time_and_a_tool_without_an_end_an_unknown_one(tmp_path: Path):
    """Only an event ends when it begins."""
    spans = [
        observation("shop", "AGENT", 0),
        observation("find", "TOOL", 1, parentObservationId="shop", endTime=None),
    ]
    assert trial(tmp_path, spans).steps[1].duration_s is None


def test_a_whole_of_which_one_price_is_not_known_has_no_price(tmp_path: Path):
    """What is known would be too little."""
    calls = [
        observation(f"ask {i}", "GENERATION", i, parentObservationId="shop", model="m", **more)
        for i, more in enumerate(
            [
                {"costDetails": {"total": 0.5}, "output": "first", "usageDetails": {"input": 3}},
                {"output": "last", "usageDetails": {"input": True}},
            ]
        )
    ]
    found = trial(tmp_path, [observation("shop", "AGENT", 0), *calls])
    assert found.cost_usd is None
    assert found.output == "last"
    assert found.steps[2].tokens_in is None


@pytest.mark.parametrize(
    ("told_cost", "wanted"),
    [
        (0.002, 0.002),
        ("0.5", 0.5),
        (0, 0.0),
        (-0.002, None),
        ("-1", None),
        ("inf", None),
        (True, None),
        ("x", None),
    ],
)
def test_a_cost_that_is_no_amount_is_not_known(
    told_cost: object, wanted: float | None, tmp_path: Path
) -> None:
    """A negative one would make the whole run cheaper."""
    call = observation(
        "ask", "GENERATION", 1, model="m", input="Hi", output="Ho", costDetails={"total": told_cost}
    )
    (step,) = trial(tmp_path, {"data": [call]}).steps
    assert step.cost_usd == wanted
