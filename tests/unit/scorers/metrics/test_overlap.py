"""How much of a text's wording is another's."""

from __future__ import annotations

import math
import random

import pytest

from evenhand.scorers.metrics.overlap import (
    bleu,
    edit_distance,
    gleu,
    meteor,
    rouge_n,
    treebank_words,
)

SEED = 20261121


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("It can't, we've gone.", ["It", "ca", "n't", ",", "we", "'ve", "gone", "."]),
        ("Cannot! gonna?", ["Can", "not", "!", "gon", "na", "?"]),
        ("Stops. only the last. ", ["Stops.", "only", "the", "last", "."]),
        ("in the U.S.", ["in", "the", "U.S."]),
        ('he said "yes" (no)', ["he", "said", "``", "yes", "''", "(", "no", ")"]),
        ("5,000 at 10:30, a:b", ["5,000", "at", "10:30", ",", "a", ":", "b"]),
        ("wait... -- 'tis", ["wait", "...", "--", "'t", "is"]),
    ],
)
def test_words_are_split_as_the_treebank_splits_them(text, words):
    """Contractions, stops, quotes and numbers fall where its rules put them."""
    assert treebank_words(text) == words


def test_edit_distance_is_what_the_table_of_distances_says():
    """The bits agree with the plain table, on short texts of few letters."""
    rng = random.Random(SEED)
    for _ in range(400):
        one, other = ("".join(rng.choices("abc", k=rng.randint(0, 30))) for _ in range(2))
        row = list(range(len(other) + 1))
        for i, a in enumerate(one, 1):
            diagonal, row[0] = row[0], i
            for j, b in enumerate(other, 1):
                above = row[j]
                row[j] = min(above + 1, row[j - 1] + 1, diagonal + (a != b))
                diagonal = above
        assert edit_distance(one, other) == row[-1], (SEED, one, other)


@pytest.mark.thorough
@pytest.mark.timeout(20)
def test_edit_distance_of_a_huge_text_from_a_short_one_is_soon_told():
    """Its time grows with the longer text, not with its square, whichever comes first."""
    huge = "x" * 1_000_000
    assert edit_distance(huge, "xy") == edit_distance("xy", huge) == 999_999


@pytest.mark.parametrize("measure", [bleu, gleu, meteor])
def test_the_same_text_scores_highest_and_a_foreign_one_nothing(measure):
    """Measures run from nothing in common to the same text; without words there is nothing in common."""
    text = "the quick brown fox jumps over the lazy dog"
    assert measure(text, [text]) == pytest.approx(1, abs=1e-3)
    assert measure(text, ["entirely other words"]) == pytest.approx(0, abs=1e-6)
    assert measure("", [text]) == 0
    assert measure(text, []) == 0


def test_the_best_reference_counts():
    """More references never make a score worse."""
    for measure in (bleu, gleu, meteor):
        alone = measure("a cat sat here", ["a cat sat there"])
        assert measure("a cat sat here", ["nothing alike", "a cat sat there"]) >= alone


def test_bleu_takes_off_for_a_text_that_is_shorter_than_its_reference():
    """The brevity penalty, exp(1 - r/c): every n-gram is there, and a word is missing."""
    assert bleu("the cat sat on the", ["the cat sat on the mat"]) == pytest.approx(
        math.exp(1 - 6 / 5)
    )
    assert bleu("the cat sat on the mat", ["the cat sat on the"]) < 1  # longer: precision alone


def test_bleu_is_what_the_paper_says_for_a_text_that_can_be_worked_out_by_hand():
    """Precisions 5/6, 3/5, 1/4 and none, as 1e-7; as long as the reference, so no penalty."""
    wanted = (5 / 6 * 3 / 5 * 1 / 4 * 1e-7) ** 0.25
    assert bleu("the cat sat on the mat", ["the cat is on the mat"]) == pytest.approx(wanted)


def test_rouge_counts_a_repeated_word_once_for_each_time_that_both_have_it():
    """Clipped counts: 1 of 4 and 1 of 3."""
    assert rouge_n("the the the the", "the cat sat") == pytest.approx(2 / 7)
    assert rouge_n("", "the") == 0


def test_meteor_matches_stems_and_punishes_disorder():
    """A plural matches its singular; the same words in another order score less."""
    assert meteor("the cats sat", ["the cat sat"]) == pytest.approx(1 - 0.5 / 27)
    assert meteor("sat the cat", ["the cat sat"]) < meteor("the cat sat", ["the cat sat"])
