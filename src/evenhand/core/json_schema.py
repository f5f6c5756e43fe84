"""What JSON Schemas are put together from: of users' files, and of judges' answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Part = Mapping[str, Any]
"""A JSON Schema, or a part of one."""

DIALECT = "http://json-schema.org/draft-07/schema#"
"""The newest that editors' YAML support knows in full."""

TEXT: Part = {"type": "string"}
TEXTS: Part = {"type": "array", "items": {"type": "string"}}
TABLE: Part = {"type": "object"}
ANY: Part = {}
SWITCH: Part = {"type": ["boolean", "string"]}
"""True or false, or a template that becomes it."""
NUMBER: Part = {"type": ["number", "string"]}
"""A number, or a template that becomes one."""
REFERENCE: Part = {"type": "object", "required": ["$ref"]}
"""promptfoo's `$ref: '#/…'`, which stands for a part of the same config."""


def described(part: Part, description: str) -> Part:
    """A part with what an editor shows of it."""
    return {**part, "description": description}


def either(*parts: Part) -> Part:
    """A value that fits one of these."""
    return {"anyOf": list(parts)}


def strict_object(**properties: Part) -> dict[str, Any]:
    """An object with all of these keys, in this order, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def one_or_more(part: Part) -> Part:
    """A value, or a list of them."""
    return either(part, {"type": "array", "items": part})


def document(title: str, part: Part, **definitions: Part) -> Part:
    """A whole schema."""
    whole = {"$schema": DIALECT, "title": title, **part}
    return {**whole, "definitions": definitions} if definitions else whole


def defined(name: str) -> Part:
    """A part that `document` defines."""
    return {"$ref": f"#/definitions/{name}"}
