"""How near a text comes to a reference: exact match, token F1, ROUGE. BLEU and chrF are sacrebleu's.

Numbers from 0 to 1. With several references the best counts. None where the references have nothing to compare with.
They look at wording and know nothing of meaning; `evenhand.scorers.metrics.text` says what a word is.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

Rouge = Literal["1", "2", "L"]


def exact_match(text: str, references: Sequence[str]) -> float | None:
    """1 where the text says what a reference says, word for word, else 0.

    Upper and lower case, punctuation, English articles and spaces do not count; see `answer_words`.

    Source: Rajpurkar et al., 2016, doi.org/10.18653/v1/D16-1264.

    >>> exact_match("The Eiffel Tower.", ["eiffel tower"])
    1.0
    """
    return _best(references, answer_words, lambda other: float(answer_words(text) == other))


def token_f1(text: str, references: Sequence[str]) -> float | None:
    """F1 of the words that a text shares with a reference, each as often as both have it.

    Precision is the shared words divided by the text's, recall by the reference's. Words are those of `exact_match`.

    Source: Rajpurkar et al., 2016, doi.org/10.18653/v1/D16-1264.

    >>> token_f1("the cat sat down", ["a cat sat"])
    0.8
    """
    return _best(references, answer_words, lambda other: _shared_f1(answer_words(text), other))


def rouge(text: str, references: Sequence[str], kind: Rouge = "L") -> float | None:
    """ROUGE's F1: of the words (1), the pairs of words (2), or the longest common subsequence of words (L).

    Words are those of any script, in lower case and not stemmed. `L` takes the text as one sentence. A reference of one
    word has no pairs, so ROUGE-2 has nothing to compare with.

    Source: Lin, 2004, aclanthology.org/W04-1013.

    >>> round(rouge("the cat sat", ["the cat ran"]) or 0, 4)
    0.6667
    """
    n = 2 if kind == "2" else 1
    mine = _ngrams(words(text), n)

    def one(other: Sequence[Hashable]) -> float:
        if kind == "L":
            return _f1(mine, common_subsequence(mine, other), other)
        return _shared_f1(mine, other)

    return _best(references, lambda other: _ngrams(words(other), n), one)


def bleu(text: str, references: Sequence[str], tokenize: str = "13a") -> float | None:
    """Sentence BLEU as sacrebleu has it, divided by 100: 1- to 4-grams, exponential smoothing, effective order.

    Args:
        tokenize: sacrebleu's tokeniser: `13a`, `intl`, `zh`, `char` or `none`.

    Raises:
        ImportError: sacrebleu is not installed.

    Source: Post, 2018, doi.org/10.18653/v1/W18-6319.
    """
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 (a library that few need)

    usable = [reference for reference in references if reference.strip()]
    if not usable:
        return None
    return BLEU(tokenize=tokenize, effective_order=True).sentence_score(text, usable).score / 100


def chrf(text: str, references: Sequence[str], word_order: int = 0) -> float | None:
    """chrF2 as sacrebleu has it, divided by 100: F2 of the 1- to 6-grams of characters, spaces left out.

    Args:
        word_order: Also count n-grams of words up to this; 2 for chrF++.

    Raises:
        ImportError: sacrebleu is not installed.

    Source: Popović, 2015, doi.org/10.18653/v1/W15-3049.
    """
    from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415 (imported on use)

    usable = [reference for reference in references if reference.strip()]
    if not usable:
        return None
    return CHRF(word_order=word_order).sentence_score(text, usable).score / 100


def common_subsequence(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The length of the longest sequence that is in both, in order, with anything between.

    How this works: a row of the table of lengths is one integer, with a 0 where the length grows; the next row is
    four operations on it.

    Source: Hyyrö, 2004, Bit-parallel LCS-length computation revisited.

    >>> common_subsequence("kitten", "sitting")
    4
    """
    places: dict[Hashable, int] = {}
    for i, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << i
    every = (1 << len(one)) - 1
    row = every
    for item in other:
        same = row & places.get(item, 0)
        row = (row + same | row - same) & every
    return len(one) - row.bit_count()


def _ngrams(items: Sequence[str], n: int) -> Sequence[Hashable]:
    return list(zip(*(items[i:] for i in range(n)), strict=False)) if n > 1 else items


def _shared_f1(mine: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    return _f1(mine, (Counter(mine) & Counter(other)).total(), other)


def _f1(mine: Sequence[Hashable], shared: int, other: Sequence[Hashable]) -> float:
    return 2 * shared / (len(mine) + len(other))


def _best(
    references: Sequence[str],
    cut: Callable[[str], Sequence[Hashable]],
    one: Callable[[Sequence[Hashable]], float],
) -> float | None:
    """The best over the references that have something to compare with."""
    return max((one(pieces) for other in references if (pieces := cut(other))), default=None)


_ALONE = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana for Ainu
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xF900, 0xFAFF),  # Han
    (0x20000, 0x3FFFF),  # Han
)
_ARTICLES = frozenset({"a", "an", "the"})
_NUMBER_MARK = re.compile(
    r"(?<=\d)\.(?=\d)"  # the point in 3.5
    r"|(?<=\d),(?=\d)(?!\d{3}(?!\d))"  # the comma in 3,5, but not that in 1,000
    r"|(?<![^\s(\[{\"'$€£¥:;,=])[-+\u2212](?=\d|\.\d)"  # the sign of -5, but not the dash of 2020-21
)
_MINUS = {0x2212: "-"}


class _Table(dict[int, str]):
    """For `str.translate`: what becomes of each character, worked out when it is first met."""

    def __init__(self, between: str) -> None:
        super().__init__()
        self._between = between

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if any(first <= code <= last for first, last in _ALONE) and category[0] in "LN":
            replacement = f" {char} "
        elif category[0] in "LMN":
            replacement = char
        elif category[0] in "ZC":
            replacement = " "
        else:
            replacement = self._between
        self[code] = replacement
        return replacement


_SPLIT, _JOINED = _Table(" "), _Table("")


def words(text: str) -> Sequence[str]:
    """The words of a text, in lower case; punctuation and symbols separate them.

    >>> words("It's 3.5 m, 東京")
    ['it', 's', '3', '5', 'm', '東', '京']
    """
    return unicodedata.normalize("NFKC", text).lower().translate(_SPLIT).split()


def answer_words(text: str) -> Sequence[str]:
    """The words of an answer as SQuAD compares them: in lower case, without punctuation and English articles.

    Unlike there, a number keeps its sign and its decimal point (-5 is not 5, and 3.5 not 35), and punctuation is what
    Unicode says. Commas before three digits are left out, so 1,000 is 1000, and 3,5 is not 35.

    Source: Rajpurkar et al., 2016, doi.org/10.18653/v1/D16-1264, and its evaluation script.

    >>> answer_words("The well-known U.S. band, −1,000.5!")
    ['wellknown', 'us', 'band', '-1000.5']
    """
    text = unicodedata.normalize("NFKC", text).casefold().translate(_MINUS)
    parts: list[str] = []
    start = 0
    for mark in _NUMBER_MARK.finditer(text):
        parts += [text[start : mark.start()].translate(_JOINED), mark[0]]
        start = mark.end()
    parts.append(text[start:].translate(_JOINED))
    words = "".join(parts).split()
    # An answer that is an article alone, such as the option "A", keeps it.
    return [word for word in words if word not in _ARTICLES] or words
