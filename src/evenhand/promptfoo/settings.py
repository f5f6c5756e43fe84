"""The settings of a model: those of a provider, of a prompt and of a test's options, with files read in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from evenhand.documents.findings import Findings, Place
from evenhand.documents.tree import read_document

_SHELL = re.compile(r"\$\{?[A-Z_][A-Z0-9_]+\}?")


def read_settings(
    given: object, whose: str, base: Path, place: Place, findings: Findings, files: set[Path]
) -> dict[str, Any]:
    """Settings as a config writes them, with the JSON and YAML files that they name read in; empty for none.

    Args:
        whose: What they belong to, for messages: `provider echo`.
        base: The folder that files are looked for in.
        files: Is told which files were read.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        findings.problem(place, f"config of {whose} is {given!r}, not an object")
        return {}

    def read(value: object) -> object:
        if isinstance(value, str):
            if value.startswith("file://") and value.endswith((".json", ".yaml", ".yml")):
                path = base / value.removeprefix("file://")
                document = read_document(path, findings, place)
                files.add(path)
                return None if document is None else document.value
            if _SHELL.fullmatch(value):
                findings.hint(
                    place,
                    f"{value!r} is sent as it is",
                    "Write {{env.NAME}} for a variable of the environment.",
                )
            return value
        if isinstance(value, Mapping):
            return {k: read(v) for k, v in cast("Mapping[str, object]", value).items()}
        if isinstance(value, list):
            return [read(v) for v in cast("list[object]", value)]
        return value

    settings = cast("dict[str, Any]", read(cast("object", given)))
    headers = settings.get("headers")
    if headers is not None and not isinstance(headers, Mapping):
        what = f"headers of {whose} are {type(headers).__name__}, not names with values"
        findings.problem(place, what, "Write headers: {X-Name: value}.")
        return {**settings, "headers": {}}
    return settings
