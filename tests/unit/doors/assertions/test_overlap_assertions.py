"""Assertions on how much of a reference's wording an output has."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("type_", ["rouge-n", "bleu", "gleu", "meteor"])
async def test_the_same_words_are_as_near_as_can_be(settled: Any, type_: str):
    """And nothing in common is as far."""
    same = await settled(type_, "the cat sat on the mat", output="the cat sat on the mat")
    assert same.outcome == "pass"
    assert same.score == pytest.approx(1.0, abs=0.01)
    other = await settled(type_, "the cat sat", output="no dogs")
    assert other.outcome == "fail"
    assert other.score == pytest.approx(0.0, abs=1e-3)
    turned = await settled(f"not-{type_}", "the cat sat", output="no dogs")
    assert turned.outcome == "pass"
    assert turned.score == pytest.approx(1.0, abs=1e-3)


async def test_the_best_of_several_references_counts(settled: Any):
    """For those that take a list; the others refuse one."""
    found = await settled("gleu", ["no", "the answer"], output="the answer")
    assert found.score == 1.0
    assert (await settled("rouge-n", ["the answer"])).outcome == "error"
    assert (await settled("bleu", [])).outcome == "error"


async def test_a_word_of_dots_is_a_word(settled: Any):
    """It has no letters, and counts all the same: of three 1- and 2-grams one is shared."""
    found = await settled("gleu", "cat", output="cat ...")
    assert found.score == pytest.approx(1 / 3)


async def test_edits_are_counted_in_the_units_of_javascript(settled: Any):
    """A character beyond the first plane is two of them."""
    near = await settled("levenshtein", "abc", output="abd", threshold=1)
    assert (near.outcome, near.score) == ("pass", 1.0)
    assert (await settled("levenshtein", "a", output="a😀", threshold=1)).outcome == "fail"
    assert (await settled("levenshtein", "", output="12345")).outcome == "pass"


async def test_meteor_has_settings(settled: Any):
    """Which are numbers."""
    words = {"value": "the cat sat", "output": "sat cat the"}
    usual = await settled("meteor", **words)
    mild = await settled("meteor", **words, more={"gamma": 0.0})
    assert (usual.score or 0) < (mild.score or 0)
    assert (await settled("meteor", **words, more={"alpha": "x"})).outcome == "error"
