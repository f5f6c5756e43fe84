"""Assertions on markup: HTML and XML."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.doors.assertions.assertion import Assertion, Kind
from evenhand.languages.templates.printing import printed
from evenhand.scorers.markup import ContainsHtml, ContainsXml, IsHtml, IsXml

GROUP = "markup"


def _elements(assertion: Assertion, value: object) -> tuple[tuple[str, ...], ...]:
    if isinstance(value, str):
        return _split(path.strip() for path in value.split(","))
    elements: object = value
    if is_mapping(value) and value:
        elements = value.get("requiredElements")
        if not is_array(elements):
            raise assertion.misvalued(
                value,
                hint="Write the elements: a.b, c.d; or a list of them; or {requiredElements: […]}.",
            )
    return _split(printed(item) for item in elements) if is_array(elements) else ()


def _split(paths: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split(".")) for path in paths)


_PATHS = "elements as a.b, c.d, or a list; optional"
KINDS = (
    Kind(
        "is-html",
        "the whole output is HTML, with no text outside of elements",
        lambda _a, _cell, _value: IsHtml(),
        optional=True,
    ),
    Kind(
        "contains-html",
        "the output has HTML in it",
        lambda _a, _cell, _value: ContainsHtml(),
        optional=True,
    ),
    Kind(
        "is-xml",
        "the whole output is well-formed XML, and has these elements",
        lambda a, _cell, value: IsXml(_elements(a, value)),
        _PATHS,
        optional=True,
    ),
    Kind(
        "contains-xml",
        "the output has XML in it that has these elements",
        lambda a, _cell, value: ContainsXml(_elements(a, value)),
        _PATHS,
        optional=True,
    ),
)
