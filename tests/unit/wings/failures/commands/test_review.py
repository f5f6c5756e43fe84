"""The commands with which people review outputs: drawn, written to a file, filled in, read back and listed."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from tests.runs import Make, result

from evenhand.core.errors import UsageError
from evenhand.wings.failures.commands.review import author_of, draw, list_, notes


def done(command: click.Command, *words: object) -> Result:
    """What a command says; what is wrong with its words is raised."""
    ended = CliRunner().invoke(command, list(map(str, words)), standalone_mode=False)
    if ended.exception is not None:
        raise ended.exception
    return ended


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Writes rows to a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


async def test_drawn_outputs_are_reviewed_in_a_file_and_listed(make_run: Make, tmp_path: Path):
    """Who has reviewed some is given the others."""
    run = await make_run([result(i, ok=i > 1, output=f"text {i}") for i in range(4)])
    sheet = tmp_path / "notes.csv"
    with pytest.raises(UsageError, match=r"no outputs|draw"):
        done(notes, run.path, "--to", sheet, "--by", "ann")
    done(draw, run.path, "-n", 4, "--seed", 7)
    told = done(notes, run.path, "--to", sheet, "--by", "ann")
    assert f"4 outputs to review written to {sheet}" in told.output
    rows = sorted(rows_of(sheet), key=lambda row: row["output_id"])
    assert [row["output"] for row in rows] == [f"text {i}" for i in range(4)]
    rows[0] |= {"verdict": "FAIL", "note": " too late "}
    rows[1] |= {"verdict": "pass"}
    write_rows(sheet, rows)
    told = done(notes, run.path, "--from", sheet, "--by", "ann")
    assert "2 outputs reviewed by ann; next: evenhand review list" in told.output
    again = tmp_path / "again.csv"
    done(notes, run.path, "--to", again, "--by", "ann")
    assert {row["output"] for row in rows_of(again)} == {"text 2", "text 3"}
    assert "too late" in done(list_, run.path).output
    document = json.loads(done(list_, run.path, "--json").stdout)
    assert document["schema"] == "evenhand.review/1"


async def test_a_file_is_written_or_read_and_not_both_at_once(make_run: Make, tmp_path: Path):
    """Neither of them is touched."""
    run = await make_run([result(0)])
    with pytest.raises(UsageError, match=r"--to doesn't go with --from"):
        done(notes, run.path, "--to", tmp_path / "a.csv", "--from", tmp_path / "b.csv")
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("name", [" ", "a\nb", "\x1b[31m", "x" * 1000])
def test_a_name_that_no_file_could_hold_is_refused(name: str):
    """One line that can be printed."""
    with pytest.raises(UsageError, match="is not a name"):
        author_of(name)


def test_a_name_is_taken_without_the_blanks_around_it():
    """Without one, it is the user's own."""
    assert author_of(" Ann ") == "Ann"
    assert author_of("")
