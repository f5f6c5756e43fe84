"""New prompts: one to start from, and one made of another."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.doors.prompt_directories.evidence import today
from evenhand.doors.prompt_directories.library import (
    ALIASES,
    EVAL,
    EXAMPLES,
    FILES,
    INPUTS,
    META,
    TEMPLATE,
    Library,
    is_id,
)
from evenhand.doors.prompt_directories.prompt import PromptFolder, read_prompt
from evenhand.doors.prompt_directories.writing import set_meta, write
from evenhand.languages.documents.findings import Findings, shown_path
from evenhand.store.replacing import created_folder

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
      - contains: nine  # what a right answer has, and a wrong one lacks
      - not_contains: <prompt>
      - max_words: 200
    audit:
      allow: {echo: The text is its own summary., in_prompt: The same.}
"""
MODEL = "anthropic:claude-haiku-4-5"


def new(library: Library, id: str, source: str = "") -> Path:
    """Makes a prompt, a draft; of another one where there is a source, without its verbs and its evidence.

    Raises:
        UsageError: It already exists, this is no id, or there is no such source.
        StoreError: It cannot be written.
    """
    if not is_id(id):
        raise UsageError(
            f"{id!r} cannot be an id", hint="Use letters, digits, '.', '_' and '-', a letter first."
        )
    folder = library.prompts / id
    if folder.exists():
        raise UsageError(f"{shown_path(folder)} already exists; nothing was written")
    origin = library.folder(source) if source else None
    try:
        with created_folder(folder) as fresh:
            if origin is None:
                _write_first(fresh, id)
            else:
                _copy(library, origin, fresh, id)
    except OSError as error:
        raise StoreError(f"{shown_path(folder)} cannot be written: {error.strerror}") from error
    return folder


def _write_first(folder: Path, id: str) -> None:
    title = re.sub(r"[-_.]+", " ", id).capitalize()
    inputs = "\n  - {name: text, required: true}"
    write(folder / META, _meta(id, title, f"{title}.", inputs))
    write(folder / TEMPLATE, _TEMPLATE)
    write(folder / EVAL, _EVAL)
    write(folder / EXAMPLES / "first" / INPUTS, "text: The library opens at nine.\n")


def _copy(library: Library, source: Path, folder: Path, id: str) -> None:
    for name in FILES:
        path = source / name
        if name == ALIASES or not path.exists():
            continue
        if path.is_dir():
            shutil.copytree(path, folder / name, symlinks=True)
        else:
            shutil.copy2(path, folder / name, follow_symlinks=False)
    copy = read_prompt(library, folder.name, Findings())  # not yet under its own name
    set_meta(copy, id=id, status="draft", version="0.1.0", created=today(), updated=today())


def _meta(id: str, title: str, summary: str, inputs: str) -> str:
    """A meta.yml. Texts are written as JSON, which is YAML whatever they hold."""
    return f"""\
id: {id}
title: {encode(title).decode()}
summary: {encode(summary).decode()}
status: draft
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


def bumped(prompt: PromptFolder, **fields: str) -> None:
    """Sets `updated` to today, and other fields of meta.yml as given."""
    set_meta(prompt, updated=today(), **fields)
