"""A trial's steps are put together from what was noted: nothing twice, in order, with what tools returned."""

from __future__ import annotations

from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.message import Reply, ToolCall
from evenhand.core.step import Step
from evenhand.core.timeline import StepNote, kind_asked, steps_from, told

FIND = ToolCall("find", {"id": 7}, "c1")
REFUND = ToolCall("refund", {"id": 7}, "c2")


def asked(*messages: dict[str, Any], **body: Any) -> bytes:
    """A request as a journal has it."""
    return encode({"body": {"messages": list(messages), **body}, "url": "http://x/v1/messages"})


def model(request: bytes = b"", calls: tuple[ToolCall, ...] = (), **more: Any) -> StepNote:
    """A model's note."""
    return StepNote(Step("model", "m", **{"status": "ok", **more}), calls, request)


def user(text: str) -> dict[str, Any]:
    """A message."""
    return {"role": "user", "content": text}


def test_nothing_noted_is_no_steps():
    """An empty list."""
    assert steps_from([]) == []


def test_times_count_from_the_first_step_and_unknown_ones_stay_unknown():
    """Whatever clock they were noted by."""
    steps = steps_from([
        StepNote(Step("tool", "a", started_s=5.0)),
        StepNote(Step("tool", "b")),
        StepNote(Step("tool", "c", started_s=7.5)),
    ])  # fmt: skip
    assert [step.started_s for step in steps] == [0.0, None, 2.5]


def test_a_tool_that_was_asked_for_and_recorded_is_one_step_with_the_vendors_id():
    """By its arguments where two have its name, although it takes more of them and is called by a longer name."""
    other = ToolCall("find", {"id": 8}, "c0")
    steps = steps_from([
        model(calls=(other, FIND)),
        StepNote(Step("tool", "Shop.find", {"id": 7, "deep": False}, "late", "ok")),
    ])  # fmt: skip
    assert [(s.name, s.call, s.result) for s in steps] == [
        ("m", "", None),
        ("Shop.find", "c1", "late"),
        ("find", "c0", None),
    ]


def test_what_a_tool_returned_is_read_from_the_next_request_in_each_vendors_form():
    """OpenAI's two forms say nothing of success; Anthropic's does where it says so."""
    told_ = {
        "openai": ({"role": "tool", "tool_call_id": "c1", "content": "late"}, "unknown"),
        "responses": (
            {"type": "function_call_output", "call_id": "c1", "output": "late"},
            "unknown",
        ),
        "anthropic": (_result("late", is_error=False), "ok"),
        "failed": (_result("late", is_error=True), "error"),
        "silent": (_result("late"), "unknown"),
    }
    for message, status in told_.values():
        steps = steps_from([model(calls=(FIND,)), model(asked(user("hi"), message))])
        assert [(s.kind, s.result, s.status) for s in steps[:2]] == [
            ("model", None, "ok"),
            ("tool", "late", status),
        ]


def _result(content: str, **more: bool) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": content, **more}
    return {"role": "user", "content": [block]}


def test_what_tools_returned_to_googles_models_is_told_by_name_and_order():
    """Their calls mostly have no id. A tool that was recorded has its number all the same."""
    calls = tuple(ToolCall("find", {"id": n}) for n in (7, 8, 9))
    parts = [
        {"functionResponse": {"name": "find", "response": {"result": "late"}}},
        {"functionResponse": {"name": "find", "response": {"error": "no such order"}}},
        {"functionResponse": {"name": "find", "response": {"state": "sent"}}},
    ]
    contents = [{"role": "user", "parts": [{"text": "Where?"}]}, {"role": "user", "parts": parts}]
    steps = steps_from([
        model(calls=calls),
        StepNote(Step("tool", "find", {"id": 7}, "recorded", "ok")),
        model(encode({"body": {"contents": contents}, "url": "http://x"})),
    ])  # fmt: skip
    told_of = [(s.arguments, s.result, s.status) for s in steps if s.kind == "tool"]
    assert told_of == [
        ({"id": 7}, "recorded", "ok"),
        ({"id": 8}, "no such order", "error"),
        ({"id": 9}, {"state": "sent"}, "unknown"),
    ]


def test_a_recorded_result_is_not_replaced_by_what_the_model_was_told():
    """The application may have told it less."""
    steps = steps_from([
        model(calls=(FIND,)),
        StepNote(Step("tool", "find", {"id": 7}, {"state": "late"}, "ok")),
        model(asked({"role": "tool", "tool_call_id": "c1", "content": "cut"})),
    ])  # fmt: skip
    assert (steps[1].result, steps[1].status, len(steps)) == ({"state": "late"}, "ok", 3)


def test_a_request_is_told_without_what_its_conversation_had_before():
    """Another conversation begins anew, and so does one whose messages have changed."""
    first, answer, then = user("one"), {"role": "assistant", "content": "a"}, user("two")
    steps = steps_from([
        model(asked(first, system="kind")),
        model(asked(first, answer, then, system="kind")),
        model(asked(user("else"))),
    ])  # fmt: skip
    assert [step.arguments for step in steps] == [
        {"system": "kind", "messages": [first]},
        {"earlier": 2, "messages": [then]},
        {"messages": [user("else")]},
    ]


def test_parents_are_followed_where_steps_are_put_between():
    """A tool that was asked for belongs where the model does that asked."""
    steps = steps_from([
        StepNote(Step("agent", "planner")),
        model(calls=(FIND, REFUND), parent=0, agent="planner"),
        StepNote(Step("tool", "find", {"id": 7}, parent=0)),
        model(parent=0),
        StepNote(Step("tool", "mail", parent=3)),
    ])  # fmt: skip
    assert [(s.name, s.parent, s.agent) for s in steps] == [
        ("planner", None, ""),
        ("m", 0, "planner"),
        ("find", 0, ""),
        ("refund", 0, "planner"),
        ("m", 0, ""),
        ("mail", 4, ""),
    ]


def test_what_a_model_said_is_told_without_its_calls():
    """Calls alone say nothing; Anthropic's stand behind its words."""
    assert told(Reply("[1]", "[1]")) == "[1]"
    assert told(Reply("x", {"a": 1})) == {"a": 1}
    assert told(Reply('[{"name":"find"}]', tool_calls=(FIND,))) is None
    assert told(Reply("", [{"name": "find"}], tool_calls=(FIND,))) is None
    assert told(Reply('I see.\n\nNow.\n\n{"type":"tool_use"}', tool_calls=(FIND,))) == (
        "I see.\n\nNow."
    )


def test_requests_of_any_shape_are_told():
    """What is no conversation, and what is no JSON."""
    steps = steps_from([model(b"\xff"), model(b"[1]"), model(encode({"prompt": "p", "vars": {}}))])
    assert [step.arguments for step in steps] == [
        {"request": "�"},
        {"request": [1]},
        {"prompt": "p", "vars": {}},
    ]
    assert kind_asked(b'{"code":"x"}') == "agent"
    assert kind_asked(b'{"body":{}}') == "model"


def test_a_tool_named_by_its_id_is_that_call_and_no_other():
    """Reported with an id that nobody asked for, it is a step of its own."""
    steps = steps_from([model(calls=(FIND,)), StepNote(Step("tool", "find", call="other"))])
    assert [step.call for step in steps] == ["", "other", "c1"]
