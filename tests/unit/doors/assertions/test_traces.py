"""Assertions on traces, and on the steps that they tell of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from evenhand.core.message import Reply
from evenhand.doors.assertions.assertion import Assertion
from evenhand.doors.assertions.reading import problems
from evenhand.doors.assertions.spans import Span, Trace, matches
from evenhand.doors.assertions.steps import Nothing, steps_of, summary
from evenhand.testing import Scripted


def told(*spans: Mapping[str, Any]) -> Reply:
    """A reply that has a trace."""
    return Reply("x", metadata={"trace": {"spans": list(spans)}})


def span(name: str, start: float = 0, took: float = 10, **more: Any) -> dict[str, Any]:
    """A span as a provider tells it."""
    return {"name": name, "startTime": start, "endTime": start + took, **more}


def tool(name: str, start: float = 0, **arguments: Any) -> dict[str, Any]:
    """A span that calls a tool."""
    about = {"tool.name": name, "tool.arguments": json.dumps(arguments)}
    return span(f"tool {name}", start, attributes=about)


SPANS = (span("llm.chat", took=300), span("llm.embed", took=20), span("db", statusCode=2))
STEPS = (
    tool("search", 1, q="cats", n=3, deep={"a": 1, "b": [1, 2]}),
    tool("book", 2),
    span("exec ls", 3),
)


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("llm.*", "LLM.chat", True),
        ("llm.*", "llmxchat", False),
        ("l?m", "lam", True),
        ("*", "", True),
        ("a[b", "a[b", True),
        ("b", "abc", False),
    ],
)
def test_a_pattern_speaks_of_the_whole_name(pattern: str, name: str, found: bool):
    """Only `*` and `?` mean something else than themselves."""
    assert matches(name, pattern) is found


@pytest.mark.parametrize(
    ("type_", "value", "outcome"),
    [
        ("trace-span-count", {"pattern": "llm.*", "min": 2, "max": 2}, "pass"),
        ("trace-span-count", {"pattern": "llm.*", "max": 1}, "fail"),
        ("not-trace-span-count", {"pattern": "llm.*", "max": 1}, "fail"),
        ("trace-span-count", {"max": 1}, "error"),
        ("trace-span-duration", {"max": 300}, "pass"),
        ("trace-span-duration", {"max": 299}, "fail"),
        ("trace-span-duration", {"max": 20, "percentile": 50}, "pass"),
        ("trace-span-duration", {"max": 1, "pattern": "nothing"}, "pass"),
        ("trace-span-duration", {"max": 1, "percentile": 101}, "error"),
        ("trace-span-duration", {}, "error"),
        ("trace-error-spans", None, "fail"),
        ("trace-error-spans", 1, "pass"),
        ("trace-error-spans", {"max_percentage": 33}, "fail"),
        ("trace-error-spans", {"max_count": 0, "pattern": "llm*"}, "pass"),
    ],
)
async def test_spans_are_counted_and_timed(settled: Any, type_: str, value: object, outcome: str):
    """Those whose names match; `not-` changes nothing."""
    assert (await settled(type_, value, reply=told(*SPANS))).outcome == outcome


async def test_without_a_trace_there_is_no_verdict(settled: Any):
    """It is an error that says so."""
    found = await settled("trace-error-spans", reply=Reply("x"))
    assert (found.outcome, found.error) == ("error", "score")
    assert "needs a trace" in found.reason


@pytest.mark.parametrize(
    "attributes",
    [
        {"error": True},
        {"exception": {"type": "X"}},
        {"http.status_code": "503"},
        {"otel.status_code": "ERROR"},
    ],
)
def test_a_span_that_failed_says_so_somewhere(attributes: Mapping[str, Any]):
    """In its status, its attributes or its message."""
    assert Span(name="x", attributes=attributes).failed
    assert Span(name="x", status=500).failed
    assert Span(name="x", message="request timeout").failed
    assert not Span(
        name="x", status=1, attributes={"error": "false", "http.status_code": 200}
    ).failed


@pytest.mark.parametrize(
    ("given", "step"),
    [
        (Span(name="x", attributes={"gen_ai.tool.name": "search"}), "tool:search"),
        (Span(name="x", attributes={"my.tool.name": "zed"}), "tool:zed"),
        (Span(name="x", attributes={"my.tool": '{"a": 1}'}), "span:x"),
        (Span(name="mcp files/read"), "tool:read"),
        (Span(name="exec git status"), "command:git status"),
        (
            Span(name="x", attributes={"tool.name": "shell", "args": '{"cmd": ["a", "b"]}'}),
            "command:a b",
        ),
        (Span(name="x", attributes={"codex.command": "npm test"}), "command:npm test"),
        (Span(name='search "cats"'), "search:cats"),
        (Span(name="lookup", attributes={"query": "dogs"}), "search:dogs"),
        (Span(name="x", attributes={"query": "dogs"}), "span:x"),
        (Span(name="Reasoning 1"), "reasoning:Reasoning 1"),
        (Span(name="agent response"), "message:agent response"),
    ],
)
def test_what_a_step_was_is_told_by_its_span(given: Span, step: str):
    """By attributes first, then by its name."""
    (found,) = steps_of(Trace([given]))
    assert str(found) == step


def test_steps_come_in_the_order_of_time():
    """Whatever the order in which they were told; arguments that are not told are not null."""
    trace = Trace(
        [Span(name="b", start=2), Span(name="a", start=1, attributes={"tool": "t", "args": "null"})]
    )
    first, second = steps_of(trace)
    assert (first.name, first.arguments) == ("t", None)
    assert second.arguments is Nothing


@pytest.mark.parametrize(
    ("type_", "value", "outcome"),
    [
        ("trajectory:tool-used", "search", "pass"),
        ("trajectory:tool-used", ["search", "pay"], "fail"),
        ("not-trajectory:tool-used", ["pay", "send"], "pass"),
        ("not-trajectory:tool-used", ["search", "pay"], "fail"),
        ("trajectory:tool-used", {"pattern": "*", "max": 1}, "fail"),
        ("trajectory:tool-used", {"min": 1}, "error"),
        ("trajectory:tool-used", [], "error"),
        ("trajectory:tool-sequence", ["search", "book"], "pass"),
        ("trajectory:tool-sequence", ["book", "search"], "fail"),
        ("not-trajectory:tool-sequence", ["book", "search"], "pass"),
        ("trajectory:tool-sequence", {"mode": "exact", "steps": ["search"]}, "fail"),
        ("trajectory:tool-sequence", {"mode": "exact", "steps": ["search", "b*"]}, "pass"),
        ("trajectory:tool-sequence", [{}], "error"),
        ("trajectory:step-count", {"type": "command", "min": 1, "max": 1}, "pass"),
        ("trajectory:step-count", {"type": ["tool", "command"], "max": 2}, "fail"),
        ("trajectory:step-count", {"pattern": "ls", "min": 1}, "pass"),
        ("trajectory:step-count", {"type": "tool"}, "error"),
    ],
)
async def test_steps_are_those_that_were_wanted(
    settled: Any, type_: str, value: object, outcome: str
):
    """By name, order and number."""
    assert (await settled(type_, value, reply=told(*STEPS))).outcome == outcome


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"args": {"q": "cats"}}, "pass"),
        ({"args": {"q": "dogs"}}, "fail"),
        ({"args": {"deep": {"b": [1, 2]}}}, "pass"),
        ({"args": {"deep": {"b": [1]}}}, "fail"),
        ({"args": {"q": "cats", "n": 3}, "mode": "exact"}, "fail"),
        ({"args": {"q": "cats", "n": 3}, "mode": "exact", "ignore": "d*"}, "pass"),
        (
            {"args": {"q": "cats"}, "mode": "exact", "ignore": ["deep"], "defaults": {"n": 3}},
            "pass",
        ),
        ({"arguments": {"n": True}}, "fail"),
        ({}, "error"),
        ({"args": {}, "mode": "odd"}, "error"),
        ({"args": {}, "defaults": 1}, "error"),
        ({"args": {}, "ignore": [""]}, "error"),
    ],
)
async def test_arguments_are_compared_in_part_or_as_a_whole(
    settled: Any, more: Mapping[str, Any], outcome: str
):
    """Without those that are ignored, and without usual ones."""
    value = {"name": "search", **more}
    found = await settled("trajectory:tool-args-match", value, reply=told(*STEPS))
    assert found.outcome == outcome


async def test_a_judge_is_shown_the_steps(settled: Any):
    """And its verdict counts; `not-` turns verdict and score round."""
    judge = Scripted(['{"reason": "booked", "pass": true, "score": 0.8}'])
    reply = told(*STEPS)
    found = await settled("trajectory:goal-success", "book it", reply=reply, judge=judge)
    assert (found.outcome, found.score, found.reason) == ("pass", 0.8, "booked")
    assert '"name": "search"' in judge.asked[0].text
    turned = await settled(
        "not-trajectory:goal-success", {"goal": "book it"}, reply=reply, judge=judge
    )
    assert (turned.outcome, turned.score) == ("fail", 0.0)
    vague = Scripted(['{"reason": "hm", "score": 0.8}'])
    unsure = await settled("trajectory:goal-success", "book it", reply=reply, judge=vague)
    assert unsure.outcome == "error"


def test_a_long_way_is_told_shortly():
    """The same step one after another once, and the middle of many left out."""
    many = [Span(name="again")] * 5 + [Span(name=f"s{n}", start=n + 1.0) for n in range(40)]
    said = json.loads(summary(Trace(many)))
    assert said["step_count"] == 45
    assert said["steps"][0]["times"] == 5
    assert len(said["steps"]) == 25
    assert {"left_out": 17} in said["steps"]


def test_what_cannot_be_asked_is_said_before_anything_runs():
    """A value needs no trace to be wrong."""
    assert problems(Assertion(type="trace-span-count", value={"min": 1}))
    assert problems(Assertion(type="trajectory:step-count", value={"type": "tool"}))
    assert problems(Assertion(type="skill-used", value={"min": 1}))
    assert not problems(Assertion(type="trajectory:tool-used", value="{{tool}}"))
