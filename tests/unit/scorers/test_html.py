"""Whether something is HTML, or has some in it."""

from __future__ import annotations

import pytest

from evenhand.scorers.markup import LONGEST, ContainsHtml, IsHtml


@pytest.mark.parametrize(
    "text",
    [
        "<p>hi</p>",
        "  <div><span>a</span></div>\n",
        "<!DOCTYPE html><html><body>text</body></html>",
        "<br>",
        "<x-card>a</x-card>",
        "<p>never closed",
        "<!-- c --><p>a</p>",
    ],
)
def test_elements_that_html_knows_are_html(text: str):
    """And custom ones, whose names have a hyphen."""
    assert IsHtml().score(text).passed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("text", "outside"),
        ("<p>hi</p> and more", "outside"),
        ("<?xml version='1.0'?><a/>", "XML"),
        ("<foo></foo>", "no element"),
        ("<!-- only -->", "no element"),
        ("<p>" + " " * LONGEST, "too long"),
    ],
)
def test_what_is_not_html_is_told_why(text: str, why: str):
    """In a few words."""
    score = IsHtml().score(text + ("</p>" if why == "too long" else ""))
    assert not score.passed
    assert why in score.reason


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see <p>this</p>", True),
        ("line<br>break", True),
        ("a &amp; b", False),
        ("a < b and c > d", False),
        ("<x>y</x>", True),
        ("List<String>", False),
    ],
)
def test_html_in_a_text_is_told_by_its_signs(text: str, found: bool):
    """Two of them are enough, one may be chance."""
    assert ContainsHtml().score(text).passed is found
