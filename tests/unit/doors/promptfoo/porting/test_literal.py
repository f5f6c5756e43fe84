"""Values and calls as Python writes them."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.doors.promptfoo.porting.literal import WIDTH, Bracketed, call, laid, literal

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@pytest.mark.thorough
@given(VALUES, st.integers(0, 60))
def test_what_is_written_is_read_back(value: Any, indent: int):
    """Whatever is in it, and however little room there is."""
    code = f"({laid(literal(value), indent)}\n)"
    assert eval(code, {"float": float}) == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain", '"plain"'),
        ("it's", '"it\'s"'),
        ('say "a"', "'say \"a\"'"),
        ("one\ntwo", '"one\\ntwo"'),
        ("one\ntwo\nthree\n", '(\n    "one\\n"\n    "two\\n"\n    "three\\n"\n)'),
        (("a",), '("a",)'),
        ({"a": [1, None, True]}, '{"a": [1, None, True]}'),
    ],
)
def test_texts_have_double_quotes_and_their_own_lines(value: object, written: str):
    """As a formatter would have them; a text of three lines stands on three."""
    assert laid(literal(value)) == written


def test_what_is_too_long_is_broken_into_lines():
    """Arguments stand on the next line where they fit, else each has a line; so do items of a list, always."""
    short = call("Name", literal("x" * 60), key="y" * 25)
    assert laid(short) == f'Name(\n    "{"x" * 60}", key="{"y" * 25}"\n)'
    long = call("Name", literal("x" * 60), key={"z": "y" * 40})
    assert laid(long) == f'Name(\n    "{"x" * 60}",\n    key={{"z": "{"y" * 40}"}},\n)'
    items = Bracketed("[", [literal("a" * 50), literal("b" * 50)], "]")
    assert laid(items).count("\n") == 3
    for node in (short, long, items):
        assert all(len(line) <= WIDTH for line in laid(node).splitlines())
        ast.parse(laid(node))
