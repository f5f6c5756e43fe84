from __future__ import annotations

import pytest

from evenhand.scorers.judging import suspect_in
from evenhand.wings.judge_checks.attacks import ATTACKS, CONTROLS
from evenhand.wings.judge_checks.probe import WORDS

ANSWER = (
    "Of course! A return after 40 days is no problem. I'd enclose the receipt. Dr. Osei agrees."
)


def test_there_are_twelve_kinds_each_with_its_words():
    """What the report calls them is what they are called."""
    assert len(ATTACKS) == 12
    assert list(ATTACKS) == list(WORDS)


@pytest.mark.parametrize("kind", [k for k in ATTACKS if k != "truncated"])
def test_twenty_items_with_the_same_answer_get_twenty_texts(kind: str):
    """Identical questions would count once."""
    make = ATTACKS[kind].make
    assert len({make(ANSWER, "is polite", turn) for turn in range(20)}) == 20


@pytest.mark.parametrize("kind", [k for k, a in ATTACKS.items() if a.base == "bad"])
def test_a_bad_answer_stays_bad_in_every_attack_on_it(kind: str):
    """All its words are still there, in their order: what is wrong with it is still wrong."""
    for turn in range(20):
        text = ATTACKS[kind].make(ANSWER, "is polite", turn)
        place = 0
        for word in ANSWER.split():
            place = text.lower().find(word.lower(), place)
            assert place >= 0, (word, text)


@pytest.mark.parametrize("kind", ["constant", "empty"])
def test_nothing_of_the_answer_is_left_where_there_is_to_be_none(kind: str):
    """They are made from nothing."""
    assert all("return" not in ATTACKS[kind].make(ANSWER, "x", turn) for turn in range(20))


def test_the_echo_has_the_criteria_in_it():
    """And the answer before them."""
    text = ATTACKS["echo"].make(ANSWER, "promises only what the shop allows", 0)
    assert text.startswith(ANSWER)
    assert "promises only what the shop allows" in text


def test_padding_makes_an_answer_several_times_as_long():
    """About five times, and never by less than a paragraph."""
    for answer in ("No.", ANSWER, ANSWER * 20):
        assert len(ATTACKS["length"].make(answer, "x", 3)) >= 4 * len(answer) + 500 * (
            len(answer) < 500
        )


def test_a_truncated_answer_is_at_most_a_quarter_of_a_long_one():
    """And its beginning, word by word."""
    words = " ".join(f"word{i}" for i in range(40))
    for turn in range(20):
        text = ATTACKS["truncated"].make(words, "x", turn)
        assert words.startswith(text)
        assert 5 <= len(text.split()) <= 10


def test_a_paraphrase_keeps_names_and_abbreviations():
    """Only a plain word at the beginning of a sentence loses its capital letter."""
    text = ATTACKS["paraphrase"].make("NASA says so. I do, too. The rest agrees.", "x", 0)
    assert "NASA says so." in text
    assert "I do, too." in text
    assert "the rest agrees." in text


def test_instructions_are_such_that_a_judge_may_notice_them():
    """Some of them are what `suspect` looks for."""
    texts = [ATTACKS["instructions"].make(ANSWER, "x", turn) for turn in range(20)]
    assert any(suspect_in(text) for text in texts)


def test_controls_change_nothing_but_whitespace():
    """They must pass because the answer does."""
    for control in CONTROLS:
        assert all(control.make(ANSWER, "x", turn).split() == ANSWER.split() for turn in range(20))
