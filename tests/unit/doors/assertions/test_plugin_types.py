"""Assertion types of installed packages: made of the value, bounded by the threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.plugins import ASSERTIONS, Plugin
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import UNTOLD, Traits
from evenhand.doors.assertions.assertion import Assertion
from evenhand.doors.assertions.plugin_types import Bounded, kind_from


@dataclass(frozen=True)
class Says:
    """A scorer that gives what it is told.

    More about it.
    """

    given: Any
    traits: Traits = UNTOLD

    def score(self, output: Any, trial: Any) -> Any:
        return self.given


def added(monkeypatch: pytest.MonkeyPatch, given: object) -> Plugin:
    """A package's type that stands for this."""
    monkeypatch.setattr(Plugin, "load", lambda self: given)
    return Plugin(ASSERTIONS, "mine", "extras", "1.0", "extras:mine")


@pytest.mark.parametrize(
    ("score", "threshold", "low", "passed"),
    [
        (Score(0.5), 0.5, False, True),
        (Score(0.49), 0.5, False, False),
        (Score(3.0), 3, True, True),
        (Score(4.0), 3, True, False),
        (Score(0.9, False), 0.5, False, False),
        (Score(0.1, True), 0.5, False, False),
        (Score(0.1, True), None, False, True),
        (Score(None), None, False, None),
    ],
)
async def test_a_threshold_decides_beside_the_scorers_own_verdict(
    score: Score, threshold: float | None, low: bool, passed: bool | None
):
    """Both have to hold; where less is better it may not be passed; what does not apply stays so."""
    bounded = Bounded(Says(score, Traits(lower_is_better=low)), threshold)
    assert (await bounded.score("x", Any)).passed is passed


@pytest.mark.parametrize(
    ("score", "threshold", "traits", "value", "scale"),
    [
        (Score(4.0), 3, Traits(gives="number"), 1.0, SHARES),
        (Score(4.0), 5, Traits(gives="number"), 0.0, SHARES),
        (Score(0.0), 5, Traits(gives="number"), 0.0, SHARES),
        (Score(1.0), 5, Traits(gives="number"), 0.0, SHARES),
        (Score(4.0), 3, UNTOLD, 1.0, SHARES),
        (Score(4.0, passed=True), None, UNTOLD, 1.0, SHARES),
        (Score(0.3, passed=True), None, UNTOLD, 0.3, None),
        (Score(0.3), 0.2, Traits(gives="number", scale=SHARES), 0.3, SHARES),
        (Score(0.3, scale=SHARES), 0.2, Traits(gives="number"), 0.3, SHARES),
        (Score(4.0), 3, Traits(gives="number", scale=(1.0, 5.0)), 4.0, (1.0, 5.0)),
    ],
)
async def test_a_count_without_a_scale_scores_1_or_0_as_promptfoos_own_counts_do(
    score: Score,
    threshold: float | None,
    traits: Traits,
    value: float,
    scale: tuple[float, float] | None,
):
    """A share, and a number on a scale that is known, stay what they are; the count is kept beside the score."""
    found = await Bounded(Says(score, traits), threshold).score("x", Any)
    assert (found.value, found.scale) == (value, scale)
    assert found.metadata == ({"measured": score.value} if value in (0.0, 1.0) else {})


async def test_a_number_without_verdict_and_threshold_is_an_error():
    """And so is what is no score."""
    with pytest.raises(ScoreError, match="gave 1 without a verdict, and there is no threshold"):
        await Bounded(Says(Score(1.0)), None).score("x", Any)
    with pytest.raises(ScoreError, match="gave bool, not a Score"):
        await Bounded(Says(given=True), None).score("x", Any)


def test_what_a_package_gives_is_read_into_a_kind(monkeypatch: pytest.MonkeyPatch):
    """Its first line is what is listed; a number on a scale of its own has no opposite, only its verdict has."""

    class Share(Says):
        """A share."""

        traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES)  # type: ignore[misc]

    class Graded(Says):
        """A grade."""

        traits: ClassVar[Traits] = Traits(gives="number", scale=(1.0, 5.0))  # type: ignore[misc]

    def count(output: str) -> int:
        return len(output)

    kind = kind_from(added(monkeypatch, Says))
    assert (kind.name, kind.about, kind.negation) == (
        "mine",
        "A scorer that gives what it is told.",
        "opposite",
    )
    assert kind_from(added(monkeypatch, Share)).negation == "opposite"
    assert kind_from(added(monkeypatch, count)).negation == "opposite"
    assert kind_from(added(monkeypatch, Graded)).negation == "kept"


@pytest.mark.parametrize("given", [7, dict, lambda: True])
def test_what_is_no_scorer_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch, given: object):
    """Neither a function of the output nor a class with a score."""
    with pytest.raises(UsageError, match=r"assertion type 'mine' of the package extras 1\.0"):
        kind_from(added(monkeypatch, given))


def test_a_value_that_a_package_cannot_take_is_an_error_of_the_assertion(
    monkeypatch: pytest.MonkeyPatch,
):
    """Its own error, with the value."""

    class Picky:
        def __init__(self, value: str) -> None:
            self.value = int(value)

        def score(self, output: Any, trial: Any) -> Score:
            return Score(1.0, passed=True)

    kind = kind_from(added(monkeypatch, Picky))
    make: Callable[..., Any] = kind.make
    with pytest.raises(ScoreError, match="cannot be made of the value 'many': ValueError"):
        make(Assertion(type="mine"), None, "many")
    assert str(make(Assertion(type="mine"), None, "7")) == "Picky"
