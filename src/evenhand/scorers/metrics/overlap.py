"""How much of a text's wording is another's: BLEU, Google BLEU, ROUGE-N, METEOR, edit distance.

Numbers from 0 to 1 but for the distance. They count shared n-grams; they know nothing of meaning.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cache

_NOTHING = 1e-7
"""Stands for a precision of 0 in BLEU, whose geometric mean would be 0 for any text without a shared 4-gram."""


def bleu(text: str, references: Sequence[str]) -> float:
    """Sentence BLEU over 1- to 4-grams of lower-cased words, with brevity penalty.

    For each order the reference that shares most counts. Orders longer than the text are left out. A precision of 0
    counts as 1e-7. Without words, or without references: 0.

    Source: Papineni et al., 2002, doi.org/10.3115/1073083.1073135.

    >>> bleu("the cat sat on the mat", ["the cat sat on the mat"])
    1.0
    """
    words = text.lower().split()
    others = [reference.lower().split() for reference in references]
    if not words or not others:
        return 0.0
    orders = range(1, min(4, len(words)) + 1)
    logs = 0.0
    for n in orders:
        mine = ngrams(words, n)
        shared = max((mine & ngrams(other, n)).total() for other in others)
        logs += math.log(shared / mine.total() if shared else _NOTHING)
    # Of two references that are equally near, the shorter one counts, which makes the milder penalty.
    closest = min((len(other) for other in others), key=lambda n: (abs(n - len(words)), n))
    penalty = 1.0 if len(words) >= closest else math.exp(1 - closest / len(words))
    return penalty * math.exp(logs / len(orders))


def gleu(text: str, references: Sequence[str]) -> float:
    """Google BLEU: of all 1- to 4-grams, the smaller of precision and recall; the best over the references.

    Words are lower-cased and lose the dots that end them. Without words, or without references: 0.

    Source: Wu et al., 2016, arxiv.org/abs/1609.08144, section 7.5.

    >>> gleu("the cat sat", ["the cat sat"])
    1.0
    """
    words = _plain_words(text)
    mine = ngrams_to_four(words)
    best = 0.0
    for reference in references:
        other = _plain_words(reference)
        theirs = ngrams_to_four(other)
        if mine and theirs:
            shared = (mine & theirs).total()
            best = max(best, min(shared / mine.total(), shared / theirs.total()))
    return best


def rouge_n(text: str, reference: str, n: int = 1) -> float:
    """ROUGE-N: F1 of the n-grams that two texts share, words as the Penn Treebank splits them, lower-cased.

    0 where nothing is shared, or where one of them has no n-gram.

    Source: Lin, 2004, aclanthology.org/W04-1013.

    >>> rouge_n("the cat sat", "the cat ran")
    0.6666666666666666
    """
    mine = ngrams(treebank_words(text.lower()), n)
    theirs = ngrams(treebank_words(reference.lower()), n)
    shared = (mine & theirs).total()
    if not shared:
        return 0.0
    precision, recall = shared / mine.total(), shared / theirs.total()
    return 2 * precision * recall / (precision + recall)


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Levenshtein's distance: the fewest items to insert, delete or replace. The items of a text are its code points.

    How this works: a column of the table of distances is two integers, with a bit for each place at which the distance
    grows or shrinks by one; the next column is a few operations on them.

    Source: Myers, 1999, doi.org/10.1145/316542.316550, as Hyyrö, 2003, gives it for whole texts.

    >>> edit_distance("kitten", "sitting")
    3
    """
    if len(one) > len(
        other
    ):  # either way round it is the same; the integers are as long as the first
        one, other = other, one
    if not one:
        return len(other)
    places: dict[Hashable, int] = {}
    for i, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << i
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    grows, shrinks, distance = every, 0, len(one)
    for item in other:
        same = places.get(item, 0)
        diagonal = (((same & grows) + grows) ^ grows) | same | shrinks
        right_grows = shrinks | ~(diagonal | grows) & every
        right_shrinks = diagonal & grows
        distance += bool(right_grows & last) - bool(right_shrinks & last)
        right_grows = (right_grows << 1 | 1) & every
        right_shrinks = (right_shrinks << 1) & every
        grows = right_shrinks | ~(diagonal | right_grows) & every
        shrinks = right_grows & diagonal
    return distance


def _plain_words(text: str) -> list[str]:
    """The words, lower-cased and without the dots that end them; one that is all dots is an empty word among others."""
    words = [part.rstrip(".") for part in text.lower().split()]
    return words if any(words) else []


def ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """The runs of n words, each with how often it comes."""
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def ngrams_to_four(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    """The runs of one to four words, each with how often it comes."""
    counts: Counter[tuple[str, ...]] = Counter()
    for n in range(1, 5):
        counts += ngrams(words, n)
    return counts


_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), into)
    for pattern, into in (
        (r"\.{3}", " ... "),
        (r"[:,](?!\d)", r" \g<0> "),
        (r"[;@#$%&]", r" \g<0> "),
        # The last stop, but not that of "U.S."
        (r"([^.])(?<!\b[A-Za-z]\.[A-Za-z])(\.)([\])}>'\s]*)$", r"\1 \2\3 "),
        (r"[?!]", r" \g<0> "),
        (r"[\]\[(){}<>]", r" \g<0> "),
        (r"--", " -- "),
        (r"^|$", " "),
        (r"([^'])' ", r"\1 ' "),
        (r"'([sSmMdD]) ", r" '\1 "),
        (r"('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r" \1 "),
    )
)
_PAIRS = tuple(
    re.compile(rf"(?<!\w){first}{second}(?!\w)", re.IGNORECASE)
    for first, second in (
        ("(can)", "(not)"),
        ("(d)", "('ye)"),
        ("(gim)", "(me)"),
        ("(gon)", "(na)"),
        ("(got)", "(ta)"),
        ("(lem)", "(me)"),
        ("(more)", "('n)"),
        ("(wan)", "(na)(?= )"),
        ("('t)", "(is)"),
        ("('t)", "(was)"),
    )
)
_QUOTE = re.compile(r"``|''|\"")


def treebank_words(text: str) -> list[str]:
    """The words of a text as the Penn Treebank splits them: "can't" is "ca" and "n't". Empty text has none.

    Punctuation stands apart, and quotes are `` and ''. It is for single sentences: only the last stop is split off.

    Source: Marcus, Santorini and Marcinkiewicz, 1993, aclanthology.org/J93-2004.
    """
    text = _quotes(" ".join(text.split()))
    for pattern, into in _RULES:
        text = pattern.sub(into, text)
    for pattern in _PAIRS:
        text = pattern.sub(r" \1 \2 ", text)
    return text.split()


def _quotes(text: str) -> str:
    """Each quote as an opening or a closing one."""
    is_open = False

    def quote_mark(match: re.Match[str]) -> str:
        nonlocal is_open
        before = text[match.start() - 1 : match.start()]
        begins = not before or before in " <" or unicodedata.category(before)[0] == "P"
        at_end = match.end() == len(text) and before not in ("", " ", *"([{<")
        is_open = match.group() == "``" or (
            match.group() == '"'
            and not (is_open or at_end)
            and begins
            and before not in (".", "!", "?")
        )
        return " `` " if is_open else " '' "

    return _QUOTE.sub(quote_mark, text)


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
