"""The assertion that an answer refuses."""

from __future__ import annotations

from typing import Any


async def test_no_text_is_a_refusal_without_a_score(settled: Any):
    """Whatever is asked about it, its score is 0."""
    blank = await settled("is-refusal", output=" ")
    assert (blank.outcome, blank.score) == ("pass", 0.0)
    thing = await settled("not-is-refusal", output={"a": 1})
    assert (thing.outcome, thing.score) == ("fail", 0.0)
    plain = await settled("is-refusal", output="I cannot say.")
    assert (plain.outcome, plain.score) == ("pass", 1.0)
