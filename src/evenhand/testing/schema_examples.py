"""A value that a JSON Schema describes, as an example for people: what a scripted reply has to look like."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evenhand.core.json_shapes import as_array, as_mapping, is_mapping

_DEEPEST = 3
"""How often a reference is followed into itself."""
_OF_TYPE: Mapping[str, Any] = {
    "string": "…",
    "number": 1,
    "integer": 1,
    "boolean": True,
    "null": None,
}


def example_of(schema: Mapping[str, Any]) -> str:
    """The shortest value that shows all keys, as JSON; an array has one item.

    >>> example_of({"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["x", "y"]}}}})
    '{"a": ["x"]}'
    """
    return json.dumps(_example(schema, schema, _DEEPEST), ensure_ascii=False)


def _example(part: object, whole: Mapping[str, Any], depth: int) -> Any:
    schema = as_mapping(part)
    if isinstance(name := schema.get("$ref"), str):
        if depth == 0:  # a schema may refer to itself
            return "…"
        target: object = whole
        for key in name.removeprefix("#/").split("/"):
            target = as_mapping(target).get(key)
        return _example(target, whole, depth - 1)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "anyOf", "oneOf", "allOf"):
        if first := [*as_array(schema.get(key))][:1]:
            return first[0] if key == "enum" else _example(first[0], whole, depth)
    if is_mapping(properties := schema.get("properties")):
        return {name: _example(one, whole, depth) for name, one in properties.items()}
    if "items" in schema:
        return [_example(schema["items"], whole, depth)]
    kinds = schema.get("type")
    return _OF_TYPE.get(str(kinds[0] if isinstance(kinds, list) else kinds), "…")
