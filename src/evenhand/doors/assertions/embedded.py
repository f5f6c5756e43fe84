"""Assertions that models other than chats decide: embeddings, classifiers, moderation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.errors import JudgeError, ScoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import is_array, is_texts
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.core.wording.bounds import as_written, beside
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.doors.assertions.measured import EPSILON
from evenhand.doors.assertions.values import bound
from evenhand.scorers.text import quoted, text_of

GROUP = "other models"

Vector = Sequence[float]


def dot(one: Vector, other: Vector) -> float:
    """The dot product of two vectors of one length.

    Raises:
        JudgeError: Their lengths differ: they are not of one model.
    """
    if len(one) != len(other):
        raise JudgeError(f"embeddings of {len(one)} and {len(other)} numbers cannot be compared")
    return sum(a * b for a, b in zip(one, other, strict=True))


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of the angle between two vectors, from -1 to 1; 0 where one of them is all zeros."""
    length = math.sqrt(dot(one, one)) * math.sqrt(dot(other, other))
    return dot(one, other) / length if length else 0.0


def euclidean(one: Vector, other: Vector) -> float:
    """The distance between two vectors, from 0."""
    # Called for its check: math.dist raises a ValueError for vectors of different lengths.
    dot(one, other)
    return math.dist(one, other)


_NEARNESS: dict[str, Callable[[Vector, Vector], float]] = {
    "similar": cosine,
    "similar:cosine": cosine,
    "similar:dot": dot,
    "similar:euclidean": euclidean,
}


@dataclass(frozen=True, slots=True)
class Similar:
    """The output's embedding is near that of a text: the first that is near enough decides, else the nearest.

    Attributes:
        name: The type; `similar:euclidean` is a distance, at most the threshold, and scores 1 / (1 + distance).
        negated: It must be far from all of them.
    """

    name: str
    texts: Sequence[str]
    embedder: Provider = field(repr=False)
    threshold: float = 0.75
    negated: bool = False

    async def score(self, output: Any, trial: Trial) -> Score:
        model = trial.model(self.embedder, "judge")
        # One request for the output and all texts together.
        mine, *others = await model.embed([text_of(output), *self.texts])
        scores = [self._score(_NEARNESS[self.name](other, mine)) for other in others]
        if self.negated:
            return next((s for s in scores if not s.passed), min(scores, key=_value))
        return next((s for s in scores if s.passed), max(scores, key=_value))

    def _score(self, measure: float) -> Score:
        if self.name == "similar:euclidean":
            # A number on the threshold counts as near and, for `not-`, as far, so that rounding fails neither.
            near, far = measure <= self.threshold + EPSILON, measure >= self.threshold - EPSILON
            value, description = 1 / (1 + measure), f"distance {self._number(measure)}"
        else:
            near, far = measure >= self.threshold - EPSILON, measure <= self.threshold + EPSILON
            value, description = measure, f"similarity {self._number(measure)}"
        reason = f"{description}, threshold {as_written(self.threshold)}"
        return Score(1 - value if self.negated else value, far if self.negated else near, reason)

    def _number(self, measure: float) -> str:
        return beside(measure, self.threshold, digits=2, form="f")

    def __str__(self) -> str:
        return f"{'not-' if self.negated else ''}{self.name} {quoted(', '.join(self.texts))}"


def _value(score: Score) -> float:
    return score.value or 0.0


def _similar(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    items = value if is_array(value) else [value]
    if not items or not is_texts(items):
        raise assertion.misvalued(value, ", not a text or a list of texts")
    return Similar(
        assertion.type,
        items,
        _judge(assertion),
        bound(assertion.threshold, 0.75),
        assertion.negated,
    )


@dataclass(frozen=True, slots=True)
class InClass:
    """A classifier gives a label at least this share; without a label, any."""

    label: str | None
    classifier: Provider = field(repr=False)
    threshold: float = 1.0

    async def score(self, output: Any, trial: Trial) -> Score:
        labels = await trial.model(self.classifier, "judge").classify(text_of(output))
        if not labels:
            raise JudgeError("the classifier gave no labels")
        value = max(labels.values()) if self.label is None else labels.get(self.label, 0.0)
        best = max(labels, key=lambda label: labels[label])
        number = beside(value, self.threshold, digits=2, form="f")
        reason = f"{self.label or best}: {number}, threshold {as_written(self.threshold)}"
        return Score(value, value >= self.threshold - EPSILON, reason, {"labels": labels})

    def __str__(self) -> str:
        return f"classifier {quoted(self.label)}" if self.label else "classifier"


def _classifier(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    if value is not None and not isinstance(value, str):
        raise assertion.misvalued(value, ", not a label")
    return InClass(value, _judge(assertion), bound(assertion.threshold, 1.0))


@dataclass(frozen=True, slots=True)
class Harmless:
    """A moderation model flags nothing; of these categories, where some are named."""

    categories: Sequence[str]
    moderator: Provider = field(repr=False)

    async def score(self, output: Any, trial: Trial) -> Score:
        text = text_of(output)
        if not text:
            return Score(1.0, True, "there is no output to moderate")
        flagged = await trial.model(self.moderator, "judge").moderate(text)
        named = [name for name in flagged if not self.categories or name in self.categories]
        reason = f"flagged: {', '.join(named)}" if named else "nothing flagged"
        return Score(0.0 if named else 1.0, not named, reason, {"flagged": flagged})

    def __str__(self) -> str:
        return (
            f"moderation {quoted(', '.join(self.categories))}" if self.categories else "moderation"
        )


def _moderation(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    if value and not is_texts(value):
        raise assertion.misvalued(value, ", not a list of categories")
    return Harmless(value or [], _judge(assertion))


def _judge(assertion: Assertion) -> Provider:
    if assertion.judge is None:
        raise ScoreError(f"'{assertion.written}' has no model to ask")
    return assertion.judge


def _kind(name: str, about: str) -> Kind:
    return Kind(name, about, _similar, "text, or list of texts", negation="own", asks="embed")


KINDS = (
    _kind(
        "similar",
        "the output means what a text means: cosine of embeddings, at least the threshold (0.75)",
    ),
    _kind("similar:cosine", "the same"),
    _kind("similar:dot", "the same, by dot product"),
    _kind("similar:euclidean", "the same, by distance, at most threshold"),
    Kind(
        "classifier",
        "a classifier gives this label a score of at least the threshold (1)",
        _classifier,
        "label, optional",
        optional=True,
        asks="classify",
    ),
    Kind(
        "moderation",
        "a moderation model flags nothing",
        _moderation,
        "list of categories, optional",
        optional=True,
        asks="moderate",
    ),
)
