"""Our numbers about wording beside those of the libraries that papers use."""

from __future__ import annotations

import pytest
import sacrebleu

from evenhand.scorers.metrics.text import bleu, chrf, exact_match, rouge, token_f1

# rouge-score 0.1.2, `RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)`, F-measures.
ROUGE = [
    ("the cat sat on the mat", "the cat was on the mat", 0.833333333333, 0.6, 0.833333333333),
    ("police killed the gunman", "police kill the gunman", 0.75, 0.333333333333, 0.75),
    ("the gunman kill police", "police killed the gunman", 0.75, 0.333333333333, 0.5),
    (
        "A quick brown fox jumps over the lazy dog.",
        "The fast brown fox leaps over a lazy dog",
        0.777777777778,
        0.25,
        0.555555555556,
    ),
    (
        "It's 3.5 m tall, isn't it?",
        "It is 3.5 metres tall.",
        0.533333333333,
        0.153846153846,
        0.533333333333,
    ),
    ("one two three four five", "five four three two one", 1.0, 0.0, 0.2),
    ("nothing in common", "entirely other words", 0.0, 0.0, 0.0),
    ("the the the the", "the cat the dog", 0.5, 0.0, 0.5),
    (
        "Evaluation of summaries: ROUGE-L, ROUGE-2 & others",
        "others: ROUGE-2, evaluation of ROUGE",
        0.857142857143,
        0.333333333333,
        0.428571428571,
    ),
]
# The published evaluation script of SQuAD 1.1: exact_match_score, f1_score.
SQUAD = [
    ("Denver Broncos", "The Denver Broncos!", 1, 1),
    ("the well-known U.S. band", "wellknown US band", 1, 1),
    ("in the year 1066", "1066", 0, 0.5),
    ("a b c d", "b d e", 0, 0.666666666667),
    ("don't know", "dont  know.", 1, 1),
]


@pytest.mark.parametrize(("text", "reference", "one", "two", "longest"), ROUGE)
def test_rouge_is_that_of_rouge_score(
    text: str, reference: str, one: float, two: float, longest: float
):
    """For texts in ASCII, without stemming."""
    for kind, value in (("1", one), ("2", two), ("L", longest)):
        assert rouge(text, [reference], kind) == pytest.approx(value, abs=1e-11)


@pytest.mark.parametrize(("text", "reference", "exact", "f1"), SQUAD)
def test_answers_are_compared_as_in_squad(text: str, reference: str, exact: float, f1: float):
    """Where no number has a sign or a decimal point."""
    assert exact_match(text, [reference]) == exact
    assert token_f1(text, [reference]) == pytest.approx(f1, abs=1e-11)


@pytest.mark.parametrize(("text", "reference"), [pair[:2] for pair in ROUGE])
def test_bleu_and_chrf_are_sacrebleus_divided_by_100(text: str, reference: str):
    """Through its plain functions, one reference and two."""
    for references in ([reference], [reference, "the gunman was killed by the police"]):
        theirs = sacrebleu.sentence_bleu(text, references).score
        assert bleu(text, references) == pytest.approx(theirs / 100)
        theirs = sacrebleu.sentence_chrf(text, references).score
        assert chrf(text, references) == pytest.approx(theirs / 100)
        theirs = sacrebleu.sentence_chrf(text, references, word_order=2).score
        assert chrf(text, references, word_order=2) == pytest.approx(theirs / 100)
