"""What is kept of the parts of an assert-set."""

from __future__ import annotations

import pytest

from evenhand.core.score import Outcome, State
from evenhand.doors.assertions.sets import parts_of


@pytest.mark.parametrize(
    ("outcome", "weight", "passes"),
    [
        ("pass", 1.0, True),
        ("fail", 1.0, False),
        ("error", 1.0, False),
        ("not_applicable", 1.0, True),
        ("fail", 0.0, True),
    ],
)
def test_a_part_passes_if_it_does_not_apply_or_counts_for_nothing(
    outcome: State, weight: float, passes: bool
):
    """A weight of 0 only measures: promptfoo shows such a part as passed, and so do its results here."""
    part = Outcome("contains", outcome, None, weight=weight)
    kept = parts_of([part, Outcome("other", "pass", 1.0)])
    assert [one["pass"] for one in kept["components"]] == [passes, True]
    assert kept["components"][0]["outcome"] == outcome


def test_what_a_single_part_keeps_is_kept_as_it_is():
    """There is nothing to be listed."""
    assert parts_of([Outcome("one", "pass", 1.0, metadata={"k": 1})]) == {"k": 1}
