"""Reasons and errors show what a grader returned as its language writes it."""

from __future__ import annotations

import pytest

from evenhand.core.errors import CodeError
from evenhand.scorers.python_code import verdict_of

OTHERS: tuple[str, ...] = ("JavaScript", "Ruby")


@pytest.mark.parametrize("language", OTHERS)
def test_a_bool_is_written_as_its_language_writes_it(language: str):
    """Python's True and False are for Python."""
    assert verdict_of(False, None, "g", language=language).reason == "g returned false"
    assert verdict_of("true", None, "g", language=language).reason == "g returned true"
    assert verdict_of(False, None, "g").reason == "g returned False"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"score": 1, "reason": "r"}, "a hash without 'pass'"),
        ({"pass": "x", "score": 1, "reason": "r"}, '"x", which is neither true nor false'),
        ({"pass": True, "score": False, "reason": "r"}, "'score': false, which is not a number"),
    ],
)
def test_what_is_no_verdict_is_told_in_its_words(value: object, says: str):
    """What to return as well."""
    with pytest.raises(CodeError, match=says) as caught:
        verdict_of(value, None, "g", language="Ruby")
    assert "or a hash with" in caught.value.hint
