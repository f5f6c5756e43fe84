"""What an import lists can be told apart."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.run import RunMeta, Totals
from evenhand.doors.importers.import_report import ImportedFile, run_lines


def test_long_titles_that_begin_alike_are_listed_by_what_they_differ_in():
    """One line for each run, in columns."""
    runs = [
        ImportedFile(
            Path(f"{place}.db"),
            RunMeta(
                id=f"{place}",
                title=f"Support answers questions about returns in {place}",
                source="",
                fingerprint="",
                planned=1,
                case_count=1,
                repeats=1,
                variants=(),
                created_at=0.0,
            ),
            Totals(),
            new=True,
        )
        for place in ("shops", "offices")
    ]
    shops, offices = run_lines(runs, ["a", "b"])
    assert shops.removeprefix("  a") != offices.removeprefix("  b")
    assert ("in shops" in shops, "in offices" in offices) == (True, True)
