"""Cases by number: each once, whatever its text."""

from __future__ import annotations

from evenhand.analysis.comparison.case_values import CaseIds


def test_cases_are_numbered_as_they_are_met():
    """A hundred of them twice, empty and half a character among them; the first name is kept."""
    ids = CaseIds()
    cases = ["", "\ud800", "ä\0b", *(f"case {i}" for i in range(97))]
    for turn in (0, 1):
        for number, case in enumerate(cases):
            assert ids.named(case, "first" if case == "\ud800" and not turn else case) == number
    assert len(ids) == 100
    assert list(ids) == cases
    assert (ids.name(1), ids.name(2)) == ("first", "ä\0b")
    assert ids.find("case 96") == 99
    assert ids.find("case 97") == -1
