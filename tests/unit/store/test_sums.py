"""Sums of cases over their trials."""

from __future__ import annotations

import pytest

from evenhand.core.numbered import NumberedTexts
from evenhand.stats.tallies import tally_of
from evenhand.store.sums import CaseSums, Row


def test_every_repeat_of_a_case_is_counted():
    """Three trials of one case, two passed and one failed; a trial to which nothing applied is in no count."""
    rows: list[Row] = [
        (0, "a", 0, "pass", 1.0, None),
        (1, "a", 0, "pass", 1.0, None),
        (2, "a", 0, "fail", 0.0, None),
        (3, "a", 0, "not_applicable", None, None),
        (4, "b", 0, "error", None, None),
        (5, "b", 0, "error", None, None),
    ]
    sums = CaseSums(rows)
    tallies = [
        (one.case, one.tally.passed, one.tally.failed, one.tally.errors) for one in sums.tallies()
    ]
    assert tallies == [("a", 2, 1, 0), ("b", 0, 0, 2)]
    assert list(sums.scores(0)) == [(2.0, 3, 0), (0.0, 0, 2)]


def test_a_score_that_nobody_knows_is_counted_whatever_the_trial_came_to():
    """A trial fails by one expectation while another is in error: its score may be anything."""
    rows: list[Row] = [
        (0, "a", 0, "fail", None, None),
        (1, "a", 0, "pass", 1.0, None),
        (2, "a", 0, "not_applicable", None, None),
        (3, "a", 0, "error", None, None),
    ]
    assert list(CaseSums(rows).scores(0)) == [(1.0, 1, 2)]


def test_a_case_that_nobody_was_asked_about_has_no_latency():
    """It is not one that was answered at once."""
    rows: list[Row] = [
        (0, "a", 0, "pass", 1.0, 0.5),
        (1, "a", 0, "pass", 1.0, 1.5),
        (2, "b", 0, "error", None, None),
        (3, "c", 1, "pass", 1.0, 2.0),
    ]
    sums = CaseSums(rows)
    assert list(sums.latencies(0)) == [(2.0, 2, 0)]
    assert list(sums.latencies(1)) == [(2.0, 1, 0)]
    assert list(sums.latencies(2)) == []


def test_a_case_is_where_its_first_trial_is():
    """Among those that came to something, however many repeats it has."""
    rows: list[Row] = [
        (3, "a", 0, "not_applicable", None, None),
        (4, "a", 0, "fail", 0.0, None),
        (5, "a", 0, "pass", 1.0, None),
        (6, "a", 1, "pass", 1.0, None),
    ]
    assert [(one.variant, one.first) for one in CaseSums(rows).tallies()] == [(0, 4), (1, 6)]


def test_what_cases_came_to_is_had_without_looking_each_of_them_up(monkeypatch: pytest.MonkeyPatch):
    """A large run has hundreds of thousands of them. Some came to nothing, and a column lacks the last ones."""
    rows: list[Row] = [
        (0, "a", 0, "pass", 1.0, 0.5),
        (1, "a", 1, "fail", 0.0, None),
        (2, "b", 0, "not_applicable", None, None),
        (3, "c", 0, "error", None, None),
        (4, "d", 1, "pass", 1.0, None),
    ]
    sums = CaseSums(rows)
    first, second, third = (sums.of_column(variant) for variant in range(3))
    expected = {"a": tally_of(1, 0, 0), "c": tally_of(0, 0, 1)}
    assert {case: first[case] for case in first} == expected

    def no_look(*_: object) -> int:
        raise AssertionError

    monkeypatch.setattr(NumberedTexts, "find", no_look)
    assert dict(first.items()) == expected
    assert list(first.values()) == list(expected.values())
    assert [len(each) for each in (first, second, third)] == [2, 2, 0]
    assert [list(sums.scores(variant)) for variant in range(3)] == [
        [(1.0, 1, 0), (0.0, 0, 1)],
        [(0.0, 1, 0), (1.0, 1, 0)],
        [],
    ]
    assert list(sums.scores_by_case(1)) == [("a", (0.0, 1, 0)), ("d", (1.0, 1, 0))]
    assert list(sums.latencies_by_case(0)) == [("a", (0.5, 1, 0))]
