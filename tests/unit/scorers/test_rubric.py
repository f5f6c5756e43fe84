"""Rubrics are checked when they are made."""

from __future__ import annotations

import pytest

from evenhand.core.errors import JudgeError, UsageError
from evenhand.scorers import ACCURACY, CLARITY, HELPFULNESS
from evenhand.scorers.rubric import Rubric


def test_levels_are_shown_in_the_order_in_which_they_are_given():
    """The judge reads the description, then each level."""
    rubric = Rubric("tone", {2: "warm", 1: "neutral", 0: "cold"}, "How does it sound?")
    assert rubric.text == "How does it sound?\n\n2: warm\n1: neutral\n0: cold"
    assert rubric.scores == "one of 2, 1, 0"
    assert (rubric.scale, str(rubric)) == ((0, 2), "tone")


def test_a_python_range_ends_before_its_end_and_a_pair_has_both():
    """Both are shown with the ends that count, and mix with single scores."""
    rubric = Rubric("depth", {range(9, 11): "deep", (6, 8): "enough", 5: "thin"})
    assert rubric.text == "9 to 10: deep\n6 to 8: enough\n5: thin"
    assert rubric.scores == "a whole number from 5 to 10"
    assert [rubric.checked(score) for score in (5, 7, 9, 10)] == [5, 7, 9, 10]


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ({1: "a", 2: "b", 4: "c"}, "it has a gap: nothing between 2 and 4"),
        ({(1, 3): "a", (5, 6): "b"}, "it has a gap: nothing between 3 and 5"),
        ({(1, 3): "a", (3, 5): "b"}, "more than one says what 3 means"),
        ({range(1, 4): "a", 3: "b"}, "more than one says what 3 means"),
        ({1: "a", 2: " "}, "the level 2 has no words"),
        ({1: "a"}, "fewer than two scores"),
        ({}, "fewer than two scores"),
        ({True: "a", 2: "b"}, "the level True is not a score"),
        ({float("nan"): "a", 2: "b"}, "the level nan is not a score"),
        ({(3, 1): "a", 4: "b"}, "ends before it begins"),
        ({(1, 2, 3): "a"}, "is not a pair of whole numbers"),
        ({range(3, 3): "a"}, "holds no score"),
        ({range(1, 9, 2): "a"}, "goes in steps"),
        ({"good": "a"}, "neither a score nor a range"),
        ("  ", "it has no words"),
    ],
)
def test_holes_are_found_when_a_rubric_is_made(levels, says):
    """Gaps, overlaps and missing words would only show in a wrong score."""
    with pytest.raises(UsageError, match="rubric 'r'") as caught:
        Rubric("r", levels)
    assert says in caught.value.message


def test_all_that_is_wrong_is_told_at_once():
    """Nobody mends a rubric in five rounds."""
    with pytest.raises(UsageError) as caught:
        Rubric("two\nlines", {"a": "x", 2: ""})
    assert caught.value.message.count(";") == 2


@pytest.mark.parametrize("score", [0, 6, 3.5, -1])
def test_a_score_that_the_rubric_does_not_have_is_none(score):
    """The error says which there are."""
    with pytest.raises(JudgeError, match="rubric 'clarity' wants one of 5, 4, 3, 2, 1"):
        CLARITY.checked(score)


def test_levels_may_be_fractions():
    """As long as they lie equally far apart."""
    rubric = Rubric("share", {0.1: "little", 0.2: "some", 0.3: "much"})
    assert rubric.checked(0.1 + 0.2) == 0.3
    with pytest.raises(JudgeError):
        rubric.checked(0.25)


def test_a_plain_text_has_a_scale():
    """Any number on it is a score."""
    rubric = Rubric("style", "Does it read like a letter?", scale=(0, 10))
    assert (rubric.text, rubric.scores) == (
        "Does it read like a letter?",
        "a number from 0 to 10",
    )
    assert rubric.checked(7.5) == 7.5
    with pytest.raises(JudgeError):
        rubric.checked(11)
    with pytest.raises(UsageError, match="its scale is"):
        Rubric("style", "words", scale=(5, 1))


def test_what_was_given_may_change_afterwards():
    """A rubric keeps its own copy, and can be a key."""
    levels = {1: "a", 2: "b"}
    rubric = Rubric("r", levels)
    levels[4] = "c"
    assert rubric.scores == "one of 1, 2"
    assert hash(rubric) == hash(Rubric("r", {1: "a", 2: "b"}))


@pytest.mark.parametrize("rubric", [ACCURACY, HELPFULNESS, CLARITY], ids=str)
def test_the_rubrics_that_come_with_it_go_from_1_to_5(rubric):
    """Five levels each, all with words."""
    assert rubric.scale == (1, 5)
    assert rubric.scores == "one of 5, 4, 3, 2, 1"
    assert len(rubric.text.splitlines()) == 7
