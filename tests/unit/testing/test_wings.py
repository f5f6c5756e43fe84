"""Tests of the kit with which a package tests its own wing, and of what doctor says of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.cli.plugin_listing import checked
from evenhand.testing import check_wing
from evenhand.wings import Importer, Wing


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("evenhand.wings:nothing", "'evenhand.wings:nothing' is there: AttributeError"),
        ("evenhand.no_module:read", "'evenhand.no_module:read' is there: ModuleNotFoundError"),
    ],
)
def test_a_part_that_can_t_be_imported_breaks_a_promise(place: str, words: str):
    """As an AssertionError that names the part, and no error of Python's import."""
    wing = Wing(name="acme", summary="Nothing yet.", importers={"acme": Importer(place, "a.csv")})
    with pytest.raises(AssertionError) as caught:
        check_wing(wing)
    assert words in str(caught.value)


def test_doctor_names_a_part_of_a_package_s_wing_that_can_t_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The record can be loaded; what it names is not there."""
    (tmp_path / "acme_parts.py").write_text(
        "from evenhand.wings import Importer, Wing\n"
        "WING = Wing(name='acme_parts', summary='Reads.',\n"
        "            importers={'acme_parts': Importer('acme_parts:reed', 'a.csv')})\n"
    )
    about = tmp_path / "acme_parts-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-parts\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[evenhand.wings]\nacme_parts = acme_parts:WING\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    problems = {one.name: what for one, what, _ in checked()}
    assert "acme_parts:reed cannot be loaded: AttributeError" in problems["acme_parts"]
