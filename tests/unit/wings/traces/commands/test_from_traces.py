"""The review of a drawn dataset: the file follows from the draw and from what people decided, and keeps their edits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.wings.traces.test_cases import kept

from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.traces.cases import DrawnCases, drawn_cases, without_left_out
from evenhand.wings.traces.commands.from_traces import DatasetReview, Reviewed


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of three traces."""
    return kept(tmp_path, ("one", ""), ("two", ""), ("three", ""))


def drawn(run: Path) -> DrawnCases:
    """All of its inputs as cases."""
    with RunFile.open(run) as file:
        return drawn_cases(file)


def say(run: Path, place: int, value: str | None, author: str = "ada") -> None:
    """Labels a trace."""
    append_labels(run, [NewLabel(place, "dataset", value, author)])


def inputs(file: Path) -> list[Any]:
    """What the cases of a dataset ask."""
    return [case.input for case in Dataset.read(file)]


@pytest.mark.parametrize("ending", ["jsonl", "json", "yaml", "csv"])
def test_what_is_left_out_goes_out_of_the_file_and_can_come_back(
    run: Path, tmp_path: Path, ending: str
):
    """All of it, too. In whichever format."""
    file = tmp_path / f"cases.{ending}"
    review = DatasetReview(run, drawn(run), file)
    assert review.write() == Reviewed(3, 0, 0)
    for place in range(3):
        say(run, place, "leave out")
        assert review.write() == Reviewed(2 - place, 0, place + 1)
    say(run, 1, None)
    say(run, 2, "keep")
    assert review.write() == Reviewed(2, 1, 1)
    assert inputs(file) == ["two", "three"]
    two, three = Dataset.read(file)
    assert "reviewed_by" not in two.metadata
    assert three.metadata["reviewed_by"] == "ada"


def test_who_decided_is_not_said_of_a_decision_that_was_taken_back(run: Path, tmp_path: Path):
    """The file has said so meanwhile."""
    file = tmp_path / "cases.jsonl"
    review = DatasetReview(run, drawn(run), file)
    for value, named in (("keep", True), (None, False)):
        say(run, 0, value)
        review.write()
        assert ("reviewed_by" in next(iter(Dataset.read(file))).metadata) is named


def test_the_last_decision_counts_whoever_made_it(run: Path, tmp_path: Path):
    """Also where nobody reviews, and cases are written anew."""
    review = DatasetReview(run, drawn(run), tmp_path / "cases.jsonl")
    say(run, 0, "keep", "ada")
    say(run, 0, "leave out", "bo")
    say(run, 1, "leave out", "ada")
    say(run, 1, "keep", "bo")
    assert review.write() == Reviewed(2, 1, 1)
    with RunFile.open(run) as file:
        made = without_left_out(drawn_cases(file), file.labels())
    assert [case.input for case in made.cases] == ["two", "three"]
    assert made.places == (1, 2)


def test_what_people_write_into_the_file_meanwhile_stays(run: Path, tmp_path: Path):
    """Into drawn cases, also while they are left out, and as cases of their own."""
    file = tmp_path / "cases.jsonl"
    review = DatasetReview(run, drawn(run), file)
    review.write()
    rows = [{**json.loads(line), "expected": "x"} for line in file.read_text().splitlines()]
    rows.append({"id": "mine", "input": "four"})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    say(run, 0, "leave out")
    assert review.write() == Reviewed(3, 0, 1)
    assert inputs(file) == ["two", "three", "four"]
    say(run, 0, None)
    review.write()
    assert [case.expected for case in Dataset.read(file)] == ["x", "x", "x", None]


def test_a_file_that_is_broken_meanwhile_is_not_written_over(run: Path, tmp_path: Path):
    """The decision is kept, and is carried out with the next one."""
    file = tmp_path / "cases.jsonl"
    review = DatasetReview(run, drawn(run), file)
    review.write()
    whole = file.read_text()
    file.write_text(whole + "{half")
    say(run, 0, "leave out")
    with pytest.raises(UsageError):
        review.write()
    assert file.read_text().endswith("{half")
    file.write_text(whole)
    assert review.write() == Reviewed(2, 0, 1)


def test_a_decision_is_to_keep_or_to_leave_out(run: Path):
    """No other word is one."""
    with pytest.raises(UsageError, match="is not a dataset"):
        say(run, 0, "maybe")
