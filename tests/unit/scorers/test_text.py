"""What the questions about text say yes to."""

from __future__ import annotations

import pytest

from evenhand.core.errors import ScoreError
from evenhand.scorers.text import (
    Contains,
    ContainsAll,
    ContainsAny,
    Equals,
    Matches,
    StartsWith,
    quoted,
    same,
    text_of,
)


@pytest.mark.parametrize(
    ("wanted", "output", "passed"),
    [
        ("hello", "hello", True),
        ("hello", "Hello", False),
        ("hello", "hello ", False),
        ("", "", True),
        (5, "5", True),
        (5, "5.0", False),
        (5.0, "5", True),
        (True, "true", True),
        (True, "True", False),
        (None, "null", True),
        ({"a": [1, 2]}, '{ "a": [1, 2.0] }', True),
        ({"a": 1, "b": 2}, '{"b": 2, "a": 1}', True),
        ({"a": 1}, '{"a": true}', False),
        ({"a": 1}, "not json", False),
        ([1, "x"], [1, "x"], True),
        ([1, 2], "[2, 1]", False),
        ({"n": 12345678901234567890}, '{"n": 12345678901234567890}', True),
    ],
)
def test_equals_is_exact_for_text_and_deep_for_json(wanted, output, passed):
    """Text is compared as it is; an object or a list with the JSON that the output is."""
    assert Equals(wanted).score(output).passed is passed


def test_true_is_not_one_and_key_order_does_not_count():
    """JSON values are equal as JSON has it, not as Python has it."""
    assert not same(True, 1)
    assert not same([False], [0])
    assert same({"a": 1.0, "b": [None]}, {"b": (None,), "a": 1})
    assert not same({"a": 1}, {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("scorer", "output", "passed"),
    [
        (Contains("30 days"), "within 30 days.", True),
        (Contains("30 Days"), "within 30 days.", False),
        (Contains("30 DAYS", ignore_case=True), "within 30 days.", True),
        (Contains('"a":1'), {"a": 1.0}, True),
        (ContainsAny(("x", "days")), "30 days", True),
        (ContainsAny(("x", "z")), "30 days", False),
        (ContainsAny(()), "30 days", False),
        (ContainsAny(("DAYS",), ignore_case=True), "30 days", True),
        (ContainsAll(("30", "days")), "30 days", True),
        (ContainsAll(("30", "weeks")), "30 days", False),
        (ContainsAll(()), "30 days", True),
        (ContainsAll(("30", "DAYS"), ignore_case=True), "30 days", True),
        (StartsWith("30"), "30 days", True),
        (StartsWith("days"), "30 days", False),
        (Matches(r"^\d+ days$"), "30 days", True),
        (Matches("weeks"), "30 days", False),
    ],
)
def test_texts_are_found_where_they_are(scorer, output, passed):
    """Each question is answered by the output's text, and the score follows the verdict."""
    score = scorer.score(output)
    assert score.passed is passed
    assert score.value == float(passed)


@pytest.mark.parametrize("scorer", [Contains(""), StartsWith("")])
def test_an_empty_text_to_look_for_is_an_error_and_not_a_pass(scorer):
    """Everything contains the empty text, so asking for it says nothing."""
    with pytest.raises(ScoreError):
        scorer.score("anything")


def test_a_failure_says_what_is_missing():
    """The reason names what was looked for and not found, so that nobody has to diff."""
    assert "weeks" in ContainsAll(("30", "weeks")).score("30 days").reason
    assert "30 days" in Equals("31 days").score("30 days").reason
    assert "31 days" in Equals("31 days").score("30 days").reason


@pytest.mark.parametrize(
    ("scorer", "label"),
    [
        (Equals({"a": 1}), 'equals "{"a":1}"'),
        (Contains("x\ny"), 'contains "x⏎y"'),
        (Contains("x", ignore_case=True), 'icontains "x"'),
        (ContainsAny(("a", "b"), ignore_case=True), 'icontains-any "a, b"'),
        (ContainsAll(("a", "b")), 'contains-all "a, b"'),
        (StartsWith("x"), 'starts-with "x"'),
        (Matches("x+"), 'regex "x+"'),
    ],
)
def test_a_label_is_the_type_and_what_is_wanted(scorer, label):
    """A label fits on one line and begins with the word that the config uses."""
    assert str(scorer) == label


def test_long_labels_are_cut():
    """A label never grows with the text that it quotes."""
    assert len(quoted("x" * 1000)) == 62


def test_outputs_that_are_no_text_are_compact_json_with_whole_numbers():
    """Objects read as JavaScript would write them."""
    assert text_of({"a": [1.0, 2.5, {"b": 3.0}], "c": "1.0"}) == '{"a":[1,2.5,{"b":3}],"c":"1.0"}'
    assert text_of(5.0) == "5"
    assert text_of({"a": "\ud83d"}) == '{"a":"\ud83d"}'


async def test_a_pattern_that_never_ends_is_an_error_within_a_second_or_so(trial):
    """A repeat inside a repeat does not hold up the run."""
    score = Matches(r"^(a+)+$").score("a" * 40 + "b", trial)
    with pytest.raises(ScoreError, match="took longer than 1 s"):
        await score


async def test_a_risky_pattern_that_does_end_scores_like_any_other(trial):
    """Being careful changes nothing about the answer."""
    yes = await Matches(r"(a|b)+c").score("xxababc", trial)
    no = await Matches(r"(a|b)+c").score("xx", trial)
    assert (yes.passed, no.passed) == (True, False)
    assert "ababc" in yes.reason
