"""Assertions on markup: HTML and XML."""

from __future__ import annotations

from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Scorer
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.languages.templates.printing import printed
from evenhand.scorers.markup import ContainsHtml, ContainsXml, IsHtml, IsXml

GROUP = "markup"


def _html(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell, value
    return IsHtml() if assertion.type == "is-html" else ContainsHtml()


def _xml(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell
    elements = tuple(tuple(path.split(".")) for path in _elements(assertion, value))
    return IsXml(elements) if assertion.type == "is-xml" else ContainsXml(elements)


def _elements(assertion: Assertion, value: object) -> list[str]:
    if isinstance(value, str):
        return [path.strip() for path in value.split(",")]
    elements: object = value
    if is_mapping(value) and value:
        elements = value.get("requiredElements")
        if not is_array(elements):
            raise ScoreError(
                f"the value of '{assertion.written}' is {value!r}",
                hint="Write the elements: a.b, c.d; or a list of them; or {requiredElements: […]}.",
            )
    return [printed(item) for item in elements] if is_array(elements) else []


_PATHS = "elements as a.b, c.d, or a list; optional"
KINDS = (
    Kind(
        name="is-html",
        group=GROUP,
        about="the whole output is HTML, with no text outside of elements",
        make=_html,
        optional=True,
    ),
    Kind(
        name="contains-html",
        group=GROUP,
        about="the output has HTML in it",
        make=_html,
        optional=True,
    ),
    Kind(
        name="is-xml",
        group=GROUP,
        about="the whole output is well-formed XML, and has these elements",
        make=_xml,
        takes=_PATHS,
        optional=True,
    ),
    Kind(
        name="contains-xml",
        group=GROUP,
        about="the output has XML in it that has these elements",
        make=_xml,
        takes=_PATHS,
        optional=True,
    ),
)
