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
        name="equals",
        group=GROUP,
        about="the output is exactly this; for an object or list, JSON equal to it",
        make=_equals,
        takes="text, object or list",
    ),
    Kind(
        name="contains",
        group=GROUP,
        about="the output has this text in it",
        make=_contains,
        takes="text",
    ),
    Kind(
        name="icontains",
        group=GROUP,
        about="the same, in upper or lower case",
        make=_contains,
        takes="text",
    ),
    Kind(
        name="contains-any",
        group=GROUP,
        about="the output has one of these texts in it",
        make=_any,
        takes=_LIST,
    ),
    Kind(
        name="contains-all",
        group=GROUP,
        about="the output has each of these texts in it",
        make=_all,
        takes=_LIST,
    ),
    Kind(
        name="icontains-any",
        group=GROUP,
        about="one of them, in upper or lower case",
        make=_any,
        takes=_LIST,
    ),
    Kind(
        name="icontains-all",
        group=GROUP,
        about="each of them, in upper or lower case",
        make=_all,
        takes=_LIST,
    ),
    Kind(
        name="starts-with",
        group=GROUP,
        about="the output begins with this text",
        make=_starts,
        takes="text",
    ),
    Kind(
        name="regex",
        group=GROUP,
        about="something in the output matches this JavaScript regular expression",
        make=_regex,
        takes="pattern",
    ),
)
