"""Names for Python, made of names that people gave."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata

_RESERVED = frozenset(
    "Annotated Any Case CustomJudge Dataset Equals EvalSet Expect Judgement Literal Message Model PROMPT"
    " SETTINGS SemanticSimilarity answers case chat evals expect filled json model output provider"
    " reply sample_of text_similarity values values_of".split()
)
LONGEST = 40


def slug(name: str, otherwise: str) -> str:
    """A name in lower case with underscores, that Python takes: `Right topic?` as `right_topic`.

    >>> slug("Right topic?", "grader"), slug("東京", "grader")
    ('right_topic', 'grader')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:LONGEST].strip("_")
    if not words or words[0].isdigit():
        words = f"{otherwise}_{words}".strip("_")
    # A function called `list` would hide Python's own from the rest of the file.
    if keyword.iskeyword(words) or words in _RESERVED or hasattr(builtins, words):
        words += "_"
    return words


def class_name(slugged: str) -> str:
    """`right_topic` as `RightTopic`."""
    return "".join(word[:1].upper() + word[1:] for word in slugged.split("_") if word)


def one_line(text: str) -> str:
    """Text with its spaces and line breaks made single spaces."""
    return " ".join(text.split())


def unlike(taken: set[str], name: str) -> str:
    """The name, with a number after it where it is taken; it is taken from then on."""
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name} {number}"
    taken.add(unique)
    return unique
