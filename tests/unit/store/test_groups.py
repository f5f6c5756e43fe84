"""What a case belongs to, by a variable or a key of its metadata."""

from __future__ import annotations

import pytest

from evenhand.store.groups import cluster_in


@pytest.mark.parametrize("blank", [None, "", "  ", "\t"])
def test_a_case_whose_cell_is_empty_stands_alone(blank: str | None):
    """In a table it has the column all the same; together, such cases would count as one document."""
    assert cluster_in("document", {"document": blank}, {}) == ""
    assert cluster_in("document", {}, {"document": blank}) == ""


@pytest.mark.parametrize("value", [0, False, "0", "terms", ["a"]])
def test_what_has_a_value_belongs_to_it(value: object):
    """Also to one that counts as false."""
    assert cluster_in("document", {"document": value}, {}) != ""
