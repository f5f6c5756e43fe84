"""`evenhand info schema`: the JSON Schema of a file, for editors."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import click

from evenhand.cli.exits import PASSED
from evenhand.cli.options import file_option
from evenhand.cli.streams import printing
from evenhand.core.errors import StoreError, UsageError

FILES = {
    "promptfoo": ("doors.schemas.promptfoo", "promptfooconfig.yaml"),
    "eval": ("doors.schemas.eval_file", "eval.yml"),
    "meta": ("doors.schemas.meta_file", "meta.yml"),
    "failures": ("languages.documents.failures_yml", "failures.yml"),
    "project": ("doors.schemas.project", "pyproject.toml"),
}
"""The module that makes each schema, and the file that it is of."""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The files, and the documents of wings."""
    from evenhand.core.wing import parts

    del ctx, param
    return [name for name in (*FILES, *parts("documents")) if name.startswith(incomplete)]


@click.command(short_help="Write the JSON Schema of a config, for your editor.")
@click.argument("file", metavar="FILE", shell_complete=_complete)
@file_option("--to", "path", help="Write it to this file.")
def schema(file: str, path: Path | None) -> int:
    """Write the JSON Schema of a file, so that your editor completes and checks what you write.

    \b
    promptfoo  a promptfooconfig.yaml, as Evenhand reads it
    eval       the eval.yml of a prompt directory
    meta       the meta.yml of a prompt directory
    failures   the kinds of failure in a failures.yml
    project    [tool.evenhand] in a pyproject.toml

    FILE may also be a format that an installed wing brings, such as acme.report/1.
    """  # noqa: D301 (click's mark for a paragraph that keeps its lines)
    document, name = _schema_of(file)
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if path is None:
        with printing():
            sys.stdout.write(text)
        return PASSED
    from evenhand.store.replacing import written_to

    try:
        with written_to(path) as place:
            place.write_text(text, "utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from None
    with printing():
        sys.stdout.write(f"wrote {path}\n{_next(file, name, path)}\n")
    return PASSED


def _schema_of(file: str) -> tuple[object, str]:
    """The schema of a file or a document, and what such a file is called."""
    if file in FILES:
        module, name = FILES[file]
        return importlib.import_module(f"evenhand.{module}").schema(), name
    from evenhand.core.names import did_you_mean
    from evenhand.core.wing import part, parts

    brought = part("documents", file)
    if brought is None:
        known = (*FILES, *parts("documents"))
        hint = did_you_mean(file, known, f"There are: {', '.join(known)}.")
        raise UsageError(f"there is no schema of {file!r}", hint=hint)
    import msgspec

    kind = brought.load()
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        raise brought.broken("is not a msgspec Struct, which documents have to be")
    return msgspec.json.schema(kind), f"{file.partition('/')[0]}.json"


def _next(file: str, name: str, path: Path) -> str:
    """What makes an editor use it."""
    target = path.as_posix() if path.is_absolute() else f"./{path.as_posix()}"
    if file not in FILES:
        return f"{name} is what it describes"
    if file == "project":
        return f"next: write this as the first line of {name}\n  #:schema {target}"
    return (
        f"next: write this as the first line of {name}\n  # yaml-language-server: $schema={target}"
    )
