"""What earlier systems scored on a unit of several cases."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evenhand.analysis.comparison.drawn_part import means_of_cases


@pytest.mark.parametrize(
    ("earlier", "means"),
    [
        ([[1.0, None]], (1.0, None)),
        ([[1.0, None], [0.0, 4.0], [None]], (0.5, 4.0)),
        ([[None], [None, None]], (None, None)),
    ],
)
def test_a_case_that_says_nothing_of_a_system_is_no_zero(
    earlier: Sequence[Sequence[float | None]], means: tuple[float | None, ...]
):
    """Nor is one that an earlier system wasn't asked."""
    assert means_of_cases(earlier) == means
