"""Sentences in any script, by code."""

from __future__ import annotations

import time

import pytest

from evenhand.scorers.rag.sentences import LONGEST, letters, sentences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n\t ", []),
        ("… !!! …", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It is 3.5 m, v1.2 and a.b.c. Next.", ["It is 3.5 m, v1.2 and a.b.c.", "Next."]),
        (
            "Dr. Lee and J. R. Smith, e.g. Ann, etc. came.",
            ["Dr. Lee and J. R. Smith, e.g. Ann, etc. came."],
        ),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("Wait… what? Yes.", ["Wait…", "what?", "Yes."]),
        ("1. First.\n2. Second.", ["1. First.", "2. Second."]),
        ("Buy:\n- milk\n- bread", ["Buy:", "- milk", "- bread"]),
        ("A line\nwrapped here.", ["A line\nwrapped here."]),
        ("A title\n\nA text", ["A title", "A text"]),
        (
            "これは本です。それも！「はい。」終わり",
            ["これは本です。", "それも！", "「はい。」", "終わり"],
        ),
        ("北京是首都。它很大。", ["北京是首都。", "它很大。"]),
        ("هل هذا صحيح؟ نعم. انتهى", ["هل هذا صحيح؟", "نعم.", "انتهى"]),
        ("یہ ایک کتاب ہے۔ ٹھیک ہے۔", ["یہ ایک کتاب ہے۔", "ٹھیک ہے۔"]),
        ("यह किताब है। ठीक है।", ["यह किताब है।", "ठीक है।"]),
        ("Это книга. Да, 5 кг. Вот.", ["Это книга.", "Да, 5 кг.", "Вот."]),
        ("ይህ መጽሐፍ ነው። እሺ።", ["ይህ መጽሐፍ ነው።", "እሺ።"]),
    ],
)
def test_a_text_is_cut_where_its_script_ends_a_sentence(text: str, found: list[str]):
    """Abbreviations, numbers, quotes and lists are no ends."""
    assert list(sentences(text)) == found


def test_what_has_no_marks_is_cut_where_it_grows_long():
    """At a space where there is one: Thai has spaces and no full stops."""
    found = sentences("สวัสดีครับ " * 500)
    assert len(found) > 1
    assert max(map(len, found)) <= LONGEST
    assert all(one.startswith("สวัสดี") for one in found)
    assert len(sentences("x" * 2500)) == 3


def test_nothing_is_lost_between_sentences():
    """Every letter of the text is in one of them."""
    text = 'A. b c! 1. x\n\n- 好。坏 (e.g. this) "no." End' * 50
    assert sum(map(letters, sentences(text))) == letters(text)


@pytest.mark.parametrize("text", ["." * 300_000, "\n" * 300_000, "x" * 300_000, ". \n" * 50_000])
def test_it_takes_time_in_proportion_to_the_text(text: str):
    """Whatever it is made of."""
    start = time.process_time()
    sentences(text)
    assert time.process_time() - start < 30  # 0.1 s, and minutes where it is not
