"""What a case says and is asked, by its place: also of a place that a column doesn't have."""

from __future__ import annotations

from dataclasses import replace

from tests.runs import result

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
