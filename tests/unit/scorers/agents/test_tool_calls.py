"""Tool calls, in whatever shape they come."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.message import Reply, ToolCall
from evenhand.scorers.agents.tool_calls import CallsTool, CallsTools, Order
from evenhand.scorers.invocations import invocations

ARGUMENTS = {"query": "moon", "limit": 3}
COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "1",
                        "type": "function",
                        "function": {
                            "name": "search",
                            "arguments": '{"query": "moon", "limit": 3}',
                        },
                    }
                ],
            },
        }
    ],
}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
    "content": [
        {"type": "text", "text": "I look it up."},
        {"type": "tool_use", "id": "1", "name": "search", "input": ARGUMENTS},
    ],
}
ANSWERED = {"role": "tool", "tool_call_id": "1", "name": "search", "content": "cheese"}
RESPONSE = {
    "output": [
        {"type": "reasoning", "id": "r", "summary": []},
        {
            "type": "function_call",
            "call_id": "1",
            "name": "search",
            "arguments": '{"query": "moon", "limit": 3}',
        },
    ]
}


@dataclass
class Invoked:
    """A call, as an application of somebody's own writes it down."""

    tool_name: str
    tool_arguments: dict[str, Any]
    id: str = "1"


def reply(*calls: tuple[str, dict[str, Any] | None]) -> Reply:
    """A reply with these calls."""
    return Reply("", tool_calls=tuple(ToolCall(name, given) for name, given in calls))


@pytest.mark.parametrize(
    "output",
    [
        Reply("", tool_calls=(ToolCall("search", ARGUMENTS, "1"),)),
        COMPLETION,
        ChatCompletion.model_validate(COMPLETION),
        COMPLETION["choices"][0]["message"],
        ChatCompletion.model_validate(COMPLETION).choices[0].message,
        COMPLETION["choices"][0],
        MESSAGE,
        AnthropicMessage.model_validate(MESSAGE),
        MESSAGE["content"],
        AnthropicMessage.model_validate(MESSAGE).content,
        RESPONSE,
        RESPONSE["output"],
        [{"role": "user", "content": "?"}, COMPLETION["choices"][0]["message"], ANSWERED],
        SimpleNamespace(calls=[SimpleNamespace(name="search", args=ARGUMENTS, id="1")]),
        [Invoked("search", ARGUMENTS)],
        Invoked("search", ARGUMENTS),
        {"function_call": {"name": "search", "arguments": ARGUMENTS, "id": "1"}},
        [{"name": "search", "arguments": ARGUMENTS, "id": "1"}],
    ],
)
def test_calls_are_found_in_every_shape(output: object):
    """Ours, both vendors' as dicts and as SDK objects, traces of messages, and an application's own."""
    (call,) = invocations(output)
    assert (call.name, call.arguments, call.id) == ("search", ARGUMENTS, "1")
    score = CallsTool("search", {"query": "moon"}).score(output)
    assert score.passed
    assert score.metadata == {"calls": [{"name": "search", "arguments": ARGUMENTS, "id": "1"}]}


@pytest.mark.parametrize(
    "output",
    [
        Reply("no calls"),
        {"role": "assistant", "content": "no calls"},
        {"choices": [{"message": {"role": "assistant", "content": "x", "tool_calls": None}}]},
        {**MESSAGE, "content": [{"type": "text", "text": "x"}]},
        [],
        [ANSWERED],
        {"tool_calls": []},
        {"output": []},
    ],
)
def test_an_output_that_calls_nothing_has_no_calls(output: object):
    """A reply without calls misses the positive form, and meets the negative one."""
    assert invocations(output) == ()
    missed = CallsTool("search").score(output)
    assert (missed.passed, missed.reason) == (False, "no tool was called")
    assert (~CallsTool("search")).score(output).passed
    assert CallsTools([]).score(output).passed


@pytest.mark.parametrize("output", ["text", None, 3, object(), {"a": 1}, ["text"], [[3]]])
def test_what_can_list_no_calls_is_an_error(output: object):
    """A reply's text has lost its calls: asked about them, it can neither meet nor miss."""
    for question in (CallsTool("search"), ~CallsTool("search"), CallsTools(["search"])):
        with pytest.raises(ScoreError, match="lists no tool calls"):
            question.score(output)


class Conversation:
    """An application's own, that lists its calls in one way or another."""

    def __init__(self, **listed: Any) -> None:
        vars(self).update(listed)


@pytest.mark.parametrize("name", ["tool_calls", "calls", "tool_invocations", "invocations"])
@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_an_application_may_list_its_calls_under_several_names(name: str, kind: Any):
    """As a list, or as anything else that can be gone through."""
    output = Conversation(**{name: kind([Invoked("search", ARGUMENTS), Invoked("send", {})])})
    assert [call.name for call in invocations(output)] == ["search", "send"]


@pytest.mark.parametrize("calls", [list, 3, "search", {"search": {}}])
def test_what_is_called_calls_and_lists_none_is_an_error(calls: object):
    """A method that was not called, or a count, is not the same as no calls: `~CallsTool` must not pass for it."""
    with pytest.raises(ScoreError, match=r"tool_calls of Conversation is .*, not a list"):
        (~CallsTool("send")).score(Conversation(tool_calls=calls))


def test_a_response_of_openais_is_read_whole():
    """Its function calls, and those of servers that it asked itself, in their order."""
    response = Response.model_validate(
        {
            "id": "r",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "output": [
                *RESPONSE["output"],
                {"type": "mcp_call", "id": "2", "name": "look", "arguments": "{}", "server_label": "s"},
                {"type": "message", "id": "3", "role": "assistant", "status": "completed", "content": []},
            ],
        }
    )  # fmt: skip
    for output in (response, response.output, response.model_dump()):
        assert [str(call) for call in invocations(output)] == [
            'search({"query":"moon","limit":3})',
            "look({})",
        ]


def test_a_call_without_a_name_is_an_error():
    """A list of calls that holds something else is told what it holds."""
    with pytest.raises(ScoreError, match="without a name"):
        invocations({"tool_calls": [3]})


@pytest.mark.parametrize(
    ("question", "passed"),
    [
        (CallsTool("search"), True),
        (CallsTool("Search"), False),
        (CallsTool("search", {}), True),
        (CallsTool("search", {"query": "moon"}), True),
        (CallsTool("search", {"query": "sun"}), False),
        (CallsTool("search", {"query": "moon", "page": None}), False),
        (CallsTool("search", {"limit": 3.0}), True),
        (CallsTool("search", {"limit": True}), False),
        (CallsTool("search", {"near": {"lat": 1}}), True),
        (CallsTool("search", {"near": {"lat": 1}}, exact=True), False),
        (CallsTool("search", {"tags": ["a"]}), False),
        (CallsTool("search", {"tags": ["a", "b"]}), True),
        (CallsTool("search", {"query": lambda q: "oo" in q}), True),
        (CallsTool("search", {"query": str.isupper}), False),
        (CallsTool("search", lambda given: given["limit"] < 5), True),
        (CallsTool("search", lambda given: given["limit"] > 5), False),
        (CallsTool("none", {}, exact=True), True),
        (CallsTool("search", {}, exact=True), False),
    ],
)
def test_arguments_are_some_of_them_all_of_them_or_what_a_function_says(
    question: CallsTool, passed: bool
):
    """And the negative form says the opposite, by the same rule."""
    given = {**ARGUMENTS, "near": {"lat": 1, "lon": 2}, "tags": ["a", "b"]}
    output = reply(("other", {}), ("search", given), ("none", {}))
    assert question.score(output).passed is passed
    assert (~question).score(output).passed is not passed
    assert ~~question == question


def test_every_call_is_kept_in_its_order():
    """The same tool twice is two calls."""
    score = CallsTool("a", {"n": 2}).score(reply(("a", {"n": 1}), ("b", {}), ("a", {"n": 2})))
    assert score.passed
    assert [call["arguments"] for call in score.metadata["calls"]] == [{"n": 1}, {}, {"n": 2}]
    assert score.reason == 'called a({"n":1}), b({}), a({"n":2})'


def test_arguments_that_cannot_be_read_are_an_error_where_they_decide():
    """A miss would say more than is known; where name or another call decides, they do not matter."""
    broken = {"tool_calls": [{"function": {"name": "search", "arguments": '{"query": "mo'}}]}
    for question in (
        CallsTool("search", {"query": "moon"}),
        ~CallsTool("search", {"query": "moon"}),
        CallsTools([CallsTool("search", {"query": "moon"})]),
    ):
        with pytest.raises(ScoreError, match="the arguments of search cannot be read"):
            question.score(broken)
    assert CallsTool("search").score(broken).passed
    assert not CallsTool("other", {"query": "moon"}).score(broken).passed
    both = reply(("search", None), ("search", {"query": "moon"}))
    score = CallsTool("search", {"query": "moon"}).score(both)
    assert score.passed
    assert "unreadable" in score.reason
    assert score.metadata["calls"][0] == {"name": "search", "arguments": None, "raw": "null"}


def test_an_empty_text_for_arguments_is_none_of_them():
    """Some servers send it for a tool without parameters."""
    output = {"tool_calls": [{"function": {"name": "now", "arguments": ""}}]}
    assert CallsTool("now", {}, exact=True).score(output).passed


def test_a_function_that_raises_is_an_error_of_its_own():
    """It is not a miss."""
    with pytest.raises(KeyError):
        CallsTool("search", lambda given: given["nothing"]).score(reply(("search", {})))


@pytest.mark.parametrize(
    ("wanted", "order", "passed"),
    [
        (["b", "a"], "any", True),
        (["b", "a"], "exact", False),
        (["a", "b"], "exact", True),
        (["a"], "any", False),
        (["a"], "subset", True),
        (["a", "a"], "subset", False),
        (["a", "b", "c"], "subset", False),
        ([CallsTool("b", {"n": 2}), "a"], "any", True),
        ([CallsTool("b", {"n": 3}), "a"], "any", False),
        ([], "any", False),
    ],
)
def test_several_tools_in_any_order_in_this_order_or_among_others(
    wanted: list[str | CallsTool], order: Order, passed: bool
):
    """`any` and `exact` want no others; `subset` does not mind."""
    output = reply(("a", {"n": 1}), ("b", {"n": 2}))
    assert CallsTools(wanted, order=order).score(output).passed is passed


def test_each_call_answers_for_one_wanted_call_only():
    """Whichever way round they are given, the wide wish leaves the call that only the narrow one can have."""
    output = reply(("a", {"n": 1}), ("a", {"n": 2}))
    assert CallsTools(["a", CallsTool("a", {"n": 1})]).score(output).passed
    assert CallsTools([CallsTool("a", {"n": 1}), "a"]).score(output).passed
    twice = [CallsTool("a", {"n": 1}), CallsTool("a", {"n": 1})]
    assert not CallsTools(twice).score(output).passed


def test_questions_that_cannot_be_meant_are_refused_when_they_are_written():
    """With what to write instead."""
    with pytest.raises(UsageError, match="exact="):
        CallsTool("a", exact=True)
    with pytest.raises(UsageError, match="is a text"):
        CallsTools("search")
    with pytest.raises(UsageError, match="order is"):
        CallsTools(["a"], order="strict")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot be in the list"):
        CallsTools([~CallsTool("a")])
    with pytest.raises(UsageError, match="of no tools"):
        CallsTools([], order="subset")


@pytest.mark.parametrize(
    ("question", "label"),
    [
        (CallsTool("search"), "calls search"),
        (~CallsTool("search"), "does not call search"),
        (CallsTool("search", {"q": "moon"}), 'calls search with {"q":"moon"}'),
        (CallsTool("a", {"n": 1}, exact=True), 'calls a with exactly {"n":1}'),
        (CallsTool("a", {"n": str.isupper}), 'calls a with {"n":"<isupper>"}'),
        (CallsTool("a", {"n": {1, 2}.issubset}), 'calls a with {"n":"<issubset>"}'),
        (CallsTool("a", {"n": object}), 'calls a with {"n":"<object>"}'),
        (CallsTool("a", lambda given: True), "calls a with what a function wants"),
        (CallsTool("a", {"n": "x" * 99}), 'calls a with {"n":"' + "x" * 73 + "…"),
        (CallsTools(["a", CallsTool("b", {"n": 1})]), 'calls a and b with {"n":1}, no others'),
        (CallsTools(["a", "b"], order="exact"), "calls exactly a, then b"),
        (CallsTools(["a", "b"], order="subset"), "calls a and b"),
        (CallsTools([]), "calls no tools"),
    ],
)
def test_a_question_reads_as_a_sentence(question: object, label: str):
    """It is the line that people read in the results."""
    assert str(question) == label


def test_arguments_of_an_applications_own_are_shown_as_they_can_be():
    """What is no JSON is shown the way Python shows it."""
    score = CallsTool("a").score([Invoked("a", {"n": 1j, "m": 1})])
    assert score.reason == "called a({'n': 1j, 'm': 1})"
    assert score.metadata["calls"][0]["arguments"] == {"n": "1j", "m": 1}
