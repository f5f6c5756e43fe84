"""Results as they were kept, read back whole and in part."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import evenhand
from evenhand.core.run import NO_DETAILS, AnswerDetails, TrialResult
from evenhand.core.score import Outcome
from evenhand.store.decoding import (
    read_measured,
    read_named_scores,
    read_output,
    read_result,
    read_searched,
)
from evenhand.store.encoding import write_result

READERS = (read_result, read_output, read_named_scores, read_measured, read_searched)
PLAIN = TrialResult(
    index=3,
    case="c",
    variant=0,
    repeat=0,
    outcome="pass",
    score=0.5,
    output="text",
    outcomes=(Outcome("Equals", "pass", 0.5, named={"n": 0.5}, metadata={"k": 1}),),
    named_scores={"tone": 0.5},
    vars={"v": 1},
)

DEEP = b'{"output":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
"""Nested as no writer of ours would."""


@pytest.mark.parametrize("read", READERS)
def test_every_reader_reads_half_a_character(read: Callable[[bytes], object]) -> None:
    """What a model cut in half is kept escaped; all else is read as from a result with whole text."""
    halved = read(write_result(replace(PLAIN, output="half \ud83d")))
    whole = read(write_result(PLAIN))
    if hasattr(whole, "output"):
        assert halved.output == "half \ud83d"
    names = [name for name in _fields(whole) if name != "output"]
    assert [getattr(halved, name) for name in names] == [getattr(whole, name) for name in names]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'"text"', b"{}", b"\xff", DEEP], ids=len)
def test_what_is_no_result_is_refused_by_every_reader(
    read: Callable[[bytes], object], data: bytes
) -> None:
    """With an error that is told as a damaged file, and never as a result with nothing in it."""
    with pytest.raises((ValueError, msgspec.MsgspecError)):
        read(data)


def test_an_answer_is_written_without_what_it_does_not_say() -> None:
    """In the order that it always had; one that says nothing is left out."""
    full = AnswerDetails(
        model="m-1", finish_reason="stop", metadata={"b": 1, "a": [2]}, cost_usd=0.25
    )
    assert (
        b'"answer":{"model":"m-1","finish_reason":"stop","metadata":{"b":1,"a":[2]},"cost_usd":0.25}'
        in write_result(replace(PLAIN, answer=full))
    )
    assert b'"answer":{"cost_usd":0.0}' in write_result(
        replace(PLAIN, answer=AnswerDetails(cost_usd=0.0))
    )
    assert b'"answer"' not in write_result(replace(PLAIN, answer=AnswerDetails()))


@pytest.mark.parametrize(
    ("kept", "answer"),
    [
        ({}, NO_DETAILS),
        ({"model": "m"}, AnswerDetails(model="m")),
        ({"metadata": {"k": None}, "cost_usd": 0}, AnswerDetails(metadata={"k": None}, cost_usd=0)),
        ({"metadata": ["a"], "finish_reason": 7, "cost_usd": 1.5}, AnswerDetails(cost_usd=1.5)),
        ({"model": None, "id": "x", "later": True}, AnswerDetails(id="x")),
    ],
)
def test_answers_of_earlier_versions_are_read(
    kept: dict[str, object], answer: AnswerDetails
) -> None:
    """Whatever another program's results had there, the trial is read; what no reply says is left out."""
    stored = {**json.loads(write_result(PLAIN)), "answer": kept}
    assert read_result(json.dumps(stored).encode()) == replace(PLAIN, answer=answer)


def test_results_are_decoded_in_one_module() -> None:
    """A shape that is decoded elsewhere would miss what this one mends."""
    source = Path(evenhand.__file__).parent
    decoding = {
        path.relative_to(source).as_posix()
        for room in ("store", "report", "viewer")
        for path in (source / room).rglob("*.py")
        if "msgspec.json.Decoder(" in path.read_text("utf-8")
    }
    assert decoding == {"store/decoding.py"}


def _fields(value: object) -> list[str]:
    return [name for name in dir(value) if not name.startswith("_")]
