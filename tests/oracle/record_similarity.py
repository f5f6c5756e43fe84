"""Records what rapidfuzz, NLTK and rouge-score say of pairs of texts, for `test_similarity.py`.

pip install rouge-score==0.1.2 && python tests/oracle/record_similarity.py
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

WORDS = "the a cat cats sat sitting on mat mats, ran. 3.5 1,000 U.S. it's don't well-known (yes) naïve 東京 ?".split()
SEED = 20261122
FILE = Path(__file__).parents[1] / "vectors" / "similarity.json"


class Empty:
    """A dictionary without synonyms."""

    def synsets(self, word: str) -> list[Any]:
        """None."""
        del word
        return []


def pairs() -> list[tuple[str, str]]:
    """Edge cases, and texts drawn from some words."""
    draw = random.Random(SEED)
    fixed = [
        ("", ""), ("", "a"), ("a", ""), ("Markets", "Markets"), ("markets", "Markets"), (" ", "\n"),
        ("kitten", "sitting"), ("The cat sat.", "The cat sat"), ("AT&amp;T", "AT&T"), ("東京", "東京都"),
        ("a b c d e f", "a b c d e f"), ("x" * 60, "x" * 40), ("1-2", "1 - 2"), ("line\nbreak", "line break"),
    ]  # fmt: skip
    drawn = [
        tuple(" ".join(draw.choices(WORDS, k=draw.randint(1, 14))) for _ in range(2))
        for _ in range(60)
    ]
    return [*fixed, *drawn]  # type: ignore[list-item] (pairs)


def recorded(texts: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """What the libraries say of each pair."""
    from nltk.translate.gleu_score import sentence_gleu
    from nltk.translate.meteor_score import meteor_score
    from rapidfuzz import fuzz

    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:  # there is no wheel of it, so it is no pin of the tests
        RougeScorer = None  # noqa: N806 (a class, or nothing)
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    kinds = [*(f"rouge{n}" for n in range(1, 6)), "rougeL"]
    rouge, tokens = RougeScorer and RougeScorer(kinds), Tokenizer13a()
    rows: list[dict[str, Any]] = []
    for text, reference in texts:
        mine, theirs = (tokens(one).split() for one in (text, reference))
        words, others = text.split(), reference.split()
        scores = rouge.score(reference, text) if rouge else {}
        rows.append(
            {
                "text": text,
                "reference": reference,
                "fuzzy_match": fuzz.ratio(text, reference) / 100,
                "gleu": sentence_gleu([theirs], mine) if mine or theirs else 0,
                "meteor": meteor_score([others], words, wordnet=Empty()) if words and others else 0,
                **{f"rouge_{kind[5:].lower()}": scores[kind].fmeasure for kind in scores},
            }
        )
    return rows


def main() -> None:
    """Writes the file."""
    rows = recorded(pairs())
    FILE.write_text(json.dumps(rows, ensure_ascii=False, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()
