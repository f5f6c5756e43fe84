"""Prompts of the layout in which a status was a folder, `prompts/ready/x.md`, made folders of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.json_shapes import as_mapping, is_mapping
from evenhand.core.table import names_of
from evenhand.doors.prompt_directories.evidence import today
from evenhand.doors.prompt_directories.library import (
    META,
    OLD_FOLDERS,
    TEMPLATE,
    Library,
    is_id,
    leads_out,
)
from evenhand.doors.prompt_directories.prompt import Meta
from evenhand.doors.prompt_directories.writing import write
from evenhand.languages.documents.findings import Findings, Place, shown_path
from evenhand.languages.documents.tree import read_text, read_yaml
from evenhand.languages.templates.plain import names_in

_FRONT = re.compile(r"\A---\r?\n(.*?)^---\r?\n", re.DOTALL | re.MULTILINE)


def migrate(library: Library, *, write_them: bool) -> list[str]:
    """Makes folders of `prompts/{ready,tested,draft}/*.md`, and says what it made, or would make, a line each.

    What stands between lines `---` at the top of a file is its metadata. The old files are left where they are, and
    those that cannot be read are told, and left out.
    """
    messages: list[str] = []
    for status in sorted(OLD_FOLDERS):
        for path in sorted((library.prompts / status).glob("*.md")):
            target, findings = library.prompts / path.stem, Findings()
            place = Place(path)
            if not is_id(path.stem):
                findings.problem(place, f"{path.stem!r} cannot be an id")
            elif target.exists():
                findings.problem(place, f"{shown_path(target)} already exists")
            elif leads_out(path, library.prompts):
                findings.problem(place, "is a link that leads out of its folder")
            files = {} if findings.problems else _files(path, status, findings)
            if findings.problems:
                messages += [f"{problem}: left out" for problem in findings.problems]
            elif not write_them:
                messages.append(f"{shown_path(path)} → {shown_path(target)}, {status}")
            else:
                for name, text in files.items():
                    write(target / name, text)
                messages.append(f"{shown_path(target)}: written, {status}")
    return messages


def _files(path: Path, status: str, findings: Findings) -> dict[str, str]:
    """The files of the folder that an old file becomes."""
    text = read_text(path, findings) or ""
    front = _FRONT.match(text)
    # A line break stands in for the first `---`, so that lines are counted as in the file.
    document = read_yaml(path, f"\n{front[1]}", findings) if front else None
    value = document.value if document else None
    if value is not None and not is_mapping(value):
        findings.problem(Place(path, 1), "what stands above it is not a mapping of names to values")
    body = text[front.end() :] if front else text
    return {META: _meta(path.stem, status, as_mapping(value), body), TEMPLATE: body}


def _meta(id: str, status: str, fields: Mapping[str, Any], body: str) -> str:
    """A meta.yml: what was said, and what has to be. Values are written as JSON, which is YAML whatever they hold."""
    title = fields.get("title") or re.sub(r"[-_.]+", " ", id).capitalize()
    whole: dict[str, Any] = {
        "id": id,
        "title": title,
        "summary": fields.get("summary") or fields.get("description") or title,
        "status": status,
        "version": fields.get("version") or "0.1.0",
        "created": fields.get("created") or today(),
        "updated": fields.get("updated") or today(),
        "inputs": fields.get("inputs") or [{"name": n, "required": True} for n in names_in(body)],
    }
    whole |= {
        key: value for key, value in fields.items() if key in names_of(Meta) and key not in whole
    }
    # One line each, changed by promotions.
    plain = ("id", "status", "version", "created", "updated")
    return "".join(
        f"{key}: {value if key in plain else encode(value).decode()}\n"
        for key, value in whole.items()
        if value is not None
    )
