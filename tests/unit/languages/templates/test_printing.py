"""Values as templates print them."""

from __future__ import annotations

import math

import pytest

from evenhand.languages.templates.printing import number_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
        (10**400, "Infinity"),
        (-(10**400), "-Infinity"),
        (1.0, "1"),
        (1e-7, "1e-7"),
    ],
)
def test_numbers_are_printed_as_javascript_prints_them(value: float, text: str):
    """Also those that aren't finite, with their sign."""
    assert number_text(value) == text
