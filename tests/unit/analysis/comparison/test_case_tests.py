"""What a case says and is asked, by its place: also of a place that a column doesn't have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.runs import Make, result

from evenhand import compare
from evenhand.analysis.comparison.case_tests import CaseTests, case_digest


def test_a_place_beyond_the_last_one_says_and_asks_nothing() -> None:
    """A case of the other column alone, the first one after the last of this one too."""
    tests = CaseTests()
    tests.add(0, replace(result(0), content={"input": "a1"}))
    assert tests.part("input", 0) == 0xA1
    for place in (1, 2):
        assert tests.part("input", place) == tests.signature_number(place) == 0
        assert not tests.passed(place)


def test_a_case_has_one_digest_by_what_it_says_whatever_decides_it() -> None:
    """By its recorded digests, and without those by what the trial has; the rule is none of what it says."""
    recorded = replace(result(0, case="c"), content={"input": "a1", "rule": "b2"})
    assert case_digest(recorded) == case_digest(replace(recorded, content={"input": "a1"}))
    assert case_digest(recorded) != case_digest(replace(recorded, content={"input": "a2"}))
    bare = replace(recorded, content={}, input="What?")
    assert case_digest(bare) != case_digest(replace(bare, input="Why?"))
    # What was recorded goes before what is shown, which may be cut.
    assert case_digest(recorded) == case_digest(replace(recorded, input="What?"))


@pytest.mark.parametrize(("form", "is_told"), [("3.11", True), ("ast", False)])
async def test_where_nobody_can_tell_whether_a_users_code_was_edited_that_is_said(
    make_run: Make, form: str, is_told: bool
) -> None:
    """It decides what the application is asked, as a check decides what is asked of its output."""
    contents = ({"user": "a1", f"user {form}": "b1"}, {"user": "a1", "user ast": "b1"})
    runs = [
        await make_run([replace(result(i), content=content) for i in range(6)])
        for content in contents
    ]
    told = str(compare(*(each.path for each in runs), metric="passed"))
    assert ("nobody can tell whether the code of who plays the user was edited" in told) is is_told
