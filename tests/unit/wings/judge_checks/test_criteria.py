from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.doors.assertions.judged import GEval
from evenhand.scorers import CLARITY, Jury, Passes, Rating
from evenhand.scorers.judge import MeetsRubric
from evenhand.scorers.opposite import Not
from evenhand.testing import Scripted
from evenhand.wings.judge_checks.asking import criteria_of

JUDGE = Scripted()


@dataclass
class Own:
    """A scorer of a user's."""

    words: int = 3

    def score(self, output: Any, trial: Trial) -> Score:
        return Score(1.0, True)


@pytest.mark.parametrize(
    ("scorer", "criteria"),
    [
        (Passes(" is polite "), "is polite"),
        (MeetsRubric("is short", JUDGE), "is short"),
        (Not(MeetsRubric("is rude", JUDGE)), "is rude"),
        (Jury([JUDGE], of=Passes("is kind")), "is kind"),
        (GEval(["a", "b"], JUDGE, JUDGE, "q"), "a; b"),  # type: ignore[arg-type]
        (Rating("5: good. 1: bad."), "5: good. 1: bad."),
        (Own(), "Own(words=3)"),
    ],
)
def test_the_criteria_are_found_in_whatever_asks(scorer: object, criteria: str):
    """Inside of juries and opposites, too; a scorer that has none has its label."""
    assert criteria_of(scorer) == criteria


def test_a_rubric_is_all_its_levels():
    """As the judge is shown them."""
    assert all(words in criteria_of(Rating(CLARITY)) for words in ("1", "5"))
