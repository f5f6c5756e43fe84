"""The kinds of failure in a failures.yml."""

from __future__ import annotations

from evenhand.core.json_schema import Part
from evenhand.languages.documents import failures_yml


def schema() -> Part:
    """Of a failures.yml."""
    return failures_yml.schema()
