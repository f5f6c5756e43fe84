from __future__ import annotations

import os

import pytest

from evenhand.core.errors import StoreError
from evenhand.doors.prompt_directories import evidence
from evenhand.doors.prompt_directories.evidence import append, number, read
from evenhand.doors.prompt_directories.listing import usage_of
from evenhand.languages.documents.findings import Findings


def test_rows_come_back_as_they_were_appended(tmp_path):
    """In their order."""
    path = tmp_path / "rows.jsonl"
    for i in range(3):
        append(path, {"i": i, "text": "é\n"})
    assert [row["i"] for row in read(path).rows] == [0, 1, 2]
    assert read(tmp_path / "none").rows == ()


@pytest.mark.parametrize("half", [b'{"i": 1, "te', b"\xff\xfe", b"[1]", b'"text"', b'{"i": NaN}'])
def test_lines_that_are_no_rows_are_told_skipped_and_kept(tmp_path, half):
    """A half-written line stays as it is, and the next row begins a line of its own."""
    path = tmp_path / "rows.jsonl"
    append(path, {"i": 0})
    with path.open("ab") as file:
        file.write(half)
    append(path, {"i": 2})
    found = read(path)
    assert [row["i"] for row in found.rows] == [0, 2]
    assert found.broken == (2,)
    assert half in path.read_bytes()
    findings = Findings()
    found.tell(findings)
    assert "rows.jsonl:2: line 2 is not a row, and is skipped" in str(findings.hints[0])


def test_a_disk_that_is_full_leaves_no_half_of_a_row(tmp_path, monkeypatch):
    """What was written of it is taken back, and the error says so."""
    path = tmp_path / "rows.jsonl"
    append(path, {"i": 0})
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(evidence.os, "write", lambda fd, data: write(fd, data[:5]))
    with pytest.raises(StoreError, match="disk is full"):
        append(path, {"i": 1})
    assert path.read_bytes() == before


def test_a_link_is_not_appended_to(tmp_path):
    """Rows go into the prompt's folder, and nowhere else."""
    (tmp_path / "other").write_text("x", "utf-8")
    path = tmp_path / "rows.jsonl"
    path.symlink_to(tmp_path / "other")
    with pytest.raises(StoreError, match="cannot be written"):
        append(path, {"i": 0})
    assert read(path).broken == (1,)
    assert (tmp_path / "other").read_text() == "x"


def test_usage_is_counted_over_what_was_sent():
    """Verified, refuted and not looked at; medians leave out what is missing."""
    rows = [
        {"sent": True, "verified": True, "duration_ms": 10, "ts": "a"},
        {"sent": True, "verified": False, "duration_ms": 30, "output_words": "x"},
        {"sent": True, "verified": None, "duration_ms": 20, "output_words": 7},
        {
            "sent": True,
            "verified": None,
            "duration_ms": 20,
            "output_words": 0,
            "error": "timed out",
        },
        {"sent": False, "duration_ms": 1000, "ts": "b"},
    ]
    usage = usage_of(rows)
    assert (usage.total, usage.sent, usage.verified, usage.refuted, usage.unverified) == (
        5,
        4,
        1,
        1,
        2,
    )
    assert usage.medians == {"duration_ms": 20, "prompt_words": None, "output_words": 7}
    assert usage.last == "b"
    assert usage_of([]).last == ""


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("a",), 1),
        (("b", 0), 0.5),
        (("b", 7), None),
        (("b", "a"), None),
        (("c", "d"), 2),
        (("c", 0), None),
        (("e",), None),
        (("f",), None),
        (("none",), None),
    ],
)
def test_a_number_in_a_row_is_one_or_none(path, found):
    """Whatever somebody wrote into the file."""
    row = {"a": 1, "b": [0.5], "c": {"d": 2}, "e": "1", "f": True}
    assert number(row, *path) == found
