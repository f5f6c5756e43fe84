"""OpenAI's similarity metrics against the libraries that people know them from."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from tests.oracle.record_similarity import WORDS, pairs, recorded

from evenhand.scorers.metrics.similarity import SIMILARITIES, text_similarity, tokens_13a

RECORDED = json.loads(
    (Path(__file__).parents[1] / "vectors" / "similarity.json").read_text("utf-8")
)
SEED = 20261122
METRICS = [name for name in SIMILARITIES if name != "bleu"]


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_is_what_its_library_computes(metric: str):
    """Recorded from rapidfuzz, NLTK and rouge-score: empty texts, scripts, punctuation, repeats."""
    unlike = {
        (row["text"], row["reference"]): (mine, row[metric])
        for row in RECORDED
        if abs((mine := text_similarity(metric, row["text"], row["reference"])) - row[metric])
        > 1e-6
    }
    assert unlike == {}


def test_the_libraries_of_today_say_the_same_of_other_texts():
    """Drawn anew from the same words, and compared with what is installed."""
    draw = random.Random(SEED + 1)
    drawn = [
        (" ".join(draw.choices(WORDS, k=draw.randint(1, 14))), " ".join(draw.choices(WORDS, k=9)))
        for _ in range(200)
    ]
    for row in recorded(drawn):
        for metric in row.keys() & set(METRICS):
            mine = text_similarity(metric, row["text"], row["reference"])
            assert mine == pytest.approx(row[metric], abs=1e-6), (SEED + 1, metric, row)


def test_sentence_bleu_is_sacrebleus():
    """Asked here, as it is a requirement of the tests."""
    draw = random.Random(SEED)
    drawn = [
        tuple(" ".join(draw.choices(WORDS, k=draw.randint(0, 20))) for _ in range(2))
        for _ in range(300)
    ]
    for text, reference in [*pairs(), *drawn]:
        theirs = BLEU(effective_order=True).sentence_score(text, [reference]).score / 100
        assert text_similarity("bleu", text, reference) == pytest.approx(theirs, abs=1e-6), SEED
        assert tokens_13a(text) == Tokenizer13a()(text).split(), SEED


def test_all_metrics_that_openai_names_are_there_but_the_one_that_asks_a_model():
    """As the types of its package list them."""
    from typing import get_args

    from openai.types.graders import TextSimilarityGrader

    named = get_args(TextSimilarityGrader.model_fields["evaluation_metric"].annotation)
    assert set(named) - set(SIMILARITIES) == {"cosine"}
    assert set(SIMILARITIES) <= set(named)


@pytest.mark.parametrize("metric", SIMILARITIES)
def test_a_metric_stays_between_0_and_1_and_knows_equal_texts(metric: str):
    """Of the same long text it is 1; METEOR's penalty for one run leaves a little less."""
    for row in RECORDED:
        assert 0 <= text_similarity(metric, row["text"], row["reference"]) <= 1
    same = "one two three four five six seven eight"
    assert text_similarity(metric, same, same) == pytest.approx(1, abs=0.001)
