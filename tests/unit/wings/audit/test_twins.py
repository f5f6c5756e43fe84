"""Questions that are nearly alike."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from tests.unit.wings.audit.audits import audit, case, check, config

from evenhand.wings.audit.twins import twins_among


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My parcel is a week late.", "my parcel is a week late"),
        ("My parcel is a week late.", "My parcel is one week late!"),
        ("Can I return the shoes?", "Could I please return my shoes?"),
        ("How do I cancel the subscription?", "How do I cancel the subscripton?"),
        ("Hello, is the lamp in stock?", "Is the lamp in stock? Thanks!"),
        ("Who sells a flask?", "Could you tell me: who sells a flask?"),
        ("How do I repair it in Kiel?", "I would like to know: how do I repair it in Kiel?"),
        ("¿Dónde está el baño?", "donde esta el baño"),
        ("东京 到 大阪 多少钱", "东京到大阪多少钱"),
    ],
)
def test_the_same_question_with_other_small_words_marks_or_slips_is_a_twin(one: str, other: str):
    """The same question with other small words marks or slips is a twin."""
    assert list(twins_among(["What is the price?", one, other])) == [(1, 2)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 12 + 5?", "What is 12 + 6?"),
        ("Is order 1042 late?", "Is order 1043 late?"),
        ("Is order A1042B late?", "Is order A1043B late?"),
        ("Can I return the shoes?", "Can I return the socks?"),
        ("May I smoke here?", "May I not smoke here?"),
        ("Did sales increase?", "Did sales decrease?"),
        ("What is the capital of France?", "What is the capital of Spain?"),
        ("How do I go from Paris to Rome?", "How do I go from Rome to Paris?"),
        ("Convert 5 km to miles", "Convert 5 miles to km"),
        ("か", "が"),
        ("Can I return the cat?", "Can I return the cart?"),
        ("", ""),
    ],
)
def test_questions_with_another_number_word_or_negation_are_different(one: str, other: str):
    """Questions with another number word or negation are different."""
    assert list(twins_among([one, other])) == []


def test_the_same_question_about_another_document_is_no_twin(tmp_path: Path):
    """What else the prompt is filled with counts; what it isn't filled with doesn't."""
    total = check("equals", "9")
    tests = [
        case("What is the total?", total, vars={"bill": bill, "number": number})
        for number, bill in enumerate(("Ada pays 9", "Bob pays 9", "ada pays 9."))
    ]
    report = audit(config(tmp_path, tests, prompts=["{{bill}}: {{question}}"]))
    assert [one.case for one in report.findings if one.kind == "twin"] == [2]


def test_a_long_text_that_was_pasted_is_a_twin_though_some_words_differ():
    """A long text that was pasted is a twin though some words differ."""
    words = [f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(120)]
    pasted = [*words[:60], "another", *words[61:]]
    rewritten = [*words[:60], *(f"other{word}" for word in words[60:])]
    pairs = list(twins_among([" ".join(text) for text in (words, pasted, rewritten)]))
    assert pairs == [(0, 1)]


@pytest.mark.thorough
def test_not_each_pair_of_thousands_of_questions_is_compared():
    """Four thousand take seconds."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 (to draw the same again)
    draw = random.Random(seed)
    words = [
        f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(3000)
    ]
    questions = [" ".join(draw.sample(words, 12)) for _ in range(4_000)]
    begun = time.process_time()
    assert list(twins_among([*questions, questions[17].upper()])) == [(17, 4_000)]
    assert time.process_time() - begun < 40, "eight million pairs would take minutes"
