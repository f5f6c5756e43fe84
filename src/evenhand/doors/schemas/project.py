"""The table `[tool.evenhand]` of a pyproject.toml."""

from __future__ import annotations

from evenhand.core.json_schema import Part, document
from evenhand.core.table import schema_of
from evenhand.languages.documents.project import Project


def schema() -> Part:
    """Of a pyproject.toml, of which it describes this table alone."""
    tools: Part = {"type": "object", "properties": {"evenhand": schema_of(Project)}}
    return document("Settings of Evenhand", {"type": "object", "properties": {"tool": tools}})
