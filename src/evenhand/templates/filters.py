"""What a config lends to its templates: its environment, and filters of its own (`nunjucksFilters`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import CodeError
from evenhand.documents.findings import At, Findings
from evenhand.javascript import templates


def lend(
    value: Mapping[str, Any], env: Mapping[str, str], base: Path, at: At, findings: Findings
) -> list[Path]:
    """Lets templates see the environment, and use the filters that a config names; notes what is wrong with them.

    Args:
        value: The config.
        base: The folder that paths start from.
        at: Where its parts stand.

    Returns:
        The files of the filters.
    """
    templates.lend(env)
    given = value.get("nunjucksFilters")
    if given is None:
        return []
    if not isinstance(given, Mapping):
        findings.problem(
            at("nunjucksFilters"),
            f"nunjucksFilters is {given!r}, not an object",
            "Write a name and its file for each: shout: file://shout.js",
        )
        return []
    files: list[Path] = []
    for name, reference in cast("Mapping[str, object]", given).items():
        path = base / str(reference).removeprefix("file://")
        files.append(path)
        try:
            templates.templates().add_filter(name, path)
        except CodeError as error:
            findings.problem(
                at("nunjucksFilters", name), f"filter '{name}': {error.message}", error.hint
            )
    return files
