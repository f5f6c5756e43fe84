"""Assertions on how much of a reference's wording the output has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from evenhand.core.expect import Scorer
from evenhand.core.json_shapes import is_texts
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.doors.assertions.measured import Decided, Reaches
from evenhand.doors.assertions.values import bound, fraction
from evenhand.scorers.metrics.overlap import bleu, edit_distance, gleu, meteor, rouge_n
from evenhand.scorers.text import quoted, text_of

GROUP = "wording"
_MEASURES = {"bleu": bleu, "gleu": gleu}


def _overlap(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    references = _references(assertion, value)
    measure = _MEASURES[assertion.type]
    return Reaches(
        _label(assertion, references),
        lambda text: measure(text, references),
        bound(assertion.threshold, 0.5),
    )


def _meteor(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    references = _references(assertion, value)
    settings = {
        name: fraction(assertion.more.get(name), default)
        for name, default in (("alpha", 0.9), ("beta", 3.0), ("gamma", 0.5))
    }
    return Reaches(
        _label(assertion, references),
        lambda text: meteor(text, references, **settings),
        bound(assertion.threshold, 0.5),
    )


def _rouge(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    (reference,) = _references(assertion, value, only_one=True)
    return Reaches(
        _label(assertion, (reference,)),
        lambda text: rouge_n(text, reference),
        bound(assertion.threshold, 0.75),
    )


def _levenshtein(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    (reference,) = _references(assertion, value, only_one=True)
    most = bound(assertion.threshold, 5.0)
    return Decided(_label(assertion, (reference,)), partial(_near, reference, most))


def _near(reference: str, most: float, output: object) -> tuple[bool, str]:
    distance = edit_distance(_units(text_of(output)), _units(reference))
    return distance <= most, f"{distance} edits apart, {most:g} allowed"


def _units(text: str) -> Sequence[int]:
    """A text's units of UTF-16, which JavaScript counts in."""
    # Most texts are ASCII, in which each byte is one unit.
    if text.isascii():
        return text.encode()
    return memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")


def _references(assertion: Assertion, value: Any, *, only_one: bool = False) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if only_one or not value or not is_texts(value):
        expected = "a text" if only_one else "a text or a list of texts"
        raise assertion.misvalued(value, f", not {expected}")
    return tuple(value)


def _label(assertion: Assertion, references: Sequence[str]) -> str:
    return f"{assertion.type} {quoted(', '.join(references))}"


_TEXTS = "text, or list of texts"
KINDS = (
    Kind(
        "levenshtein",
        "at most threshold (5) characters to change for this text",
        _levenshtein,
        "text",
    ),
    Kind("rouge-n", "shares words with this text: ROUGE-1's F1, at least 0.75", _rouge, "text"),
    Kind("bleu", "shares 1- to 4-grams with a text: BLEU, at least 0.5", _overlap, _TEXTS),
    Kind("gleu", "the same, as Google BLEU, at least 0.5", _overlap, _TEXTS),
    Kind("meteor", "words align by form or stem: METEOR, at least 0.5", _meteor, _TEXTS),
)
