"""Assertions on HTML and XML."""

from __future__ import annotations

from typing import Any

import pytest


async def test_html_is_asked_of_the_whole_and_of_parts(settled: Any):
    """Text around it makes it something that has HTML in it."""
    assert (await settled("is-html", output="<p>hi</p>")).outcome == "pass"
    assert (await settled("is-html", output="see: <p>hi</p>")).outcome == "fail"
    assert (await settled("contains-html", output="see: <p>hi</p>")).outcome == "pass"
    assert (await settled("not-contains-html", output="a < b")).outcome == "pass"


@pytest.mark.parametrize(
    "value", ["a.b, a.c", ["a.b", "a.c"], {"requiredElements": ["a.b", "a.c"]}]
)
async def test_elements_are_written_in_three_ways(settled: Any, value: object):
    """They mean the same."""
    both = "<a><b>1</b><c/></a>"
    assert (await settled("is-xml", value, output=both)).outcome == "pass"
    lacking = await settled("is-xml", value, output="<a><b/></a>")
    assert (lacking.outcome, lacking.reason) == ("fail", "missing: a.c")
    assert (await settled("contains-xml", value, output=f"so: {both}.")).outcome == "pass"


async def test_an_object_without_elements_is_an_error(settled: Any):
    """It would silently want nothing."""
    assert (await settled("is-xml", {"elements": ["a"]}, output="<a/>")).outcome == "error"
