"""Replies without an answer, and empty answers: the first are never scored, the second are counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")
PASSES_WHEN_EMPTY = [
    {"type": "not-contains", "value": "sorry"},
    {"type": "latency", "threshold": 1e9},
]


Start = Callable[..., list[tuple[str, FakeProvider, Any]]]


@pytest.fixture
def at_once(serve: Callable[..., FakeProvider], folder: Callable[..., Any]) -> Start:
    """Runs a config for each of some models, all at the same time: most of a run, it pauses before it asks again."""

    def run(
        rules: Mapping[str, list[Rule]], tests: list[dict[str, Any]]
    ) -> list[tuple[str, FakeProvider, Any]]:
        started: list[tuple[str, FakeProvider, Any, Any]] = []
        for number, (model, own) in enumerate(rules.items()):
            fake = serve(Script(own))
            evals = folder(fake, f"evals{number}")
            evals.write(0, prompts=["case {{n}}"], providers=[model], tests=tests)
            started.append((model, fake, evals, evals.start("run", *QUIET)))
        for model, _, _, process in started:
            out, err = process.communicate(timeout=200)
            assert process.returncode == 3, (model, out, err)
        return [(model, fake, evals) for model, fake, evals, _ in started]

    return run


@pytest.mark.thorough(after=3)
def test_a_reply_without_an_answer_is_asked_again_and_then_an_error(at_once: Start) -> None:
    """Not an empty text, which `not-contains` would pass."""
    rules = [
        Rule(("case once",), "fine", fault="silent", times=2),
        Rule(("case always",), fault="silent"),
    ]
    models = ("openai:chat:m", "anthropic:m", "google:m", "openai:responses:m")
    tests = [{"vars": {"n": n}, "assert": PASSES_WHEN_EMPTY} for n in ("once", "always", "never")]
    for model, fake, evals in at_once(dict.fromkeys(models, rules), tests):
        document = evals.document()
        outcomes = [trial["outcome"] for trial in document["trials"]]
        assert outcomes == ["pass", "error", "pass"], model
        (error,) = [trial["error"] for trial in document["trials"] if trial["error"]]
        assert error["slug"] == "bad-reply"
        assert "no answer" in error["message"]
        assert document["empty_answers"] == 0
        assert [seen.fault for seen in fake.requests].count("silent") == 2 + 6, model


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


UNKNOWN_ENDINGS = {
    "openai:chat:m": "insufficient_system_resource",
    "openai:completion:m": "abort",
    "anthropic:m": "pause_turn",
    "google:m": "MALFORMED_FUNCTION_CALL",
    "ollama:chat:m": "load",
}


@pytest.mark.thorough
def test_an_answer_with_an_unknown_ending_is_asked_again_and_in_no_mean(at_once: Start) -> None:
    """Its text is there, and half of one; the rate is that of the others."""
    rules = {
        model: [Rule(("case half",), "half an ans", finish_reason=ending)]
        for model, ending in UNKNOWN_ENDINGS.items()
    }
    tests = [{"vars": {"n": n}, "assert": PASSES_WHEN_EMPTY[:1]} for n in ("half", "whole")]
    for model, fake, evals in at_once(rules, tests):
        document = evals.document()
        assert [trial["outcome"] for trial in document["trials"]] == ["error", "pass"], model
        assert document["trials"][0]["error"]["slug"] == "bad-reply"
        assert document["trials"][0]["score"] is None
        assert len(fake.requests) == 6 + 1, model
