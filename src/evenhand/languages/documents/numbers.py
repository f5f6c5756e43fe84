"""Numbers that users write in their files."""

from __future__ import annotations

import contextlib
import math

from evenhand.core.ranges import NUMBER, Range
from evenhand.languages.documents.findings import Findings, Place


def number(
    value: object, place: Place, name: str, findings: Findings, within: Range = NUMBER
) -> float | None:
    """A number from a config; None, and a problem, where it is something else, or in another range."""
    if value is None:
        return None
    result = math.nan  # in no range
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):
            result = float(value)
    if result not in within:
        findings.problem(place, within.problem(name, value))
        return None
    return result
