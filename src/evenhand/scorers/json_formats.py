"""Formats of JSON Schema, each as ajv-formats 3 checks it, by which promptfoo goes: `uuid`, `url`, `int32` and so on.

The validator knows fewer of them, and takes whatever it doesn't know for right. Those that it checks as ajv does are
left to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any

from evenhand.core.json_shapes import is_array, is_mapping

_TIME = re.compile(
    r"(\d\d):(\d\d):(\d\d(?:\.\d+)?)(z|([+-])(\d\d)(?::?(\d\d))?)?", re.IGNORECASE | re.ASCII
)
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_OCTET = r"(?:25[0-5]|2[0-4]\d|[01]?\d\d?)"
_CHAR = r"(?:[a-z0-9\-._~!$&'\"()*+,;=:@]|%[0-9a-f]{2})"
_USER = r"(?:(?:[a-z0-9\-._~!$&'()*+,;=:]|%[0-9a-f]{2})*@)?"
_LETTER = "[a-z0-9\u00a1-\uffff]"
_HOST = (
    r"(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})"
    r"(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))"
)


_LONGEST_REGEX = 10_000
"""Longer ones take Python seconds to read, and nobody writes them."""


def _pattern(text: str) -> Callable[[str], bool]:
    pattern = re.compile(text, re.IGNORECASE | re.ASCII)
    return lambda value: pattern.fullmatch(value) is not None


def _is_time(text: str, *, with_zone: bool) -> bool:
    match = _TIME.fullmatch(text)
    if match is None or (with_zone and not match[4]):
        return False
    hour, minute, second = int(match[1]), int(match[2]), float(match[3])
    away = -1 if match[5] == "-" else 1
    zone_hour, zone_minute = int(match[6] or 0), int(match[7] or 0)
    if zone_hour > 23 or zone_minute > 59:
        return False
    if hour <= 23 and minute <= 59 and second < 60:
        return True
    # A leap second: 23:59:60 in UTC.
    minute -= zone_minute * away
    hour -= zone_hour * away + (minute < 0)
    return hour in (23, -1) and minute in (59, -1) and second < 61


def _is_date_time(text: str, *, with_zone: bool) -> bool:
    day, *rest = re.split(r"[tT\s]", text)
    if len(rest) != 1 or re.fullmatch(r"\d{4}-\d\d-\d\d", day, re.ASCII) is None:
        return False
    try:
        # Any leap year will do for the year 0, which Python has not.
        date.fromisoformat(day.replace("0000-", "2000-", 1))
    except ValueError:
        return False
    return _is_time(rest[0], with_zone=with_zone)


def _is_regex(text: str) -> bool:
    if len(text) > _LONGEST_REGEX:
        return False
    from evenhand.core.errors import ScoreError  # noqa: PLC0415 (seldom wanted)
    from evenhand.scorers.javascript_regex import javascript_pattern  # noqa: PLC0415

    try:
        javascript_pattern(text)
    except (ScoreError, re.error):
        return False
    return True


def _anything(_: str) -> bool:
    return True


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date-time": lambda text: _is_date_time(text, with_zone=True),
    "iso-time": lambda text: _is_time(text, with_zone=False),
    "iso-date-time": lambda text: _is_date_time(text, with_zone=False),
    # Its letters are capitals, unlike those of all others.
    "duration": lambda text: (
        re.fullmatch(
            r"P(?!$)((\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?|(\d+W)?)", text, re.ASCII
        )
        is not None
    ),
    "uri-reference": _pattern(
        rf"(?:[a-z][a-z0-9+\-.]*:)?(?:/?/{_USER}(?:\[[0-9a-fv.:~!$&'()*+,;=_-]+\]|(?:{_OCTET}\.){{3}}{_OCTET}"
        rf"|(?:[a-z0-9\-._~!$&'\"()*+,;=]|%[0-9a-f]{{2}})*)(?::\d*)?(?:/{_CHAR}*)*|/(?:{_CHAR}+(?:/{_CHAR}*)*)?"
        rf"|{_CHAR}+(?:/{_CHAR}*)*)?(?:\?(?:{_CHAR}|[/?])*)?(?:\#(?:{_CHAR}|[/?])*)?"
    ),
    "uri-template": _pattern(
        r"(?:(?:[^\x00-\x20\"'<>%\\^`{|}]|%[0-9a-f]{2})|\{[+#./;?&=,!@|]?(?:[a-z0-9_]|%[0-9a-f]{2})+(?::[1-9][0-9]{0,3}|\*)?"
        r"(?:,(?:[a-z0-9_]|%[0-9a-f]{2})+(?::[1-9][0-9]{0,3}|\*)?)*\})*"
    ),
    "url": _pattern(
        rf"(?:https?|ftp)://(?:\S+@)?(?:{_HOST}|(?:(?:{_LETTER}+-)*{_LETTER}+)(?:\.(?:{_LETTER}+-)*{_LETTER}+)*"
        "(?:\\.(?:[a-z\u00a1-\uffff]{2,})))(?::\\d{2,5})?(?:/[^\\s]*)?"
    ),
    "email": _pattern(rf"{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+{_LABEL}"),
    "hostname": _pattern(
        r"(?=.{1,253}\.?$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-0-9a-z]{0,61}[0-9a-z])?)*\.?"
    ),
    "regex": _is_regex,
    "uuid": _pattern(r"(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    "json-pointer-uri-fragment": _pattern(
        r"\#(?:/(?:[a-z0-9_\-.!$&'()*+,;:=@]|%[0-9a-f]{2}|~0|~1)*)*"
    ),
    "byte": lambda text: any(
        re.fullmatch(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", line)
        for line in text.split("\n")
    ),
    "password": _anything,
    "binary": _anything,
}
"""Formats of texts that the validator doesn't know, or checks otherwise."""

_NUMBERS: Mapping[str, Mapping[str, object]] = {
    "int32": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
    "int64": {"type": "integer"},
    "float": {},
    "double": {},
}
"""Formats of numbers, as the schema that a number has to fit."""

_OF_VALIDATOR = frozenset(
    "date time uri ipv4 ipv6 json-pointer relative-json-pointer idn-email idn-hostname iri iri-reference".split()
)

NAMES = frozenset({*_OF_VALIDATOR, *FORMATS, *_NUMBERS})
"""All formats that are checked."""

_SCHEMAS = (
    "items",
    "additionalItems",
    "contains",
    "additionalProperties",
    "propertyNames",
    "if",
    "then",
    "else",
    "not",
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_MAPS = ("properties", "patternProperties", "definitions", "$defs", "dependentSchemas")


def inner_schemas(schema: Mapping[str, Any]) -> Iterator[object]:
    """The schemas that stand inside a schema."""
    yield from (schema[key] for key in _SCHEMAS if is_mapping(schema.get(key)))
    for key in _LISTS:
        if is_array(schema.get(key)):
            yield from schema[key]
    for key in _MAPS:
        if is_mapping(schema.get(key)):
            yield from schema[key].values()


def unknown_format(schema: object) -> str:
    """The first format that a schema names and nobody knows; empty for none."""
    if not is_mapping(schema):
        return ""
    name = schema.get("format")
    if isinstance(name, str) and name not in NAMES:
        return name
    return next(filter(None, map(unknown_format, inner_schemas(schema))), "")


def spelt_out(schema: Any) -> Any:
    """A schema in which `nullable` and the formats of numbers are written in keywords that the validator knows."""
    if not is_mapping(schema):
        return schema
    plain: dict[str, Any] = dict(schema)
    for key in _SCHEMAS:
        if key in plain:
            plain[key] = spelt_out(plain[key])
    for key in _LISTS:
        if is_array(plain.get(key)):
            plain[key] = [spelt_out(one) for one in plain[key]]
    for key in _MAPS:
        if is_mapping(plain.get(key)):
            plain[key] = {name: spelt_out(one) for name, one in plain[key].items()}
    if plain.get("nullable") is True and "type" in plain:
        types = plain["type"] if is_array(plain["type"]) else [plain["type"]]
        plain["type"] = [*types, *(["null"] if "null" not in types else [])]
    limits = _NUMBERS.get(str(plain.get("format")))
    if limits:
        whole = {"if": {"type": "number"}, "then": limits}
        plain["allOf"] = [*(plain["allOf"] if is_array(plain.get("allOf")) else []), whole]
    return plain
