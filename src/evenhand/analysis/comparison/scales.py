"""Whether the values of two columns under one name lie on different scales, such as 0 to 1 and 0 to 100."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.core.record import Record
from evenhand.core.score import Scale

_APART = 8.0
"""How many times as large the mean has to be on one side: a change of the system is seldom so large."""
_FROM_ONE = 4.0
"""How many times as large, where one side has nothing below 1 and the other nothing above: 1 to 5 beside 0 to 1."""
_LARGEST = 100.0
"""The end of the largest scale that people give scores on. What is larger is counted or measured."""
_SMALL = 10.0
_ABOVE = 1.5


def other_scale(first: Sequence[float], second: Sequence[float], *declared: Scale | None) -> str:
    """That the values of two columns lie on different scales, in words; empty where they don't, as far as can be seen.

    Args:
        first: The means of the cases in the one.
        second: The same in the other.
        declared: What the scorers of each say; None for nothing. Where both say something, that is compared elsewhere.

    >>> other_scale([0.5, 0.7], [50, 70], None, None)[:42]
    'on other scales: from 0.5 to 0.7 in the fi'
    >>> other_scale([0.5, 0.7], [0.9, 1.2], None, None)
    ''
    """
    if not first or None not in declared:
        return ""
    one, two = _values(first), _values(second)
    for scale, values in zip(declared, (two, one), strict=True):
        if scale is not None and not (scale[0] <= values.least and values.most <= scale[1]):
            return _words(one, two)
    return _words(one, two) if _apart(one, two) or _apart(two, one) else ""


class _Values(Record, frozen=True):
    """Values, as far as they show a scale."""

    least: float
    most: float
    mean: float
    whole: bool

    @property
    def shares(self) -> bool:
        """Whether they may be on a scale that ends at 1."""
        return self.least >= -1 and self.most <= 1

    def __str__(self) -> str:
        return f"from {self.least:g} to {self.most:g}"


def _words(one: _Values, two: _Values) -> str:
    return (
        f"on other scales: {one} in the first, {two} in the second; where it is one scale, have the scorer say so:"
        " Score(value, scale=(0, 100))"
    )


def _apart(small: _Values, large: _Values) -> bool:
    """Whether the one lies on a smaller scale than the other. Counts, which have none, are whole numbers from 0 up."""
    if large.least < 0 or large.most > _LARGEST or large.mean < _ABOVE:
        return False
    # A quotient of means says nothing here; scores from −1 to 1 are told by their sign.
    if small.mean <= 0:
        return small.shares and small.least < 0
    times = large.mean / small.mean
    if small.shares:
        graded = not small.whole and large.whole and large.most <= _SMALL
        counts = small.whole and large.whole and large.most <= _SMALL
        above = not small.whole and large.least >= 1 and times >= _FROM_ONE
        return graded or above or (times >= _APART and not counts)
    return times >= _APART and small.least >= 0 and small.most <= _SMALL < large.most


def _values(values: Sequence[float]) -> _Values:
    return _Values(
        min(values),
        max(values),
        math.fsum(values) / len(values),
        all(value == int(value) for value in values),
    )
