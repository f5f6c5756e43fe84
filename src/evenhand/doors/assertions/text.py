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


def _contains(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell
    return Contains(one_text(value, lists=_LISTS), ignore_case=assertion.type == "icontains")


def _any(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell
    return ContainsAny(tuple(texts(value)), assertion.type == "icontains-any")


def _all(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell
    return ContainsAll(tuple(texts(value)), assertion.type == "icontains-all")


def _equals(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del assertion, cell
    return Equals(value)


def _starts(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del assertion, cell
    return StartsWith(one_text(value))


def _regex(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del assertion, cell
    pattern = one_text(value)
    try:
        javascript_pattern(pattern)
    except ScoreError as error:  # a pattern is code, and this is a fault in it
        raise CodeError(error.message, hint=error.hint) from None
    return Matches(pattern)


_LIST = "list, or text with commas"
KINDS = (
    Kind(
        "equals",
        GROUP,
        "the output is exactly this; for an object or list, JSON equal to it",
        _equals,
        "text, object or list",
    ),
    Kind("contains", GROUP, "the output has this text in it", _contains, "text"),
    Kind("icontains", GROUP, "the same, in upper or lower case", _contains, "text"),
    Kind("contains-any", GROUP, "the output has one of these texts in it", _any, _LIST),
    Kind("contains-all", GROUP, "the output has each of these texts in it", _all, _LIST),
    Kind("icontains-any", GROUP, "one of them, in upper or lower case", _any, _LIST),
    Kind("icontains-all", GROUP, "each of them, in upper or lower case", _all, _LIST),
    Kind("starts-with", GROUP, "the output begins with this text", _starts, "text"),
    Kind(
        "regex",
        GROUP,
        "something in the output matches this JavaScript regular expression",
        _regex,
        "pattern",
    ),
)
