"""DeepEval's fields, which its files spell in two ways: `expected_output` in goldens, `expectedOutput` in results."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evenhand.core.case import case_id
from evenhand.core.json_shapes import is_array

_GENERATED = re.compile(r"(conversational_)?test_case_\d+")
"""The names that DeepEval gives to test cases without one."""


def plain(value: Mapping[str, object]) -> dict[str, object]:
    """The fields that say something, in snake case."""
    return {snake(key): one for key, one in value.items() if one is not None}


def snake(key: str) -> str:
    """`expectedOutput` as `expected_output`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"_{match[1].lower()}", key)


def id_of(fields: Mapping[str, object]) -> str:
    """The id of a golden or a test case: its name, or a hash of what it asks and expects.

    So a golden and the test cases that are made of it are one case, in every file.
    """
    name = fields.get("name")
    if isinstance(name, str) and name.strip() and not _GENERATED.fullmatch(name):
        return " ".join(name.split())
    question = fields.get("input", fields.get("scenario"))
    return case_id([question, fields.get("expected_output", fields.get("expected_outcome"))])


def passages(value: object) -> tuple[str, ...]:
    """The texts of a context; a CSV file joins them with `|`."""
    if isinstance(value, str):
        return tuple(part for part in value.split("|") if part.strip())
    if is_array(value):
        return tuple(str(one) for one in value)
    return ()
