"""What cases came to: the same however their trials come, and whatever is in error."""

from __future__ import annotations

from evenhand.analysis.comparison.case_values import Measured, Values


def test_values_are_those_of_their_case_in_whatever_order_they_come():
    """One trial for each case in order; then repeats, errors, what does not apply, and a case without any."""
    plain, mixed = Measured(), Measured()
    for place in range(4):
        plain.add(place, place % 2)
    assert [plain.of(place) for place in range(5)] == [
        *(Values([float(place % 2)]) for place in range(4)),
        Values(),
    ]
    for place, value in ((0, 1.0), (2, 0.25), (0, "error"), (3, "not_applicable"), (2, 0.0)):
        mixed.add(place, value)
    assert sorted(mixed.values()) == [0.0, 0.25, 1.0]
    assert [mixed.of(place) for place in range(5)] == [
        Values([1.0], 1),
        Values(),
        Values([0.25, 0.0]),
        Values([], 0, 1),
        Values(),
    ]
