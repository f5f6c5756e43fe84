"""What a trial returned is written as JSON, and what cannot be costs nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from pydantic import BaseModel

from evenhand.core.definition import Definition
from evenhand.core.message import Reply, ToolCall
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.store.decoding import read_result
from evenhand.store.encoding import write_result


def test_an_output_that_cannot_be_written_costs_no_outcome():
    """What was expected was settled; what an outcome holds that cannot be written is kept in words."""
    fine = Outcome("is short", "pass", 1.0, metadata={"words": 3})
    odd = Outcome("is odd", "fail", float("nan"), named={"n": float("inf")}, metadata={"o": {1j}})
    result = TrialResult(
        index=0,
        case="a",
        variant=0,
        repeat=0,
        outcome="fail",
        score=0.5,
        output=object(),
        outcomes=(fine, odd),
    )
    kept = read_result(write_result(result))
    assert (kept.outcome, kept.score) == ("error", None)
    assert kept.reason.startswith("the output cannot be kept: ")
    assert kept.error is not None
    assert kept.error.message == kept.reason
    assert kept.outcomes == (fine, replace(odd, score=None, named={}, metadata={"o": "{1j}"}))


def test_objects_of_sdks_are_written_as_what_they_hold():
    """Pydantic's models, dataclasses and our own replies, alone and within lists and dicts."""

    class Inner(BaseModel):
        when: date

    class Answer(BaseModel):
        text: str
        inner: Inner

    @dataclass
    class Point:
        x: int
        answer: Answer | None = None

    answer = Answer(text="yes", inner=Inner(when=date(2026, 5, 4)))
    held = {"text": "yes", "inner": {"when": "2026-05-04"}}
    for output, expected in (
        (answer, held),
        ([answer, {"a": answer}], [held, {"a": held}]),
        (Point(1, answer), {"x": 1, "answer": held}),
        (Point(1), {"x": 1, "answer": None}),
    ):
        kept = read_result(
            write_result(
                TrialResult(
                    index=0, case="a", variant=0, repeat=0, outcome="pass", score=1.0, output=output
                )
            )
        )
        assert (kept.outcome, kept.output) == ("pass", expected)
    reply = Reply("hello", tool_calls=(ToolCall("look", {"for": "it"}),))
    kept = read_result(
        write_result(
            TrialResult(
                index=0, case="a", variant=0, repeat=0, outcome="pass", score=1.0, output=reply
            )
        )
    )
    assert kept.outcome == "pass"
    assert kept.output["text"] == "hello"
    assert kept.output["tool_calls"][0]["name"] == "look"


def test_each_result_has_its_own_test_whichever_came_before():
    """Results of two tests take turns: of one there are other definitions, and one has none."""
    tests = [{"assert": ["a"]}, {"assert": ["b"]}, {}]
    definitions = [(Definition("contains", {"value": "1"}),), (Definition("equals"),), ()]
    for test in [*tests, *reversed(tests), {"assert": ["a"]}]:
        for defined in definitions:
            result = TrialResult(
                index=0,
                case="a",
                variant=0,
                repeat=0,
                outcome="pass",
                score=1.0,
                output="yes",
                test=test,
                definitions=defined,
            )
            kept = read_result(write_result(result))
            assert (kept.test, kept.definitions) == (test, defined)
