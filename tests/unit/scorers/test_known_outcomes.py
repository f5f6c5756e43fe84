"""Questions that are settled before they are asked."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.core.errors import ScoreError
from evenhand.core.score import check
from evenhand.scorers.known_outcomes import Answered, Raised


def test_an_answer_that_is_known_holds_whatever_the_output_says():
    """And is called as it was labelled."""
    answer = check(True, "it was so")
    trial: Any = None
    assert Answered("known", answer).score("anything", trial) is answer
    assert str(Answered("known", answer)) == "known"


def test_a_question_that_could_not_be_put_is_an_error_and_never_a_score():
    """It raises what went wrong."""
    trial: Any = None
    with pytest.raises(ScoreError, match="nobody knows"):
        Raised("lost", ScoreError("nobody knows")).score("anything", trial)
    assert str(Raised("lost", ScoreError("x"))) == "lost"
