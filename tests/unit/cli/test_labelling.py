"""Labelling in a terminal, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.cli.labelling import session_line


@pytest.mark.parametrize(
    ("done", "left", "line"),
    [
        (2, 3, "2 labels by bob; next: evenhand calibrate 01AAAAAAAA"),
        (0, 3, "bob gave no labels; to go on: evenhand label 01AAAAAAAA"),
        (0, 0, "bob has labelled all that was drawn; next: evenhand calibrate 01AAAAAAAA"),
    ],
)
def test_the_end_of_a_session_says_what_was_labelled_and_what_is_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int, left: int, line: str
):
    """It is never "0 labels": who gave none either stopped or had nothing left to do."""
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    runs = tmp_path / "runs"
    runs.mkdir()
    path = runs / "01AAAAAAAAAAAAAAAAAAAAAAAA.db"
    path.touch()
    assert session_line(done, left, "bob", path) == line
