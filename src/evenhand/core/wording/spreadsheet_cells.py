"""Values as cells of a CSV file, none of which a spreadsheet takes for a formula."""

from __future__ import annotations

import json

# What spreadsheets take for a formula at the start of a cell, in full width too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula; lists and dicts as JSON, nothing as an empty cell."""
    if value is None or isinstance(value, (int, float)):
        return value
    text = as_text(value)
    return "'" + text if text.startswith(_FORMULA) else text


def as_text(value: object) -> str:
    """A value as text: one that is none as JSON, nothing as an empty one."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()
