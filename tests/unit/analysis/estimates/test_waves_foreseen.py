"""How many waves of batches are foreseen."""

from __future__ import annotations

import pytest

from evenhand.analysis.estimates.earlier_run import one_after_another, waves_in_words
from evenhand.core.step import Step


@pytest.mark.parametrize(
    ("spans", "waves"),
    [
        ([], 0),
        ([(0, 1)], 1),
        ([(0, 1), (1, 1), (2, 1)], 3),
        ([(0, 5), (1, 1), (2.5, 1), (4, 9)], 3),
        ([(0, 2), (0, 2), (2, 1)], 2),
        ([(0, 0), (0, 0)], 2),
    ],
)
def test_calls_that_wait_for_one_another_are_counted_and_those_side_by_side_are_not(
    spans: list[tuple[float, float]], waves: int
):
    """Tools between them are none of them."""
    steps = [Step("model", "m", started_s=start, duration_s=long) for start, long in spans]
    assert one_after_another([Step("tool", "t", started_s=0, duration_s=9), *steps]) == waves


def test_waves_are_told_with_their_length():
    """One, and several."""
    assert waves_in_words(1) == "1 wave of up to 24 h"
    assert waves_in_words(3) == "about 3 waves, each of up to 24 h"
