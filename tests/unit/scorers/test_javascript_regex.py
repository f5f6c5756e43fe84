"""JavaScript's regular expressions match in Python what they match in JavaScript."""

from __future__ import annotations

import pytest

from evenhand.core.errors import ScoreError
from evenhand.scorers.javascript_regex import (
    _idle,
    care,
    close,
    javascript_pattern,
    needs_care,
    search_apart,
)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\p{L}+", "é", False),
        (r"^\p\P$", "pP", True),
        (r"a$", "a\n", False),
        (r"a$", "a", True),
        (r"^\d+$", "٣", False),
        (r"\d", "3", True),
        (r"^\w$", "é", False),
        (r"^\s$", "\u00a0", True),
        (r"^[\s]$", "\ufeff", True),
        (r"^\S$", "\u00a0", False),
        (r"a.c", "a\rc", False),
        (r"a.c", "a\u2028c", False),
        (r"a.c", "abc", True),
        (r"[^]b", "\nb", True),
        (r"(?<year>\d{4})-\k<year>", "2020-2020", True),
        (r"(?<=a)b", "ab", True),
        (r"(?<!a)b", "ab", False),
        (r"\-\/\e", "-/e", True),
        (r"\u{1F600}", "😀", True),
        (r"\u0041", "A", True),
        (r"x{,2}y", "x{,2}y", True),
        (r"x{,2}y", "xxy", False),
        (r"[[]", "[", True),
        (r"[$.]", "$", True),
        (r"(?:a|b)c", "bc", True),
        (r"\bcat\b", "a cat.", True),
        (r"\A", "A", True),
    ],
)
def test_patterns_match_as_in_javascript(pattern, text, found):
    """Where the two languages differ, JavaScript's reading counts."""
    assert (javascript_pattern(pattern).search(text) is not None) is found


@pytest.mark.parametrize(
    "pattern", ["(", "*a", "(?i)a", "a++", "(?>a)", "(?P<x>a)", "(?#c)a", "a{2}+", "[z-a]", "(?<x"]
)
def test_what_is_no_pattern_in_javascript_is_refused(pattern):
    """Also what only Python has: promptfoo would fail it, silently."""
    with pytest.raises(ScoreError, match="is not a regular expression"):
        javascript_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "level"),
    [
        ("abc", 0),
        (r"\d+", 0),
        (r"(foo|bar)", 0),
        (r"[(+*]+", 0),
        (r"\(a+\)", 0),
        (r"a+b+", 1),
        (r"(a+)+", 2),
        (r"((a)|(b))*", 2),
        (r"(?:a*b){2,}", 2),
        (r"(x(a+))*", 2),
        (r"(a{1,50}){1,50}", 2),
    ],
)
def test_care_is_for_patterns_that_can_backtrack(pattern, level):
    """Plain patterns are searched for at once; a repeat inside a repeat is not."""
    assert care(pattern) == level


def test_two_repeats_need_care_on_long_texts_only():
    """What is slow on long texts is quick on short ones."""
    assert not needs_care("a+b+", "x" * 100)
    assert needs_care("a+b+", "x" * 10_000)


def test_a_search_apart_can_be_stopped_and_the_next_one_still_works():
    """A process that was stopped is replaced."""
    assert search_apart("(b)", "abc") == (1, 2)
    assert search_apart("x", "abc") is None
    assert isinstance(search_apart("(a+)+$", "a" * 50 + "b"), str)
    assert search_apart("\ud800", "a\ud800") == (1, 2)


def test_a_process_that_died_meanwhile_is_an_answer_of_its_own():
    """Somebody may kill it; the next search starts another."""
    assert search_apart("a", "a") == (0, 1)
    _idle[-1].kill()
    _idle[-1].wait()
    assert isinstance(search_apart("a", "a"), str)
    assert search_apart("a", "a") == (0, 1)
    close()
    assert not _idle
