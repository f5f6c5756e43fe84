"""The list of assertion types, and the families that hold them."""

from __future__ import annotations

from importlib import import_module

from evenhand.doors.assertions.kinds import FAMILIES, SUPPORTED, kind_of


def test_each_family_holds_the_types_that_the_list_says():
    """A type that is not listed could never be used; one that is not there could not be made."""
    for family, names in FAMILIES.items():
        module = import_module(f"evenhand.doors.assertions.{family}")
        assert [kind.name for kind in module.KINDS] == names.split()
    assert {kind_of(name).name for name in SUPPORTED} == SUPPORTED
