"""Assertions on the text of an output."""

from __future__ import annotations

from typing import Any

from evenhand.core.errors import CodeError, ScoreError
from evenhand.core.expect import Scorer
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.doors.assertions.values import one_text, texts
from evenhand.scorers.javascript_regex import javascript_pattern
from evenhand.scorers.text import Contains, ContainsAll, ContainsAny, Equals, Matches, StartsWith

GROUP = "text"
_LISTS = "contains-any and contains-all"


def _regex(_assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    pattern = one_text(value)
    try:
        javascript_pattern(pattern)
    except ScoreError as error:  # a pattern is code, and this is a fault in it
        raise CodeError(error.message, hint=error.hint) from None
    return Matches(pattern)


def _contains(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    return Contains(one_text(value, lists=_LISTS), ignore_case=assertion.type == "icontains")


def _any(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    return ContainsAny(tuple(texts(value)), assertion.type == "icontains-any")


def _all(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    return ContainsAll(tuple(texts(value)), assertion.type == "icontains-all")


_LIST = "list, or text with commas"
KINDS = (
    Kind(
        "equals",
        "the output is exactly this; for an object or list, JSON equal to it",
        lambda _a, _cell, value: Equals(value),
        "text, object or list",
    ),
    Kind("contains", "the output has this text in it", _contains, "text"),
    Kind("icontains", "the same, in upper or lower case", _contains, "text"),
    Kind("contains-any", "the output has one of these texts in it", _any, _LIST),
    Kind("contains-all", "the output has each of these texts in it", _all, _LIST),
    Kind("icontains-any", "one of them, in upper or lower case", _any, _LIST),
    Kind("icontains-all", "each of them, in upper or lower case", _all, _LIST),
    Kind(
        "starts-with",
        "the output begins with this text",
        lambda _a, _cell, value: StartsWith(one_text(value)),
        "text",
    ),
    Kind(
        "regex",
        "something in the output matches this JavaScript regular expression",
        _regex,
        "pattern",
    ),
)
