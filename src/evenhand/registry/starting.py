"""New prompts: an empty one, one made of another, and those of the layout in which a status was a folder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.documents.findings import Findings, shown_path
from evenhand.documents.tree import read_yaml
from evenhand.registry.evidence import today
from evenhand.registry.library import (
    ALIASES,
    EVAL,
    EXAMPLES,
    FILES,
    INPUTS,
    META,
    OLD_FOLDERS,
    TEMPLATE,
    Library,
    is_id,
)
from evenhand.registry.prompt import PromptFolder, read_prompt
from evenhand.registry.rendering import names_in
from evenhand.registry.writing import set_meta, write

_TEMPLATE = """\
<prompt>
  <role>You answer in one paragraph.</role>
  <rules>
    <rule>Say only what the text says.</rule>
  </rules>
  <text>{{text}}</text>
</prompt>
"""
_EVAL = """\
cases:
  - name: first
    inputs_from: examples/first
    assert:
      - max_words: 200
"""
_FRONT = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
MODEL = "anthropic:claude-haiku-4-5"


def new(library: Library, id: str, source: str = "") -> Path:  # noqa: A002 (the word that users write)
    """Makes a prompt, a draft; of another one where there is a source, without its verbs and its evidence.

    Raises:
        UsageError: It is there already, this is no id, or there is no such source.
        StoreError: It cannot be written.
    """
    folder = _free(library, id)
    if source:
        return _copied(library, library.folder(source), folder, id)
    title = re.sub(r"[-_.]+", " ", id).capitalize()
    inputs = "\n  - {name: text, required: true}"
    meta = _meta(id, title, f"{title}.", "draft", inputs)
    write(folder / META, meta)
    write(folder / TEMPLATE, _TEMPLATE)
    write(folder / EVAL, _EVAL)
    write(folder / EXAMPLES / "first" / INPUTS, "text: The library opens at nine.\n")
    return folder


def _copied(library: Library, source: Path, folder: Path, id: str) -> Path:  # noqa: A002 (see above)
    try:
        folder.mkdir(parents=True)
        for name in FILES:
            path = source / name
            if name == ALIASES or not path.exists():
                continue
            if path.is_dir():
                shutil.copytree(path, folder / name, symlinks=True)
            else:
                shutil.copy2(path, folder / name, follow_symlinks=False)
    except OSError as error:
        raise StoreError(f"{shown_path(folder)} cannot be written: {error.strerror}") from error
    copy = read_prompt(library, id, Findings())
    set_meta(copy, id=id, status="draft", version="0.1.0", created=today(), updated=today())
    return folder


def _free(library: Library, id: str) -> Path:  # noqa: A002 (see above)
    if not is_id(id):
        raise UsageError(
            f"{id!r} cannot be an id", hint="Use letters, digits, '.', '_' and '-', a letter first."
        )
    folder = library.prompts / id
    if folder.exists():
        raise UsageError(f"{shown_path(folder)} is there already; nothing was written")
    return folder


def _meta(id: str, title: str, summary: str, status: str, inputs: str) -> str:  # noqa: A002 (see above)
    """A meta.yml. Texts are written as JSON, which is YAML whatever they hold."""
    return f"""\
id: {id}
title: {encode(title).decode()}
summary: {encode(summary).decode()}
status: {status}
version: 0.1.0
created: {today()}
updated: {today()}
tags: []
model: {MODEL}
inputs:{inputs}
description: {encode(f"{summary} Use when …").decode()}
notes: |
  What has gone wrong so far, and what was done about it.
"""


def migrate(library: Library, *, write_them: bool) -> list[str]:
    """Makes folders of `prompts/{ready,tested,draft}/*.md`, and says what it made, or would make, a line each.

    What stands between lines `---` at the top of a file is its metadata. The old files are left where they are.
    """
    told: list[str] = []
    for status in sorted(OLD_FOLDERS):
        for path in sorted((library.prompts / status).glob("*.md")):
            target = library.prompts / path.stem
            if not is_id(path.stem):
                told.append(f"{shown_path(path)}: {path.stem!r} cannot be an id: left out")
            elif target.exists():
                told.append(f"{shown_path(path)}: {shown_path(target)} is there already: left out")
            elif not write_them:
                told.append(f"{shown_path(path)} → {shown_path(target)}, {status}")
            else:
                _migrated(path, target, status)
                told.append(f"{shown_path(target)}: written, {status}")
    return told


def _migrated(path: Path, target: Path, status: str) -> None:
    text = path.read_text("utf-8-sig")
    front = _FRONT.match(text)
    document = read_yaml(path, front[1], Findings()) if front else None
    said = cast("Mapping[str, Any]", document.value if document else {})
    said = said if isinstance(said, dict) else {}
    body = text[front.end() :] if front else text
    title = str(said.get("title") or re.sub(r"[-_.]+", " ", path.stem).capitalize())
    summary = str(said.get("summary") or said.get("description") or title)
    names = names_in(body)
    rows = "".join(f"\n  - {{name: {name}, required: true}}" for name in names) or " []"
    write(target / META, _meta(path.stem, title, summary, status, rows))
    write(target / TEMPLATE, body)


def bumped(prompt: PromptFolder, **fields: str) -> None:
    """Sets `updated` to today, and other fields of meta.yml as given."""
    set_meta(prompt, updated=today(), **fields)
