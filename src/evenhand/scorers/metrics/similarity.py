"""The metrics of OpenAI's text_similarity graders, by the libraries that people know them from.

OpenAI says which metrics there are, and of fuzzy_match that it is rapidfuzz's; it does not publish the code. So each is
what the usual Python library computes, to 1e-6, and a recorded score shows whether OpenAI's was the same:

    fuzzy_match        rapidfuzz.fuzz.ratio, divided by 100
    bleu               sacrebleu's sentence BLEU, divided by 100
    gleu               NLTK's sentence_gleu, of sacrebleu's 13a tokens
    meteor             NLTK's meteor_score without synonyms, of words between spaces
    rouge_1 … rouge_l  the F1 of rouge-score, without stemming

They know nothing of meaning. All are from 0 to 1. Two empty texts are equal to fuzzy_match (1), and 0 to all others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial

from evenhand.scorers.metrics.overlap import meteor_of_words, ngrams, ngrams_to_four
from evenhand.scorers.metrics.text import common_subsequence

# In the order of the script mteval-v13a, in which `&amp;lt;` ends up as `<`.
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_MARKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_NO_WORD = re.compile(r"[^a-z0-9]+")


def text_similarity(metric: str, text: str, reference: str) -> float:
    """How similar two texts are, from 0 to 1, by a metric that `SIMILARITIES` names.

    Raises:
        KeyError: There is no such metric.

    >>> round(text_similarity("fuzzy_match", "kitten", "sitting"), 4)
    0.6154
    """
    return SIMILARITIES[metric](text, reference)


def fuzzy_match(text: str, reference: str) -> float:
    """The share of characters that stay when one text is made the other by insertions and deletions alone.

    Twice the longest common subsequence divided by both lengths; case and spaces count. Two empty texts: 1.

    Source: rapidfuzz.fuzz.ratio, the normalised indel similarity.
    """
    both = len(text) + len(reference)
    return 2 * common_subsequence(text, reference) / both if both else 1.0


def sentence_bleu(text: str, reference: str) -> float:
    """BLEU of one sentence: 1- to 4-grams of 13a tokens, exponential smoothing, orders that the text has.

    Nothing shared, or an empty text: 0.

    Source: Post, 2018, doi.org/10.18653/v1/W18-6319; sacrebleu's sentence_score with effective order.

    >>> sentence_bleu("the cat sat on the mat", "the cat sat on the mat")
    1.0
    """
    mine, theirs = tokens_13a(text), tokens_13a(reference)
    logs: list[float] = []
    smoothing, shared_any = 1.0, False
    for n in range(1, 5):
        grams = ngrams(mine, n)
        if not grams:
            break
        shared = (grams & ngrams(theirs, n)).total()
        shared_any = shared_any or bool(shared)
        # sacrebleu's exponential smoothing: each order without a match stands for half as much as the one before.
        smoothing *= 1 if shared else 2
        logs.append(math.log((shared or 1 / smoothing) / grams.total()))
    if not shared_any:
        return 0.0
    penalty = 1.0 if len(mine) >= len(theirs) else math.exp(1 - len(theirs) / len(mine))
    return penalty * math.exp(sum(logs) / len(logs))


def google_bleu(text: str, reference: str) -> float:
    """Of all 1- to 4-grams of 13a tokens, those that are shared, divided by the greater number of both.

    Neither has a token: 0.

    Source: Wu et al., 2016, arxiv.org/abs/1609.08144, section 7.5; NLTK's sentence_gleu.

    >>> google_bleu("the cat sat", "the cat ran")
    0.5
    """
    mine, theirs = ngrams_to_four(tokens_13a(text)), ngrams_to_four(tokens_13a(reference))
    most = max(mine.total(), theirs.total())
    return (mine & theirs).total() / most if most else 0.0


def meteor_without_synonyms(text: str, reference: str) -> float:
    """METEOR of lower-cased words between spaces, matched by form, then by Porter's stem. Nothing matched: 0.

    Source: Banerjee and Lavie, 2005, aclanthology.org/W05-0909; NLTK's meteor_score with a dictionary that is empty.
    """
    return meteor_of_words(text.lower().split(), reference.lower().split())


def rouge_f1(text: str, reference: str, kind: str) -> float:
    """ROUGE's F1 of Latin letters and digits as words: of n-grams for a digit, of the common subsequence for `l`.

    One of them has none: 0.

    Source: Lin, 2004, aclanthology.org/W04-1013; the rouge-score package.
    """
    mine, theirs = _latin_words(text), _latin_words(reference)
    if kind == "l":
        shared, sizes = common_subsequence(mine, theirs), (len(mine), len(theirs))
    else:
        grams, others = ngrams(mine, int(kind)), ngrams(theirs, int(kind))
        shared, sizes = (grams & others).total(), (grams.total(), others.total())
    return 2 * shared / sum(sizes) if shared else 0.0


SIMILARITIES: Mapping[str, Callable[[str, str], float]] = {
    "fuzzy_match": fuzzy_match,
    "bleu": sentence_bleu,
    "gleu": google_bleu,
    "meteor": meteor_without_synonyms,
    **{f"rouge_{kind}": partial(rouge_f1, kind=kind) for kind in "12345l"},
}
"""All but cosine, which asks a model for embeddings."""


def tokens_13a(text: str) -> list[str]:
    """The tokens of WMT's script mteval-v13a: punctuation apart, but for points and commas between digits.

    >>> tokens_13a("It's 3.5 m, no?")
    ["It's", '3.5', 'm', ',', 'no', '?']
    """
    line = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, char in _ENTITIES:
            line = line.replace(entity, char)
    line = f" {line} "
    for pattern, parts in _MARKS:
        line = pattern.sub(parts, line)
    return line.split()


def _latin_words(text: str) -> list[str]:
    return _NO_WORD.sub(" ", text.lower()).split()
