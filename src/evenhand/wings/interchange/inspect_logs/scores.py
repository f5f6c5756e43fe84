"""Inspect's scores as outcomes.

A score is a letter (C, I, P, N), a truth value, a number, or several of these by name. Letters and truth values are
verdicts. Inspect has no bounds, so a number is measured and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.score import Outcome
from evenhand.doors.importers.foreign_scores import finite, is_number
from evenhand.languages.documents.foreign import Part, shown

_LETTERS: Mapping[str, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What Inspect counts its letters as: correct, incorrect, partially correct, no answer."""
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Texts that Inspect's value_to_float counts."""


def values_of(sample: Part) -> Iterator[tuple[str, object, Part]]:
    """The values of a sample's scores by name, and the score that each is of."""
    scores = sample.part("scores")
    named = [(name, scores.part(name)) for name in scores.value] if scores else []
    if scores is None:  # logs of before there were several
        named = [("score", sample.part("score"))]
    for name, score in named:
        if score is None:
            continue
        value = score.value.get("value")
        if is_object(value):
            for key, inner in value.items():
                yield f"{name}/{key}", inner, score
        elif is_array(value):
            for i, inner in enumerate(value, 1):
                yield f"{name}/{i}", inner, score
        else:
            yield name, value, score


def outcomes_of(sample: Part) -> Iterator[Outcome]:
    """An outcome for each value of a sample's scores."""
    for name, value, score in values_of(sample):
        reason = score.value.get("explanation")
        metadata = {"value": value, **score.without("value", "explanation")}
        yield _outcome(name, value, reason if isinstance(reason, str) else "", metadata, score)


def _outcome(
    name: str,
    value: object,
    reason: str,
    metadata: Mapping[str, object],
    score: Part,
) -> Outcome:
    number = _counted(value)
    if number is None:
        if value is not None:
            score.notes.changed(f"{score.where}.value", f"is {shown(value)}, which is no score")
        why = reason or "Inspect recorded no score"
        return Outcome(name, "not_applicable", None, why, metric=name, metadata=metadata)
    if is_number(value):
        score.notes.changed(
            f"{score.where}.value",
            f"{shown(name)} is a number without a bound: it is measured, and decides nothing",
        )
        why = reason or f"measured: {number:g}"
        return Outcome(name, "not_applicable", None, why, named={name: number}, metadata=metadata)
    state = "pass" if number == 1 else "fail"
    return Outcome(name, state, number, reason, metric=name, metadata=metadata)


def _counted(value: object) -> float | None:
    if isinstance(value, str):
        return _LETTERS.get(value, _WORDS.get(value.casefold()))
    return finite(value)
