"""Texts as words, in any script.

A word is a run of letters, marks and digits. Scripts that put no spaces between words (Chinese, Japanese, Thai, Lao,
Khmer, Burmese, Tibetan) are taken character by character. Text is in Unicode's form NFKC, so that full-width letters
and ligatures are the plain ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

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
