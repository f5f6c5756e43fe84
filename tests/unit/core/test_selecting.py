from __future__ import annotations

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.plan import Selection
from evenhand.core.selecting import Selector, condition_of, pattern_of, says


def test_a_pattern_is_found_anywhere_or_refused_with_its_option():
    """No text is no pattern."""
    found = pattern_of("--filter", "b+")
    assert found is not None
    assert found.search("abbc")
    assert pattern_of("--filter", "") is None
    with pytest.raises(UsageError, match=r"--filter-pattern: '\(' is not a regular expression"):
        pattern_of("--filter-pattern", "(")


def test_a_pattern_takes_no_case_without_a_description():
    """Not even one that fits any text; a filter looks at what else the case says."""
    for selection, taken in ((Selection(pattern=".*"), False), (Selection(filter=".*"), True)):
        assert Selector(selection).takes(lambda: (), "", ("x",), {}) is taken
        assert Selector(selection).takes(lambda: (), "named", ("x",), {})


@pytest.mark.parametrize("text", ["team", "=x", ""])
def test_a_condition_is_a_key_and_a_value(text):
    """The value may be empty, and have an equals sign in it."""
    assert condition_of("a=b=c") == ("a", "b=c")
    with pytest.raises(UsageError, match="is not a condition"):
        condition_of(text)


@pytest.mark.parametrize(
    ("value", "wanted", "holds"),
    [
        ("payments", "pay", True),
        (["red", "blue"], "blue", True),
        (("red",), "green", False),
        (True, "true", True),
        (12, "2", True),
        (None, "", False),
    ],
)
def test_metadata_says_so_in_part_or_in_one_item(value, wanted, holds):
    """As promptfoo reads it; what is not there says nothing."""
    assert says({"key": value}, "key", wanted) is holds
    assert says({}, "key", wanted) is False


def test_places_are_counted_after_the_range_and_before_the_sample():
    """A range, of that the first, of these a sample in their order; the same for the same seed."""
    items = list(range(20))
    assert Selector(Selection(range=(5, None), first=3)).placed(items) == [5, 6, 7]
    drawn = Selector(Selection(range=(2, 12), sample=4, seed=3)).placed(items)
    assert (
        drawn == sorted(drawn) == Selector(Selection(range=(2, 12), sample=4, seed=3)).placed(items)
    )
    assert len(set(drawn) & set(range(2, 12))) == 4
    assert Selector(Selection(sample=50)).placed(items) == items
    assert Selector(Selection(first=2)).placed([]) == []
