"""A JSON Schema for an answer, as vendors take it; and the same request without it, for servers that take none.

How this works: models write an answer's keys in the order of its schema, and reasons have to come before verdicts. So a
schema is sent in its own order, and its order counts in the request's identity. Keywords that a vendor refuses are left
out: whoever asked looks at the answer by the whole schema anyway. A server that refuses schemas altogether is sent the
same request without, from then on; what was asked, and so the request's identity, stays the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.json_shapes import is_mapping, is_sequence
from evenhand.core.record import Record

_MAPS = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_FEW = 20

RARE = frozenset(
    """
    $schema default examples minLength maxLength uniqueItems contains minContains maxContains patternProperties
    propertyNames minProperties maxProperties unevaluatedProperties unevaluatedItems
    """.split()
)
"""Keywords that no vendor takes in a schema for answers."""


class WithSchema(Record, frozen=True):
    """A request's body that asks for an answer by a schema, and the same without, as they are sent."""

    body: bytes
    plain: bytes


def identity_with_schema(whole: Mapping[str, Any], key: str, value: object, plain: bytes) -> bytes:
    """A body with one more key, whose value is written in its own order. Otherwise it is canonical JSON.

    Args:
        plain: The body without it, as canonical JSON.
    """
    rest = encode({k: v for k, v in whole.items() if k != key}) if key in whole else plain
    last = json.dumps({key: value}, separators=(",", ":"), allow_nan=False)
    return b"".join((rest[:-1], b",", last[1:].encode()))


def fitted(schema: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    """A schema without these keywords, and with objects that have no other keys than those they list.

    Where the bounds of a whole number are refused, a short range becomes the list of its numbers.
    """
    fields = {key: value for key, value in schema.items() if key not in refused}
    low, high = schema.get("minimum"), schema.get("maximum")
    bounded = schema.get("type") == "integer" and "minimum" in refused and "enum" not in schema
    if bounded and type(low) is int and type(high) is int and 0 <= high - low < _FEW:
        fields["enum"] = list(range(low, high + 1))
    for key, value in fields.items():
        if key in _MAPS and is_mapping(value):
            inner = value
            fields[key] = {name: _inside(item, refused) for name, item in inner.items()}
        elif key in _LISTS and is_sequence(value):
            fields[key] = [_inside(item, refused) for item in value]
        elif key == "items":
            fields[key] = _inside(value, refused)
    if "properties" in fields:
        fields.setdefault("additionalProperties", False)
    return fields


def _inside(value: object, refused: frozenset[str]) -> object:
    return fitted(value, refused) if is_mapping(value) else value


def is_strict(schema: object) -> bool:
    """Whether every object in a schema has all of its keys, and no others, as OpenAI's strict mode wants it."""
    if isinstance(schema, (list, tuple)):
        return all(map(is_strict, schema))
    if not is_mapping(schema):
        return True
    rules = schema
    keys = rules.get("properties")
    if is_mapping(keys):
        listed = set(keys)
        if (
            set(rules.get("required", ())) != listed
            or rules.get("additionalProperties") is not False
        ):
            return False
        return all(map(is_strict, keys.values()))
    return rules.get("type") != "object" and all(map(is_strict, rules.values()))
