"""The templates of a config: they see its environment, and have filters of its own (`nunjucksFilters`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import CodeError
from evenhand.core.json_shapes import is_mapping
from evenhand.languages.documents.findings import At, Findings
from evenhand.languages.templates.rendering import Templates


def read_templates(
    value: Mapping[str, Any], env: Mapping[str, str], base: Path, at: At, findings: Findings
) -> tuple[Templates, list[Path]]:
    """The templates of a config, and the files of their filters; notes what is wrong with these.

    Args:
        value: The config.
        base: The folder that paths start from.
        at: Where its parts stand.
    """
    templates = Templates(env)
    filters = value.get("nunjucksFilters")
    if filters is None:
        return templates, []
    if not is_mapping(filters):
        findings.problem(
            at("nunjucksFilters"),
            f"nunjucksFilters is {filters!r}, not an object",
            "Write a name and its file for each: shout: file://shout.js",
        )
        return templates, []
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
    return templates, files
