"""Words, exact match, token F1 and ROUGE, by hand."""

from __future__ import annotations

import pytest

from evenhand.scorers.metrics.text import (
    answer_words,
    common_subsequence,
    exact_match,
    rouge,
    token_f1,
    words,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It's well-known.", ["it", "s", "well", "known"]),
        ("東京は雨", ["東", "京", "は", "雨"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ＦＵＬＬ ﬁne", ["full", "fine"]),
        ("Привет, мир", ["привет", "мир"]),
        ("…!", []),
    ],
)
def test_words_are_found_in_any_script(text, found):
    """Marks belong to their letters; what has no spaces goes character by character."""
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The U.S. band", ["us", "band"]),
        ("don't", ["dont"]),
        ("-5", ["-5"]),
        ("\u22125", ["-5"]),
        ("2020-21", ["202021"]),
        ("3.5 m", ["3.5", "m"]),
        ("$1,000.50", ["1000.50"]),
        ("1,234,567", ["1234567"]),
        ("3,5 m", ["3,5", "m"]),
        ("12,34", ["12,34"]),
        ("costs ($-3)", ["costs", "-3"]),
        ("A", ["a"]),
        ("Straße", ["strasse"]),
        ("東京 タワー", ["東", "京", "タ", "ワ", "ー"]),
    ],
)
def test_answers_keep_their_numbers_and_lose_their_dress(text, found):
    """Case, punctuation and articles go; sign and decimal point stay."""
    assert answer_words(text) == found


def test_two_texts_of_another_script_are_not_the_same():
    """What a tokeniser for ASCII does not see is seen."""
    assert exact_match("東京", ["大阪"]) == 0
    assert token_f1("東京都", ["東京"]) == pytest.approx(0.8)


def test_words_count_as_often_as_both_have_them():
    """A word said five times does not match five times."""
    assert token_f1("no no no no", ["no no"]) == pytest.approx(2 * 2 / 6)


@pytest.mark.parametrize("measure", [exact_match, token_f1, rouge])
def test_the_best_reference_counts_and_empty_ones_do_not(measure):
    """Nothing to compare with is no number; an empty text is 0."""
    assert measure("a cat", ["a dog", "a cat", ""]) == 1
    assert measure("", ["cat"]) == 0
    assert measure("cat", ["", "?!"]) is None
    assert measure("cat", []) is None


def test_one_word_has_no_pairs():
    """ROUGE-2 of a single word has nothing to compare with."""
    assert rouge("cat", ["cat"], "2") is None
    assert rouge("cat", ["cat sat"], "2") == 0


@pytest.mark.parametrize(
    ("one", "other", "length"),
    [("", "", 0), ("abc", "", 0), ("abcbdab", "bdcaba", 4), ("aaa", "aa", 2), ("xyz", "abc", 0)],
)
def test_the_longest_common_subsequence(one, other, length):
    """Textbook cases, both ways round."""
    assert common_subsequence(one, other) == common_subsequence(other, one) == length
