"""Labelling in a terminal, in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.runs import (
    Make,
)
from tests.unit.analysis.trust.labels.test_ranking_labels import drawn_of
from tests.unit.analysis.trust.test_standings import NAME, VARIANTS, drawn

from evenhand.cli.labelling import PairLabelling, session_line
from evenhand.store.runfile import RunFile


@pytest.mark.parametrize(
    ("done", "left", "line"),
    [
        (2, 3, "2 labels by bob; next: evenhand calibrate 01AAAAAAAA"),
        (0, 3, "bob gave no labels; to continue: evenhand label 01AAAAAAAA"),
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


async def test_each_key_is_kept_at_once_and_can_be_undone(make_run: Make):
    """A rule first; then the first, the second, a tie taken back, one skipped, and the end."""
    run = await make_run(drawn(10, [0.2, 1.0, -1.2]), VARIANTS[:3])
    items = drawn_of(run, 6)
    labelling = PairLabelling(
        author="ann", named=True, size=None, seed=1, to=None, source=None, run="latest"
    )
    with CliRunner().isolation(input="Helps most.\n12tusq") as (out, *_):
        labelling.ask(run, NAME, list(items), 6)
        shown = out.getvalue().decode()
    with RunFile.open(run.path) as again:
        assert again.rules() == {NAME: "Helps most."}
        said = [(label.pair, label.answer) for label in again.pair_labels()]
    one, two, three = (item.pair for item in items[:3])
    assert said == [(one, "first"), (two, "second"), (three, "tie"), (three, None)]
    assert "4 of 6" in shown
    assert "better: Helps most." in shown
    assert "2 labels by ann; next: evenhand calibrate" in shown
    assert "judge-1" not in shown
    assert "plain" not in shown
