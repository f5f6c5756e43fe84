"""What a gate takes in before all cases are there."""

from __future__ import annotations

import pytest

from evenhand.report.comparison.case_values import Values
from evenhand.report.gates.gate_deciding import _Watched
from evenhand.stats.sequential import MarginWatch
from evenhand.stats.tallies import OpenNumber


@pytest.mark.parametrize(
    ("before", "after", "decided"),
    [
        (Values([1.0]), Values([1.0]), True),
        (Values(errors=1), Values([1.0]), True),
        (Values([1.0]), Values(errors=1), False),
        (Values(errors=1), Values([0.0]), False),
        (Values(errors=1), Values(errors=1), False),
    ],
)
def test_an_error_on_either_side_may_have_been_either_outcome(
    before: Values, after: Values, decided: bool
) -> None:
    """Where both are in error, one may have passed and the other failed: that is no difference of 0."""
    watched = _Watched(0, 0, "passed", False, OpenNumber(0.0, 1.0), MarginWatch(0.05))
    for _ in range(400):
        watched.add(before, after)
    assert watched.decides("not worse") is decided
