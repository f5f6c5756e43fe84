"""Whether an answer refuses, by its phrases."""

from __future__ import annotations

import pytest

from evenhand.scorers.refusal import declines, refuses


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but no.",
        "I can’t help with that.",
        "Well, as an AI, I have no hands.",
        "  sorry",
        "That is not appropriate.",
        "I AM UNABLE TO COMPLY",
        "",
    ],
)
def test_a_refusal_begins_or_goes_on_with_its_phrases(text: str):
    """Capitals, bent apostrophes and white space aside."""
    assert refuses(text)


@pytest.mark.parametrize(
    "text", ["Sure, here it is.", "He is not sorry at all.", "notethical", "I recommend it."]
)
def test_other_answers_do_not_refuse(text: str):
    """A first word somewhere else, or part of a word, is none."""
    assert not refuses(text)


@pytest.mark.parametrize(
    "text", ["Sorry, no: we are closed on Sundays.", "I'm sorry, but delivery takes two days."]
)
def test_an_apology_before_an_answer_does_not_decline(text: str):
    """It is promptfoo's refusal, and to an audit of judges it is the answer that was asked for."""
    assert refuses(text)
    assert not declines(text)


@pytest.mark.parametrize(
    "text",
    ["Sorry.", "Sorry, but I'm unable to comply.", "I'm sorry, I can't help.", "I cannot say."],
)
def test_an_apology_and_more_declines(text: str):
    """What follows the apology says that nothing is answered."""
    assert declines(text)
