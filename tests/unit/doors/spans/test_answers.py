"""What a model answered, as spans tell it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from evenhand.doors.spans.dialects import genai, langfuse, openinference
from evenhand.doors.spans.messages import answer_of, messages_of
from evenhand.doors.spans.span import RawSpan, SpanEvent

SEARCH = {"type": "tool_call", "id": "s1", "name": "search", "arguments": {"q": "returns"}}
RESULT = {"type": "tool_call_response", "id": "s1", "response": "30 days"}
TEXT = {"type": "text", "content": "Within 30 days."}
SEARCHED = [{"role": "assistant", "parts": [SEARCH, RESULT, TEXT]}]
"""An answer for which the vendor searched by itself."""
CHOICES = [
    {"role": "assistant", "parts": [{"type": "text", "content": text}]} for text in ("one", "two")
]


def text_of(span: RawSpan, read: Any = genai.answered) -> object:
    """The answer's text."""
    answer = read(span)
    return answer and (answer["role"], answer.get("content"))


@pytest.mark.parametrize(
    ("messages", "text"), [(SEARCHED, "Within 30 days."), (CHOICES, "one"), ([], None)]
)
def test_an_answer_is_the_models_own_words_and_of_several_choices_the_first(
    messages: Sequence[object], text: str | None
):
    """Not the result of a tool that the vendor called on the way; in an attribute, and in an event."""
    written = json.dumps(messages)
    expected = text and ("assistant", text)
    key = "gen_ai.output.messages"
    about = SpanEvent("gen_ai.client.inference.operation.details", {key: written})
    spans = [
        (RawSpan(trace="1", id="2", attributes={key: written}), genai.answered),
        (RawSpan(trace="1", id="2", events=[about]), genai.answered),
        (
            RawSpan(trace="1", id="2", attributes={"langfuse.observation.output": written}),
            langfuse.answered,
        ),
        (RawSpan(trace="1", id="2", attributes={"output.value": written}), openinference.answered),
    ]
    assert [text_of(span, read) for span, read in spans] == [expected] * 4


def test_of_several_choices_in_events_the_first_is_the_answer():
    """Each choice is an event of its own."""
    events = [
        SpanEvent("gen_ai.choice", {"index": i, "message": json.dumps({"content": text})})
        for i, text in enumerate(("one", "two"))
    ]
    assert text_of(RawSpan(trace="1", id="2", events=events)) == ("assistant", "one")


def test_where_there_is_only_a_tools_result_it_is_what_came_back():
    """Rather than nothing."""
    (only,) = messages_of([{"role": "tool", "content": "30 days"}])
    assert answer_of([only]) == only
