"""The environment that a config is read in: the process's, `.env` files, and what the config itself declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from evenhand.documents.findings import Findings, Place
from evenhand.documents.tree import read_text

_TAG = re.compile(r"""\{\{\s*env(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])\s*\}\}""")
_LINE = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*(?:=[ \t]*|:[ \t]+)"""
    r"""('(?:\\'|[^'])*'|"(?:\\"|[^"])*"|`(?:\\`|[^`])*`|[^#\r\n]*)[ \t]*(?:\#[^\r\n]*)?$""",
    re.MULTILINE,
)


def env_file(path: Path, findings: Findings) -> dict[str, str]:
    r"""The variables that a `.env` file sets: `NAME=value` line by line, `#` for comments, quotes where needed.

    Only inside double quotes is `\n` a line break. Nothing in a value is looked up elsewhere.
    """
    text = read_text(path, findings, Place(path))
    found: dict[str, str] = {}
    for name, written in _LINE.findall((text or "").replace("\r\n", "\n")):
        value = written.strip()
        quote = value[:1]
        if len(value) > 1 and quote in "'\"`" and value.endswith(quote):
            value = value[1:-1]
            if quote == '"':
                value = value.replace("\\n", "\n").replace("\\r", "\r")
        found[name] = value
    return found


def declared(value: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """The variables that a config declares under `env`, as text."""
    given = value.get("env")
    if not isinstance(given, Mapping):
        return {}
    filled = cast("Mapping[str, object]", env_filled(given, env))
    return {
        key: item
        if isinstance(item, str)
        else ("true" if item else "false")
        if isinstance(item, bool)
        else str(item)
        for key, item in filled.items()
        if item is not None
    }


def env_filled(value: object, env: Mapping[str, str]) -> object:
    """The value with `{{ env.NAME }}` filled in wherever NAME is set."""
    if isinstance(value, str):
        if "env" not in value or "{{" not in value:
            return value
        return _TAG.sub(lambda m: env.get(m[1] or m[2], m[0]), value)
    if isinstance(value, dict):
        return {k: env_filled(v, env) for k, v in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [env_filled(v, env) for v in cast("list[object]", value)]
    return value
