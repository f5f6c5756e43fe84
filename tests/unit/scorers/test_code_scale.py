"""A grader in Python may say on which scale its scores are."""

from __future__ import annotations

import pytest

from evenhand.core.errors import CodeError
from evenhand.scorers.python_code import verdict_of


def graded(**more: object) -> dict[str, object]:
    """What a grader returns."""
    return {"pass": True, "score": 4.5, "reason": "clear", **more}


def test_a_grader_says_its_scale() -> None:
    """A list or a tuple of two numbers; without it nothing is known."""
    assert verdict_of(graded(scale=[1, 5]), None, "g").scale == (1, 5)
    assert verdict_of(graded(scale=(0, 10.0)), None, "g").scale == (0, 10)
    assert verdict_of(graded(), None, "g").scale is None


@pytest.mark.parametrize("scale", [[5, 1], [1], [1, 5, 9], "1-5", ["1", 5], [1, float("inf")], 5])
def test_what_is_no_scale_is_an_error(scale: object) -> None:
    """Where, what, and how to write one."""
    with pytest.raises(CodeError, match="not a lowest and a highest score") as raised:
        verdict_of(graded(scale=scale), None, "g")
    assert "'scale': [1, 5]" in raised.value.hint


def test_a_score_off_the_scale_is_an_error() -> None:
    """A grader that says 1 to 5 and scores 9 means something else than it says."""
    with pytest.raises(CodeError, match="off its scale from 1 to 5"):
        verdict_of(graded(score=9, scale=[1, 5]), None, "g")
