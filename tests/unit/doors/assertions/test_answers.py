"""Assertions on how an answer is: its length, its end, its sureness."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evenhand.core.message import Reply


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (3, "pass"),
        ("3", "pass"),
        (2, "fail"),
        ({"min": 3}, "pass"),
        ({"min": 4}, "fail"),
        ({"max": 2}, "fail"),
        ({"min": 1, "max": 3}, "pass"),
        ({"min": 3, "max": 1}, "error"),
        ({}, "error"),
        ("three", "error"),
        (True, "error"),
        (None, "error"),
    ],
)
async def test_words_are_counted(settled: Any, value: object, outcome: str):
    """Between white space of any kind; a range that cannot be is an error."""
    assert (await settled("word-count", value, output=" one\ttwo\n three ")).outcome == outcome


async def test_not_turns_a_count_round(settled: Any):
    """And the score with it."""
    found = await settled("not-word-count", 1, output="one")
    assert (found.outcome, found.score) == ("fail", 0.0)


@pytest.mark.parametrize(
    ("type_", "finish", "outcome"),
    [
        ("finish-reason", "STOP", "pass"),
        ("finish-reason", "length", "fail"),
        ("finish-reason", "", "fail"),
        ("not-finish-reason", "", "pass"),
    ],
)
async def test_how_it_ended_is_compared_whatever_the_capitals(
    settled: Any, type_: str, finish: str, outcome: str
):
    """A reply without a reason has none of them."""
    reply = Reply("x", finish_reason=finish)
    assert (await settled(type_, "stop", reply=reply)).outcome == outcome


async def test_perplexity_is_e_to_the_mean_surprise(settled: Any):
    """Bounded from above; sureness from below, and it is the score."""
    reply = Reply("x", logprobs=(-1.0, -3.0))
    assert (
        await settled("perplexity", threshold=math.exp(2) + 0.01, reply=reply)
    ).outcome == "pass"
    assert (await settled("perplexity", threshold=7.0, reply=reply)).outcome == "fail"
    assert (await settled("not-perplexity", threshold=7.0, reply=reply)).outcome == "pass"
    sure = await settled("perplexity-score", threshold=0.2, reply=reply)
    assert sure.outcome == "fail"
    assert sure.score == pytest.approx(1 / (1 + math.exp(2)))
    unsure = await settled("not-perplexity-score", threshold=0.2, reply=reply)
    assert unsure.score == pytest.approx(1 - 1 / (1 + math.exp(2)))
    assert (await settled("perplexity", reply=Reply("x"))).outcome == "error"


async def test_guardrails_pass_what_they_do_not_flag(settled: Any):
    """What is not told is not flagged."""
    flagged = Reply("x", metadata={"guardrails": {"flagged": True, "reason": "rude"}})
    found = await settled("guardrails", reply=flagged)
    assert (found.outcome, found.reason) == ("fail", "rude")
    assert (await settled("not-guardrails", reply=flagged)).outcome == "pass"
    assert (await settled("guardrails", reply=Reply("x"))).outcome == "pass"


async def test_what_a_content_filter_cut_off_is_flagged(settled: Any):
    """The vendor says so by the reason for the end; what its guardrails report goes before it."""
    filtered = Reply("x", finish_reason="content_filter")
    assert (await settled("guardrails", reply=filtered)).outcome == "fail"
    assert (await settled("not-guardrails", reply=filtered)).outcome == "pass"
    refused = Reply("Sorry, no.", refused=True)
    assert (await settled("guardrails", reply=refused)).outcome == "fail"
    assert (await settled("not-guardrails", reply=refused)).outcome == "pass"
    clean = Reply("x", finish_reason="content_filter", metadata={"guardrails": {"flagged": False}})
    assert (await settled("guardrails", reply=clean)).outcome == "pass"
