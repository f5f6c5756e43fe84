"""A judge that is not shown the text cannot be probed with it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.scorers.conftest import judged

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.scorers import Contains, Passes
from evenhand.testing import Scripted
from evenhand.wings.judge_checks.asking import Shown, not_shown

__all__ = ["judged"]

SAYS = '{"reasoning": "so", "passes": true}'


class OfTheCase:
    """A judge's question about something else than the output."""

    async def score(self, output: Any, trial: Trial) -> Score:
        await trial.model(Scripted((SAYS,)), "judge").generate("Is the question polite?")
        return Score(1.0, True, "so")


@pytest.mark.parametrize(
    ("scorer", "text", "state"),
    [
        (Passes("is kind", judge=Scripted((SAYS,))), "A reply.", "pass"),
        (OfTheCase(), "A reply.", "error"),
        (Contains("reply"), "A reply.", "pass"),
    ],
    ids=["the output", "something else", "nobody"],
)
async def test_a_judge_has_to_be_shown_the_output(judged, scorer: Any, text: str, state: str):
    """What asks no judge shows nothing, and is no error."""
    outcome = await judged(Shown(scorer, text), output=text)
    assert outcome.outcome == state
    if state == "error":
        assert outcome.reason == not_shown().message
        assert outcome.error == ScoreError.slug
