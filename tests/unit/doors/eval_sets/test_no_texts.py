"""None, an SDK's object or a stream where a text was meant: one sentence, with the line and what was meant."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pydantic
import pytest
from anthropic.types import Message, TextBlock, Usage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from evenhand import Case, EvalSet, Expect, run, score, score_batch
from evenhand.core.message import Reply
from evenhand.core.score import Outcome
from evenhand.scorers import Contains, Equals, IsJson, Label, Matches, Passes, TokenF1
from evenhand.testing import Scripted

pytestmark = pytest.mark.usefixtures("home_of_its_own")

JUDGE = Scripted(('{"reasoning": "it is", "passes": true, "confidence": 1}',))


class AIMessage:
    def __init__(self, content: object, text: object = None) -> None:
        self.content, self.text = content, text


class Answer(pydantic.BaseModel):
    answer: str
    pages: int = 1


class Order(pydantic.BaseModel):
    id: str
    city: str


@dataclass
class Ticket:
    body: str
    priority: int


@dataclass
class AgentRunResult:
    output: str


class Stream:
    """An SDK's stream: neither a generator nor an iterator of Python's."""

    def __iter__(self) -> Iterator[str]:
        yield "30 days"


class AsyncStream:
    async def __aiter__(self) -> AsyncIterator[str]:
        yield "30 days"


class Broken:
    @property
    def content(self) -> str:
        raise RuntimeError


COMPLETION = ChatCompletion.model_validate(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "30 days"},
            }
        ],
    }
)
RESPONSE = Response.model_validate(
    {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "output": [
            {
                "id": "o",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "30 days", "annotations": []}],
            }
        ],
    }
)
MESSAGE = Message(
    id="m",
    type="message",
    role="assistant",
    model="m",
    content=[TextBlock(type="text", text="30 days")],
    usage=Usage(input_tokens=1, output_tokens=1),
)
SHAPES: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "got None, not a text: there is no output to judge"),
    "NaN": (lambda: float("nan"), "got NaN, not a text"),
    "content": (
        lambda: AIMessage("30 days"),
        "got an AIMessage, not a text: did you mean message.content?",
    ),
    "content in blocks, and a text": (
        lambda: AIMessage([{"text": "30 days"}], "30 days"),
        "did you mean message.text?",
    ),
    "OpenAI's chat completion": (
        lambda: COMPLETION,
        "got a ChatCompletion, not a text: did you mean completion.choices[0].message.content?",
    ),
    "OpenAI's response": (
        lambda: RESPONSE,
        "got a Response, not a text: did you mean response.output_text?",
    ),
    "Anthropic's message": (
        lambda: MESSAGE,
        "got a Message, not a text: did you mean message.content[0].text?",
    ),
    "an agent's result": (
        lambda: AgentRunResult("30 days"),
        "got an AgentRunResult, not a text: did you mean result.output?",
    ),
    "httpx's response": (
        lambda: httpx.Response(200, text="30 days"),
        "got a Response, not a text: did you mean response.text?",
    ),
    "pydantic's, with one text": (
        lambda: Answer(answer="30 days"),
        "got an Answer, not a text: did you mean answer.answer?",
    ),
    "pydantic's": (
        lambda: Order(id="1", city="Bern"),
        "got an Order, not a text: did you mean order.model_dump()?",
    ),
    "a dataclass": (
        lambda: Ticket("30 days", 1),
        "got a Ticket, not a text: did you mean ticket.body?",
    ),
    "a namespace": (
        lambda: SimpleNamespace(text="30 days"),
        "got a SimpleNamespace, not a text: did you mean namespace.text?",
    ),
    "a stream": (Stream, "got a Stream, a stream that was not read, not a text"),
    "an async stream": (AsyncStream, "got an AsyncStream, a stream that was not read"),
    "an iterator": (lambda: map(str, [30]), "got a map, a stream that was not read"),
    "a generator": (lambda: (letter for letter in "30 days"), "generator, which has not run yet"),
    "a file": (lambda: io.StringIO("30 days"), "which was not read"),
    "bytes": (lambda: b"30 days", "got bytes, not a text: did you mean output.decode()?"),
    "NumPy's": (lambda: np.array(["30 days"]), "did you mean output.tolist()?"),
    "a function": (lambda: len, "got len, a function that was not called"),
    "a class": (lambda: Ticket, "got the class Ticket, not a text"),
    "one that raises": (Broken, "got a Broken, not a text"),
    "an object": (object, "got an object, not a text"),
    "objects in a list": (
        lambda: [AIMessage("30 days")],
        "got a list that holds an AIMessage, not a text: did you mean message.content?",
    ),
    "bytes in a dict": (lambda: {"a": [b"30 days"]}, "got a dict that holds bytes, not a text"),
    "NaN in a dict": (lambda: {"a": float("nan")}, "nan cannot be written as JSON"),
}
SCORERS: dict[str, Any] = {
    "text": Contains("30"),
    "pattern": Matches("."),
    "equal": Equals("30 days"),
    "equal object": Equals({"a": 1}),
    "JSON": IsJson(),
    "label": Label("30 days"),
    "wording": TokenF1("30 days"),
    "judge": Passes("is polite", judge=JUDGE),
}


def graded(value: Any, scorer: Any) -> Outcome:
    """What an eval's only expectation comes to."""
    evals = EvalSet("no texts")
    bounds = {"at_least": 0.5} if isinstance(scorer, TokenF1) else {}

    @evals.eval
    def one(expect: Expect) -> None:
        expect(value, scorer, **bounds)

    with run(evals) as result:
        (trial,) = result.trials()
    (outcome,) = trial.outcomes
    return outcome


@pytest.mark.parametrize("scorer", SCORERS)
def test_what_is_no_text_is_an_error_with_its_line_and_what_was_meant(scorer: str) -> None:
    """Every shape, by every kind of scorer: a case each of one run."""
    evals = EvalSet("no texts", data=[Case(shape) for shape in SHAPES])
    bounds = {"at_least": 0.5} if scorer == "wording" else {}

    @evals.eval
    def one(case: Case, expect: Expect) -> None:
        expect(SHAPES[case.id][0](), SCORERS[scorer], **bounds)

    with run(evals) as result:
        outcomes = {trial.case: trial.outcomes for trial in result.trials()}
    for shape, (_, message) in SHAPES.items():
        (outcome,) = outcomes[shape]
        assert outcome.outcome == "error", shape
        assert message in outcome.reason, shape
        assert f"{__file__}:" in outcome.reason, shape
        assert "Encoding objects" not in outcome.reason, shape


@pytest.mark.parametrize(
    "scorer",
    [
        Contains("ul"),
        Matches("."),
        IsJson(),
        Label("null"),
        TokenF1("null"),
        Passes("x", judge=JUDGE),
    ],
)
def test_nothing_answered_is_an_error_of_score_and_of_score_batch(scorer: Any) -> None:
    """Neither a number nor a share of the mean."""
    one = score(question="q", answer=None, metrics=[scorer])
    assert [measure.value for measure in one.measures] == [None]
    assert [bool(measure.error) for measure in one.measures] == [True]
    report = score_batch(
        [{"id": "1", "question": "q", "answer": None}], metrics=[scorer], progress=False
    )
    (row,) = report.rows()
    assert not [value for name, value in row.items() if name.startswith("metric") and value]
    assert list(report.errors()) == ["1"]


def test_evenhands_own_reply_is_read_as_its_text() -> None:
    """Not as its fields, of which one may hold the words by chance."""
    reply = Reply('{"total": 3}', model="30 days")
    for scorer in (Contains("total"), Equals({"total": 3}), IsJson(), Passes("x", judge=JUDGE)):
        assert graded(reply, scorer).outcome == "pass"
    assert graded(reply, Contains("30 days")).outcome == "fail"
