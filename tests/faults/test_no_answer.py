"""Replies without an answer, and empty answers: the first are never scored, the second are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")
PASSES_WHEN_EMPTY = [
    {"type": "not-contains", "value": "sorry"},
    {"type": "latency", "threshold": 1e9},
]


@pytest.mark.parametrize(
    "model", ["openai:chat:m", "anthropic:m", "google:m", "openai:responses:m"]
)
def test_a_reply_without_an_answer_is_asked_again_and_then_an_error(
    model: str, serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Not an empty text, which `not-contains` would pass."""
    rules = [
        Rule(("case once",), "fine", fault="silent", times=2),
        Rule(("case always",), fault="silent"),
    ]
    fake = serve(Script(rules))
    evals = folder(fake)
    tests = [{"vars": {"n": n}, "assert": PASSES_WHEN_EMPTY} for n in ("once", "always", "never")]
    evals.write(0, prompts=["case {{n}}"], providers=[model], tests=tests)
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 3, ended.stdout
    document = evals.document()
    assert [trial["outcome"] for trial in document["trials"]] == ["pass", "error", "pass"]
    (error,) = [trial["error"] for trial in document["trials"] if trial["error"]]
    assert error["slug"] == "bad-reply"
    assert "no answer" in error["message"]
    assert document["empty_answers"] == 0
    assert [seen.fault for seen in fake.requests].count("silent") == 2 + 6


def test_empty_answers_are_scored_as_what_they_are_and_said_in_the_summary(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Asked for once each; those that were cut off are told apart; resume and show say the same."""
    rules = [
        Rule(("case empty",), ""),
        Rule(("case cut",), "", finish_reason="length"),
        Rule(("case filtered",), "", fault="silent", finish_reason="content_filter"),
    ]
    fake = serve(Script(rules))
    evals = folder(fake)
    names = ("empty", "cut", "filtered", "said")
    tests = [{"vars": {"n": n}, "assert": [{"type": "contains", "value": "reply"}]} for n in names]
    evals.write(0, prompts=["case {{n}}"], tests=tests)
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 1, ended.stdout
    told = "3 answers were empty, 1 of them cut off before the first word"
    assert told in ended.stdout
    assert told in evals.run("show", "--no-table").stdout
    document = evals.document()
    assert [trial["outcome"] for trial in document["trials"]] == ["fail", "fail", "fail", "pass"]
    assert [trial["output"] for trial in document["trials"]][:3] == ["", "", ""]
    assert document["empty_answers"] == 3
    assert any(told in warning for warning in document["warnings"])
    assert len(fake.requests) == 4


@pytest.mark.parametrize(
    ("model", "ending"),
    [
        ("openai:chat:m", "insufficient_system_resource"),
        ("openai:completion:m", "abort"),
        ("anthropic:m", "pause_turn"),
        ("google:m", "MALFORMED_FUNCTION_CALL"),
        ("ollama:chat:m", "load"),
    ],
)
def test_an_answer_with_an_unknown_ending_is_asked_again_and_in_no_mean(
    model: str, ending: str, serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Its text is there, and half of one; the rate is that of the others."""
    rules = [Rule(("case half",), "half an ans", finish_reason=ending)]
    fake = serve(Script(rules))
    evals = folder(fake)
    tests = [{"vars": {"n": n}, "assert": PASSES_WHEN_EMPTY[:1]} for n in ("half", "whole")]
    evals.write(0, prompts=["case {{n}}"], providers=[model], tests=tests)
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 3, ended.stdout
    document = evals.document()
    assert [trial["outcome"] for trial in document["trials"]] == ["error", "pass"]
    assert document["trials"][0]["error"]["slug"] == "bad-reply"
    assert document["trials"][0]["score"] is None
    assert len(fake.requests) == 6 + 1
