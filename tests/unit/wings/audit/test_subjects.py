"""References that are made wrong, or said in other words, by rules."""

from __future__ import annotations

import pytest

from evenhand.wings.audit.subjects import negated, other_names, other_numbers, paraphrase, styled


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("Returns are free.", "Returns are not free."),
        ("It isn't open.", "It is open."),
        ("You can't pay in cash.", "You can pay in cash."),
        ("You cannot pay in cash.", "You can pay in cash."),
        ("The shop is not open.", "The shop is open."),
        ("Yes", "No"),
        ("no, until 6 pm", "yes, until 6 pm"),
        ("TRUE", "FALSE"),
        ("We never refund.", "We refund."),
        ("York closes the gate on Monday.", "York never closes the gate on Monday."),
        ("We have a kite in Kiel.", "We never have a kite in Kiel."),
        ("Das ist in Kiel erlaubt.", "Das ist nicht in Kiel erlaubt."),
        ("Hunde dürfen nicht hinein.", "Hunde dürfen hinein."),
        ("Le musée est ouvert.", "Le musée n'est pas ouvert."),
    ],
)
def test_a_sentence_is_negated_or_its_negation_taken_out(text: str, opposite: str):
    """A sentence is negated or its negation taken out."""
    assert negated(text) == opposite


@pytest.mark.parametrize("text", ["", "billing", "Paris", "30 days", "Within 30 days of delivery"])
def test_what_makes_no_statement_is_not_negated(text: str):
    """What makes no statement is not negated."""
    assert negated(text) == ""


def test_each_number_is_another_one_and_keeps_its_width():
    """Each number is another one and keeps its width."""
    assert other_numbers("30 days, room 007, 9.99 euros") == "31 days, room 008, 10.100 euros"
    assert other_numbers("thirty days") == ""
    assert other_numbers("It has three legs.") == "It has four legs."
    assert other_numbers("9" * 5000) != "9" * 5000


def test_names_within_a_sentence_are_changed_and_its_first_word_is_not():
    """Names within a sentence are changed and its first word is not."""
    assert other_names("Sent by Anna to Bob and Anna.") == "Sent by Brandis to Tolmen and Brandis."
    assert other_names("Paris") == ""
    assert other_names("Ada painted it.", "When did Ada paint it?") == "Brandis painted it."
    assert other_names("Returns are free.", "Returns?") == ""


def test_only_contractions_are_reworded():
    """Only contractions are reworded."""
    assert paraphrase("You can't return it and we're closed.") == (
        "You cannot return it and we are closed."
    )
    assert paraphrase("Returns are free within thirty days.") == ""


def test_style_keeps_what_is_said():
    """Style keeps what is said."""
    assert "42 euros" in styled("42 euros")
