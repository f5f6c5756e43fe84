"""One trajectory, written by OpenTelemetry's SDK in each dialect, is the same steps whichever one is read."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.trace_writers import (
    DIALECTS,
    Act,
    Dialect,
    as_json,
    genai,
    logs_of,
    protobuf,
    written,
)

from evenhand.core.step import Step
from evenhand.doors.spans.assembling import assembled
from evenhand.doors.spans.messages import value_of
from evenhand.doors.spans.span_to_step import read_span
from evenhand.wings.traces.otlp_protobuf import logged_of, spans_of
from evenhand.wings.traces.run import run_of

FIND = {"id": "c1", "name": "find_order", "arguments": {"order": 1042}}
REFUND = {"id": "c2", "name": "refund", "arguments": {"order": 1042, "amount": 9.5}}
OPENING = [
    {"role": "system", "content": "You work for a shop."},
    {"role": "user", "content": "My order 1042 never came. Ünïcode ✓ too."},
]
FOUND = {"role": "tool", "tool_call_id": "c1", "content": '{"state": "lost"}'}
REFUSED = {"role": "tool", "tool_call_id": "c2", "content": "timeout"}
ASKS = {"role": "assistant", "tool_calls": [FIND]}
ASKS_AGAIN = {"role": "assistant", "content": "I will refund it.", "tool_calls": [REFUND]}

SHOP = Act(
    "agent",
    "shop",
    0,
    6,
    within=[
        Act("model", "gpt-5-mini", 0.1, 1, OPENING, {"tool_calls": [FIND]}, tokens=(50, 10)),
        Act(
            "tool",
            "find_order",
            1.1,
            1.5,
            arguments=FIND["arguments"],
            result={"state": "lost"},
            call="c1",
        ),
        Act(
            "agent",
            "treasurer",
            2,
            3,
            within=[
                Act(
                    "model",
                    "claude-haiku-4-5",
                    2.1,
                    2.5,
                    [{"role": "user", "content": "May I refund 9.50?"}],
                    {"content": "Yes."},
                    tokens=(9, 2),
                )
            ],
        ),
        Act(
            "model",
            "gpt-5-mini",
            3.5,
            4,
            [*OPENING, ASKS, FOUND],
            {"content": "I will refund it.", "tool_calls": [REFUND]},
            tokens=(80, 12),
        ),
        Act("tool", "refund", 4.1, 5, arguments=REFUND["arguments"], error="timeout", call="c2"),
        Act(
            "model",
            "gpt-5-mini",
            5.1,
            6,
            [*OPENING, ASKS, FOUND, ASKS_AGAIN, REFUSED],
            {"content": "Sorry, that failed."},
            tokens=(99, 7),
        ),
    ],
)


def read(data: bytes, logs: bytes = b"") -> tuple[Step, ...]:
    """The steps of a request."""
    spans = [*spans_of(data), *logged_of(logs)]
    return assembled(read_span(span) for span in spans).steps


@pytest.mark.parametrize("name", DIALECTS)
def test_each_dialect_tells_the_same_steps(name: str):
    """The agents, what they were asked and answered, what tools were given and gave, errors, times, tokens."""
    steps = read(protobuf(written([SHOP], DIALECTS[name])))
    assert [(step.kind, step.name, step.parent, step.agent, step.status) for step in steps] == [
        ("agent", "shop", None, "", "ok"),
        ("model", "gpt-5-mini", 0, "shop", "ok"),
        ("tool", "find_order", 0, "shop", "ok"),
        ("agent", "treasurer", 0, "shop", "ok"),
        ("model", "claude-haiku-4-5", 3, "treasurer", "ok"),
        ("model", "gpt-5-mini", 0, "shop", "ok"),
        ("tool", "refund", 0, "shop", "error"),
        ("model", "gpt-5-mini", 0, "shop", "ok"),
    ]
    first, tool, refund, last = steps[1], steps[2], steps[6], steps[7]
    assert (first.arguments, first.result) == ({"messages": OPENING}, None)
    assert (tool.arguments, tool.result, tool.call) == ({"order": 1042}, {"state": "lost"}, "c1")
    assert (refund.arguments, refund.error) == ({"order": 1042, "amount": 9.5}, "timeout")
    assert last.arguments == {"earlier": 4, "messages": [ASKS_AGAIN, REFUSED]}
    assert (last.result, last.tokens_in, last.tokens_out) == ("Sorry, that failed.", 99, 7)
    assert (last.started_s, last.duration_s) == (5.1, pytest.approx(0.9))
    assert steps == read(protobuf(written([SHOP], genai)))


def test_what_was_said_may_come_as_log_records():
    """As OpenTelemetry's own instrumentations send it: the span says which model, the logs what was said."""

    def silent(span: Any, act: Act) -> None:
        genai(
            span,
            Act(
                act.kind,
                act.name,
                0,
                0,
                arguments=act.arguments,
                result=act.result,
                call=act.call,
                tokens=act.tokens,
            ),
        )

    spans = written([SHOP], silent)
    steps = read(protobuf(spans), logs_of([SHOP], spans))
    assert steps == read(protobuf(written([SHOP], genai)))


@pytest.mark.parametrize("name", DIALECTS)
def test_tools_without_spans_are_told_by_the_answers_that_asked_for_them(name: str):
    """Clients alone are instrumented: results are those of the messages that follow."""
    silent = Act(
        SHOP.kind, SHOP.name, 0, 6, within=[one for one in SHOP.within if one.kind == "model"]
    )
    steps = read(protobuf(written([silent], DIALECTS[name])))
    tools = [
        (one.name, one.arguments, one.result, one.call, one.status)
        for one in steps
        if one.kind == "tool"
    ]
    assert tools == [
        ("find_order", {"order": 1042}, {"state": "lost"}, "c1", "unknown"),
        ("refund", {"order": 1042, "amount": 9.5}, "timeout", "c2", "unknown"),
    ]


def files(folder: Path, name: str) -> Iterator[Path]:
    """The same request in each form of file."""
    spans = written([SHOP], DIALECTS[name])
    request, data = as_json(spans), protobuf(spans)
    lines = [json.dumps(as_json([span])) for span in spans]
    size = len(data).to_bytes(4, "big")
    for suffix, content in {
        "one.json": json.dumps(request, indent=2).encode(),
        "lines.jsonl": "\n".join(lines).encode(),
        "list.json": json.dumps([json.loads(line) for line in lines]).encode(),
        "one.pb": data,
        "framed.pb": size + data + size + data,
        "one.json.gz": gzip.compress(json.dumps(request).encode()),
        "one.pb.gz": gzip.compress(data),
        "console.txt": "\n".join(span.to_json() for span in spans).encode(),
    }.items():
        path = folder / suffix
        path.write_bytes(content)
        yield path


@pytest.mark.parametrize("name", DIALECTS)
def test_each_form_of_file_tells_the_same_steps(name: str, tmp_path: Path):
    """JSON in one piece, in lines, in a list; protobuf, framed or not; packed; as the console exporter prints it."""
    expected = read(protobuf(written([SHOP], genai)))
    for path in files(tmp_path, name):
        run, notes = run_of([path])
        (trial,) = run.trials()
        assert trial.steps == expected, path.name
        assert {note.kind for note in notes} == {"translated"}, path.name


# Where `taubench*.jsonl.gz` and `whoandwhen*.jsonl.gz` are (tau-bench and Who&When, both MIT), unless
# AGENT_TRAJECTORIES names another folder.
TRAJECTORIES = Path(__file__).parents[3] / "shared/data/agents"


def trajectories(pattern: str, dialect: str) -> list[dict[str, Any]]:
    """Those of a file, every third of them for a dialect, so that each is read in some; or a skip."""
    folder = Path(os.environ.get("AGENT_TRAJECTORIES") or TRAJECTORIES)
    found = sorted(folder.glob(pattern))
    if not found:
        pytest.skip(f"there are no recorded trajectories in {folder}")
    with gzip.open(found[0]) as lines:
        return [json.loads(line) for line in list(lines)[list(DIALECTS).index(dialect) % 3 :: 3]]


def of_tau_bench(row: dict[str, Any]) -> Act:
    """Each answer and each tool's call, half a second each."""
    said: list[dict[str, Any]] = []
    within: list[Act] = []
    asked: dict[str, dict[str, Any]] = {}
    for i, message in enumerate(row["traj"]):
        calls = [
            {
                "id": one["id"],
                "name": one["function"]["name"],
                "arguments": json.loads(one["function"]["arguments"]),
            }
            for one in message.get("tool_calls") or ()
        ]
        clean = {"role": message["role"]}
        if message.get("content"):
            clean["content"] = message["content"]
        if calls:
            clean["tool_calls"] = calls
            asked.update({one["id"]: one for one in calls})
        if message.get("tool_call_id"):
            clean["tool_call_id"] = message["tool_call_id"]
        if message["role"] == "assistant":
            answer = {key: value for key, value in clean.items() if key != "role"}
            within.append(Act("model", "gpt-4o", i, i + 0.5, list(said), answer, tokens=(i, 1)))
        elif message["role"] == "tool":
            call = asked[message["tool_call_id"]]
            within.append(
                Act(
                    "tool",
                    call["name"],
                    i,
                    i + 0.5,
                    arguments=call["arguments"],
                    result=message["content"],
                    call=call["id"],
                )
            )
        said.append(clean)
    return Act("agent", "airline", 0, len(said), within=within)


def of_who_and_when(row: dict[str, Any]) -> Act:
    """Each message is an agent's, with one call of a model."""
    said: list[dict[str, Any]] = [{"role": "user", "content": row["question"]}]
    within: list[Act] = []
    for i, message in enumerate(row["history"]):
        name = message.get("name") or message["role"]
        answer = {"content": message["content"]} if message["content"] else {}
        model = Act("model", "gpt-4o", i + 0.1, i + 0.4, list(said), answer)
        within.append(Act("agent", name, i, i + 0.5, within=[model]))
        if message["content"]:
            said.append({"role": "user", "content": message["content"]})
    return Act("agent", "team", 0, len(said) + 1, within=within)


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.timeout(300)
def test_recorded_agents_come_back_as_they_were(name: str):
    """tau-bench: each call with its arguments and its result, in order, and the words between."""
    dialect: Dialect = DIALECTS[name]
    for row in trajectories("taubench*.jsonl.gz", name):
        act = of_tau_bench(row)
        steps = read(protobuf(written([act], dialect)))
        expected = [
            ("tool", one.name, one.arguments, value_of(one.result), one.call)
            if one.kind == "tool"
            else ("model", one.name, None, (one.answer or {}).get("content"), "")
            for one in act.within
        ]
        told = [
            (
                one.kind,
                one.name,
                one.arguments if one.kind == "tool" else None,
                one.result,
                one.call,
            )
            for one in steps[1:]
        ]
        assert told == expected, row["task_id"]
        new = [
            message for one in steps if one.kind == "model" for message in one.arguments["messages"]
        ]
        assert len(new) == max(len(one.asked) for one in act.within if one.kind == "model")


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.timeout(300)
def test_recorded_teams_of_agents_come_back_as_they_were(name: str):
    """Who&When: who said what, in order."""
    for row in trajectories("whoandwhen*.jsonl.gz", name):
        act = of_who_and_when(row)
        steps = read(protobuf(written([act], DIALECTS[name])))
        agents = [(one.kind, one.name) for one in steps if one.kind == "agent"]
        assert agents == [("agent", "team"), *((one.kind, one.name) for one in act.within)]
        said = [one.result for one in steps if one.kind == "model"]
        assert said == [message["content"] or None for message in row["history"]], row["file"]
