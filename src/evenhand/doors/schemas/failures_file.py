"""The kinds of failure in a failures.yml."""

from __future__ import annotations

from evenhand.core.json_schema import Part
from evenhand.languages.documents import codebook


def schema() -> Part:
    """Of a failures.yml."""
    return codebook.schema()
