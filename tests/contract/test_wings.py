"""Our own wings keep the promises that a package's has to keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.wing import OURS, Wing, our_wings
from evenhand.testing import check_wing

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("wing", list(our_wings()), ids=lambda wing: wing.name)
def test_each_of_our_wings_keeps_its_promises(wing: Wing) -> None:
    """Whatever its record names is there, and is what it has to be."""
    check_wing(wing)


def test_every_folder_of_wings_has_a_record() -> None:
    """Which is how it is found, and is named as the folder is."""
    folders = {p.parent.name for p in (ROOT / "src/evenhand/wings").glob("*/__init__.py")}
    assert folders == set(OURS) == {wing.name for wing in our_wings()}
