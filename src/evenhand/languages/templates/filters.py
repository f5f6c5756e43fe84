"""A config's own filters for templates (`nunjucksFilters`)."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.errors import CodeError
from evenhand.core.json_shapes import is_mapping
from evenhand.languages.documents.findings import At, Findings
from evenhand.languages.templates.rendering import Templates


def add_filters(
    templates: Templates, filters: object, base: Path, at: At, findings: Findings
) -> list[Path]:
    """Has templates know a config's filters; notes what is wrong with them.

    Args:
        filters: `nunjucksFilters`, as written.
        base: The folder that paths start from.
        at: Where the parts of the config stand.

    Returns:
        The files of the filters.
    """
    if not is_mapping(filters):
        findings.problem(
            at("nunjucksFilters"),
            f"nunjucksFilters is {filters!r}, not an object",
            "Write a name and its file for each: shout: file://shout.js",
        )
        return []
    files: list[Path] = []
    for name, reference in filters.items():
        path = base / str(reference).removeprefix("file://")
        files.append(path)
        try:
            templates.add_filter(name, path)
        except CodeError as error:
            findings.problem(
                at("nunjucksFilters", name), f"filter '{name}': {error.message}", error.hint
            )
    return files
