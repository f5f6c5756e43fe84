"""Values as templates print them."""

from __future__ import annotations

import math

import pytest

from evenhand.core.json_shapes import with_whole_numbers
from evenhand.languages.templates.printing import as_json, number_text


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


def test_json_has_numbers_as_javascript_writes_them():
    """Whole ones without a point, however deep; what has none of them is not copied."""
    assert as_json({"a": [1.0, 2.5, {"b": 1e3}], "c": True}) == '{"a":[1,2.5,{"b":1000}],"c":true}'
    same = {"a": [1, "1.0", 2.5, None], "b": 1e300}
    assert with_whole_numbers(same) is same
