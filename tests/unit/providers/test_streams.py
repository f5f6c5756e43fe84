"""Streams of events, read as the answer that they add up to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evenhand.providers.streams import END, error_instead, whole


def sent(*events: dict[str, Any], named: bool = False, done: bool = False) -> bytes:
    """Events as a vendor sends them."""
    lines = [
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return ("".join(lines) + ("data: [DONE]\n\n" if done else "")).encode()


def delta(reason: str | None = None, index: int = 0, **what: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    choice = {"index": index, "delta": what, "finish_reason": reason}
    return {"model": "m-1", "choices": [choice], "usage": None}


def test_a_chats_pieces_become_one_message():
    """Text in order, the first choice alone, the usage of the last chunk."""
    body = sent(
        delta(content="Hel"),
        delta(content="other", index=1),
        delta(content="lo"),
        delta("stop"),
        {"choices": [], "usage": {"prompt_tokens": 3}},
        done=True,
    )
    found = whole("chat/completions", body)
    assert found is not None
    assert found["choices"][0]["message"]["content"] == "Hello"
    assert found["choices"][0]["finish_reason"] == "stop"
    assert (found["model"], found["usage"]) == ("m-1", {"prompt_tokens": 3})


@pytest.mark.parametrize("odd", ["\u2028", "\u0085", "\x0c", "\x1c"])
def test_a_models_text_is_whole_whatever_stands_in_it(odd: str):
    """Vendors do not escape what only Python takes for the end of a line."""
    event = json.dumps(delta("stop", content=f"one{odd}two"), ensure_ascii=False)
    found = whole("chat/completions", f"data: {event}\r\n\r\ndata: [DONE]\r\n\r\n".encode())
    assert found is not None
    assert found["choices"][0]["message"]["content"] == f"one{odd}two"


def test_tool_calls_come_in_pieces_too():
    """Name and id once, arguments bit by bit, several at a time."""
    parts = [
        {"index": 0, "id": "a", "function": {"name": "search", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"q": '}},
        {"index": 1, "id": "b", "function": {"name": "stop", "arguments": "{}"}},
        {"index": 0, "function": {"arguments": '"moon"}'}},
    ]
    body = sent(*(delta(tool_calls=[part]) for part in parts), delta("tool_calls"))
    found = whole("chat/completions", body)
    assert found is not None
    calls = found["choices"][0]["message"]["tool_calls"]
    assert [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls] == [
        ("a", "search", '{"q": "moon"}'),
        ("b", "stop", "{}"),
    ]


@pytest.mark.parametrize("index", [{}, {"index": 0}, {"index": None}])
def test_tool_calls_with_ids_of_their_own_are_kept_apart(index: dict[str, Any]):
    """Some servers give several calls of tools the same index, or none."""
    first = {**index, "id": "a", "function": {"name": "find", "arguments": '{"x":1}'}}
    second = {**index, "id": "b", "function": {"name": "send", "arguments": '{"y":'}}
    more = {**index, "function": {"arguments": "2}"}}
    pieces = (delta(tool_calls=[piece]) for piece in (first, second, more))
    found = whole("chat/completions", sent(*pieces, delta("tool_calls")))
    assert found is not None
    calls = found["choices"][0]["message"]["tool_calls"]
    assert [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls] == [
        ("a", "find", '{"x":1}'),
        ("b", "send", '{"y":2}'),
    ]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_lines_may_end_in_any_way_and_a_stream_begin_with_a_mark(newline: bytes, start: bytes):
    """Server-sent events allow three line ends, and a byte order mark at the start."""
    body = sent(delta(content="Hel"), delta(content="lo"), delta("stop"), done=True)
    found = whole("chat/completions", start + body.replace(b"\n", newline))
    assert found is not None
    assert found["choices"][0]["message"]["content"] == "Hello"
    assert END.search(body.replace(b"\n", newline))


def test_tokens_that_the_end_of_a_message_did_not_count_are_not_known():
    """What is counted when a message begins is not what was written."""
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}
    found = whole("messages", sent(start, {"type": "message_stop"}))
    assert found is not None
    assert found["usage"] == {"input_tokens": 9}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "no streams here"}}', "no streams here"),
        (b' {"error": "busy"}', "busy"),
        (b'{"error": {"code": 7}}', "{'code': 7}"),
        (b'{"error": null, "choices": []}', ""),
        (b'{"error": ', ""),
        (b"data: {}", ""),
        (b"", ""),
    ],
)
def test_an_error_in_a_streams_place_is_no_answer(body: bytes, message: str):
    """Some servers answer with status 200 and an error as JSON, where a stream was asked for."""
    assert error_instead(body) == message


def test_a_messages_blocks_and_usage_are_put_together():
    """Anthropic's: text, a tool's input, and tokens that are told at both ends."""
    body = sent(
        {"type": "message_start", "message": {"model": "c", "usage": {"input_tokens": 7}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "ping"},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"a"'}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ": 1}"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
        named=True,
    )
    found = whole("messages", body)
    assert found is not None
    assert found["content"] == [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]
    assert found["usage"] == {"input_tokens": 7, "output_tokens": 5}
    assert found["stop_reason"] == "tool_use"


def test_the_newer_api_sends_the_whole_at_the_end():
    """And it is that which is read."""
    response = {"status": "completed", "output": []}
    body = sent(
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.completed", "response": response},
        named=True,
    )
    assert whole("responses", body) == response


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("chat/completions", sent(delta(content="half"))),
        ("chat/completions", sent(delta(content="x"), {"error": {"message": "overloaded"}})),
        ("messages", sent({"type": "message_start", "message": {}}, named=True)),
        ("messages", sent({"type": "error", "error": {"type": "overloaded_error"}}, named=True)),
        ("responses", sent({"type": "response.created", "response": {}}, named=True)),
        ("chat/completions", b"data: {half"),
        ("messages", b""),
    ],
)
def test_half_a_stream_is_no_answer(kind: str, body: bytes):
    """One that stops before its end, or ends in an error."""
    assert whole(kind, body) is None


def test_an_end_is_a_line_of_the_stream_and_never_a_models_text():
    """In a text, line breaks are escaped."""
    assert END.search(b"data: {}\n\ndata: [DONE]\n\n")
    assert END.search(b"event: message_stop\ndata: {}\n\n")
    assert END.search(b'event: response.completed\ndata: {"type": "response.completed"}\n\n')
    assert not END.search(sent(delta(content="\ndata: [DONE]\nevent: message_stop\n")))
