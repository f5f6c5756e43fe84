"""Near-duplicates among cases: questions that differ in nothing but capitals, marks, small words or a letter or two.

How this works: two texts are candidates where they share one of their rarest words, as any two that are nearly alike
do (prefix filtering: Chaudhuri, Ganti and Kaushik, ICDE 2006, doi:10.1109/ICDE.2006.9). Of two candidates the words
that only one of them has must be small words or other spellings; other numbers make another question. Of long texts so
few words may differ that one was pasted from the other.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from evenhand.core.case import Case
from evenhand.core.encoding import digest
from evenhand.core.record import Record
from evenhand.wings.audit.material import REFERENCES

LONG = 40
"""A text of so many different words is long."""
ALIKE = 0.9
"""The share of words that two long texts have in common, of all that either has (Jaccard)."""
SHORT_ALIKE = 0.6
_WORDS = re.compile(r"[^\W_]+")
_SMALL = frozenset(
    "a an the of to in on at for from by with and or is are was were be been do does did it its this that these those"
    " i you he she we they me my your our their us him her them please can could would will should may just so then"
    " hi hello dear thanks thank one as if there here what which whats s m re ve ll d t".split()
)
_NEGATIONS = frozenset("not no never without none nor don cannot isn aren won doesn didn".split())


_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|please|and|so|sorry|excuse me|quick question"
    r"|(?:could|can|would|will) you (?:please |kindly )?(?:tell|help|explain to) me"
    r"|(?:please )?(?:tell|let) me(?: know)?|i(?: would|d)? (?:like|want|need|am trying) to (?:know|ask)"
    r"|i(?: am| was|m)? (?:wondering|curious)|do you know|any idea) )+"
    r"|(?: (?:thanks(?: a lot)?|thank you(?: very much)?|many thanks|please|asking for a friend|anyone))+$"
)
"""What is said before a question, or after it, and asks nothing."""
_MARKED = re.compile(r"([a-z])[\u0300-\u036f]+")
_UNSPACED = re.compile(r"(?<=[\u3040-\u30ff\u3400-\u9fff]) (?=[\u3040-\u30ff\u3400-\u9fff])")


class Text(Record, frozen=True):
    """A question as it is compared.

    Attributes:
        words: Its different words, capitals and marks aside.
        numbers: Its numbers, in their order.
        whole: All of its words, in their order.
    """

    words: frozenset[str]
    numbers: tuple[str, ...]
    whole: str


def text_of(question: str) -> Text:
    """A question, ready to be compared."""
    plain = unicodedata.normalize("NFKC", question).casefold().replace("’", "'").replace("'", "")
    # Accents of Latin letters are often left out; marks of other scripts make another letter.
    plain = unicodedata.normalize("NFC", _MARKED.sub(r"\1", unicodedata.normalize("NFD", plain)))
    whole = _UNSPACED.sub("", " ".join(_WORDS.findall(plain)))
    whole = _POLITE.sub("", whole) or whole
    words = whole.split()
    numbers = tuple(word for word in words if any(letter.isdigit() for letter in word))
    return Text(frozenset(words), numbers, whole)


def beside_of(
    variables: Mapping[str, object], question: str, names: Collection[str] | None = None
) -> str:
    """What a case is about beside its question, such as the document that it asks about, to be compared as a whole.

    Args:
        names: The variables that count; None for all that are no references.
    """
    return digest(
        *(
            f"{name} {' '.join(text_of(str(value)).whole.split())}"
            for name, value in sorted(variables.items())
            if (names is None or name in names)
            and name.lower() not in REFERENCES
            and not name.startswith("_")
            and value != question
        )
    )


def twins_among(
    questions: Sequence[str], beside: Sequence[str] | None = None
) -> Iterator[tuple[int, int]]:
    """The pairs of places whose questions are nearly alike, the earlier place first. Blank ones have no twins.

    Args:
        beside: What else each is about: twins have it in common. None where that is nothing.
    """
    texts = [text_of(question) for question in questions]
    about = beside or [""] * len(texts)
    counts = Counter(word for text in texts for word in text.words)
    by_word: dict[str, list[int]] = {}
    by_whole: dict[tuple[str, str], int] = {}
    for place, text in enumerate(texts):
        if not text.words:
            continue
        first = by_whole.setdefault((text.whole, about[place]), place)
        if first != place:
            yield first, place
            continue
        candidates: set[int] = set()
        content = text.words - _SMALL or text.words
        # Of n words at most a third may differ: so any two share one of the rarest of that many and one.
        rare = sorted(content, key=lambda word: (counts[word], word))[: len(content) // 3 + 2]
        for word in rare:
            candidates.update(by_word.get(word, ()))
            by_word.setdefault(word, []).append(place)
        near = (one for one in sorted(candidates) if about[one] == about[place])
        twin = next((one for one in near if alike(texts[one], text)), None)
        if twin is not None:
            yield twin, place


def alike(one: Text, other: Text) -> bool:
    """Whether two questions are nearly the same."""
    if one.numbers != other.numbers:
        return False
    common = len(one.words & other.words)
    total = len(one.words | other.words)
    left, right = one.words - other.words, other.words - one.words
    if (left | right) & _NEGATIONS:
        return False
    if min(len(one.words), len(other.words)) >= LONG:
        return common / total >= ALIKE
    left, right = left - _SMALL, right - _SMALL
    content = (one.words & other.words) - _SMALL
    if not content or len(left) != len(right) or len(left) > max(1, len(content) // 3):
        return False
    return (
        common / total >= SHORT_ALIKE / 2
        and all(any(_respelt(a, b) for b in right) for a in left)
        and _order(one, other) == _order(other, one)
    )


def _order(one: Text, other: Text) -> list[str]:
    """The words of one that count and that both have, in its order: `Paris to Rome` isn't `Rome to Paris`."""
    return [word for word in one.whole.split() if word in other.words and word not in _SMALL]


def _respelt(one: str, other: str) -> bool:
    """Whether a word is another one in another form or with a slip of the pen: `parcels`, `parcle`."""
    if min(len(one), len(other)) < 4 or one[0] != other[0]:
        return False
    return SequenceMatcher(None, one, other).ratio() >= 0.8


def split_of(case: Case) -> str:
    """The part of a dataset that a case is in, as far as it says so; empty where it doesn't."""
    for name in ("split", "part", "fold"):
        value = case.metadata.get(name)
        if isinstance(value, str) and value:
            return value
    names = ("train", "test", "dev", "validation", "val", "holdout")
    return next((tag for tag in case.tags if tag.lower() in names), "")
