"""What all verbs of `evenhand prompt` share: which repository and which prompts are meant, and how they print."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.streams import printing
from evenhand.core.wording.words import safe

if TYPE_CHECKING:
    from evenhand.doors.prompt_directories.library import Library
    from evenhand.doors.prompt_directories.prompt import PromptFolder

in_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")


def library_here() -> Library:
    """The repository that is meant: of -C, or the one that one stands in."""
    from evenhand.doors.prompt_directories.library import library_of

    return library_of(start())


def start() -> Path:
    """The folder from where it is looked for."""
    return click.get_current_context().obj or Path.cwd()


def command_here() -> str:
    """`evenhand prompt` for this repository, as it is typed."""
    folder = click.get_current_context().obj
    return f"evenhand prompt -C {shlex.quote(safe(str(folder)))}" if folder else "evenhand prompt"


def prompt_named(id_: str) -> PromptFolder:
    """A prompt that can be used: nothing is wrong with its metadata and its template."""
    from evenhand.doors.prompt_directories.prompt import read_prompt
    from evenhand.languages.documents.findings import Findings

    library, findings = library_here(), Findings()
    library.folder(id_)
    prompt = read_prompt(library, id_, findings)
    if findings.problems:
        raise findings.error()
    return prompt


def prompts_meant(texts: tuple[str, ...]) -> dict[Library, list[str] | None]:
    """The prompts that are meant by ids, and by paths to their folders or to files in them; None for all.

    A path that is in no prompt's folder, inputs that are shared say, means all prompts of its repository.
    """
    from evenhand.doors.prompt_directories.library import PROMPTS, library_of

    if not texts:
        return {library_here(): None}
    ids: dict[Library, list[str] | None] = {}
    for text in texts:
        if os.sep not in text:
            library, id_ = library_here(), text
            library.folder(id_)
        else:
            path = Path(os.path.abspath(text))  # noqa: PTH100 (links are left as they are written)
            library = library_of(path)
            inside = path.relative_to(library.root).parts
            id_ = inside[1] if inside[:1] == (PROMPTS,) and len(inside) > 1 else ""
        names = ids.setdefault(library, [])
        if id_ not in library.ids():
            ids[library] = None
        elif names is not None and id_ not in names:
            names.append(id_)
    return ids


def document_of(value: Any) -> str:
    """A value as a JSON document."""
    from evenhand.core.encoding import encode

    return encode(value).decode()


def plain(text: str) -> str:
    """A text that somebody else wrote, without what a terminal would obey."""
    from evenhand.core.wording.words import safe

    return safe(text, multiline=True)


def say(text: str) -> None:
    """Prints a text to stdout, ending its last line."""
    with printing():
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
