"""METEOR: how well two texts' words align, by form and by stem, and in how few runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache


def meteor(
    text: str,
    references: Sequence[str],
    *,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> float:
    """METEOR with exact and stem matches, the best over the references, from 0 to 1.

    Words are matched by their lower-cased form, then by Porter's stem; dots that end a word are left out. Synonyms are
    not matched: that takes a dictionary, and a number that depends on what is installed compares with nothing. Nothing
    matched, or no references: 0.

    Args:
        alpha: How much more recall counts than precision.
        beta: How the penalty grows with the share of runs among the matches.
        gamma: The greatest penalty.

    Source: Banerjee and Lavie, 2005, aclanthology.org/W05-0909; parameters of Lavie and Agarwal, 2007.

    >>> round(meteor("the cats sat", ["the cat sat"]), 4)
    0.9815
    """
    words = _words(text)
    return max(
        (
            meteor_of_words(words, _words(other), alpha=alpha, beta=beta, gamma=gamma)
            for other in references
        ),
        default=0,
    )


def meteor_of_words(
    words: Sequence[str],
    others: Sequence[str],
    *,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> float:
    """METEOR for words that are lower-cased already, against one reference. Nothing matched: 0."""
    pairs = _aligned(words, others)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(words), len(pairs) / len(others)
    mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
    runs = 1 + sum(
        (i, j) != (pairs[k][0] + 1, pairs[k][1] + 1) for k, (i, j) in enumerate(pairs[1:])
    )
    return (1 - gamma * (runs / len(pairs)) ** beta) * mean


def _aligned(words: Sequence[str], others: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places, each word in one at most: the last words take their partners first, as do exact forms."""
    import snowballstemmer  # noqa: PLC0415 (only for METEOR)

    stem = cache(snowballstemmer.stemmer("porter").stemWord)  # a long text has few different words
    pairs: list[tuple[int, int]] = []
    mine, theirs = list(enumerate(words)), list(enumerate(others))
    for form in (str, stem):
        left = [(j, form(word)) for j, word in theirs]
        unmatched: list[tuple[int, str]] = []
        # NLTK matches from the end; another order makes other runs, and so another penalty.
        for i, word in reversed(mine):
            target = form(word)
            partner = next((pair for pair in reversed(left) if pair[1] == target), None)
            if partner is None:
                unmatched.append((i, word))
            else:
                left.remove(partner)
                pairs.append((i, partner[0]))
        free = {j for j, _ in left}
        mine, theirs = unmatched[::-1], [(j, word) for j, word in theirs if j in free]
    return sorted(pairs)


def _words(text: str) -> list[str]:
    return [word.rstrip(".") for word in text.lower().split()]
