"""Remembers what functions of the output alone said, so that a slow one isn't asked twice about the same text."""

from __future__ import annotations

from types import FunctionType

from evenhand.core.definition import definition_of
from evenhand.core.expect import Expectation
from evenhand.core.score import Outcome
from evenhand.scorers.function import FunctionScorer

MOST = 100_000


class Memory:
    """The outcomes of functions that are given nothing but the output, by what they are and what they were given."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[object, ...], Outcome] = {}

    def key(self, expectation: Expectation) -> tuple[object, ...] | None:
        """What its outcome hangs on; None where that is more than the text."""
        scorer, value = expectation.scorer, expectation.value
        if not isinstance(scorer, FunctionScorer) or not isinstance(value, str):
            return None
        function = scorer.function
        # What a function was given when it was made may be the case, or anything.
        if not isinstance(function, FunctionType) or function.__closure__ or function.__defaults__:
            return None
        if scorer.takes_case:
            return None
        terms = definition_of(scorer)
        bounds = (expectation.at_least, expectation.at_most, expectation.weight, expectation.metric)
        return (terms.kind, *sorted(terms.settings.items()), expectation.label, *bounds, value)

    def get(self, key: tuple[object, ...] | None) -> Outcome | None:
        """The outcome; None for one that isn't known."""
        return None if key is None else self._outcomes.get(key)

    def put(self, key: tuple[object, ...] | None, outcome: Outcome) -> None:
        """Remembers an outcome."""
        if key is not None and len(self._outcomes) < MOST:
            self._outcomes[key] = outcome
