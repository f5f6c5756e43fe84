"""The meta.yml of a prompt directory."""

from __future__ import annotations

from evenhand.core.json_schema import Part, document
from evenhand.core.table import schema_of
from evenhand.doors.prompt_directories.prompt import REQUIRED, Meta


def schema() -> Part:
    """Of a meta.yml."""
    return document("What a prompt is", schema_of(Meta, required=REQUIRED))
