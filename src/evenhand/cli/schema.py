"""`evenhand schema`: the JSON Schema of a file, for editors."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import click

from evenhand.cli.exits import PASSED
from evenhand.cli.streams import printing
from evenhand.core.errors import StoreError

FILES = {
    "promptfoo": ("promptfoo", "promptfooconfig.yaml"),
    "eval": ("eval_file", "eval.yml"),
    "meta": ("meta_file", "meta.yml"),
    "project": ("project", "pyproject.toml"),
}
"""The module that makes each schema, and the file that it is of."""


@click.command(short_help="Write the JSON Schema of a config, for your editor.")
@click.argument("file", type=click.Choice(list(FILES)))
@click.option(
    "--to", "path", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file."
)
def schema(file: str, path: Path | None) -> int:
    """Write the JSON Schema of a file that you write, so that your editor completes and checks it.

    \b
    promptfoo  a promptfooconfig.yaml, as Evenhand reads it
    eval       the eval.yml of a prompt directory
    meta       the meta.yml of a prompt directory
    project    [tool.evenhand] in a pyproject.toml
    """  # noqa: D301 (click's mark for a paragraph that keeps its lines)
    module, name = FILES[file]
    made = importlib.import_module(f"evenhand.doors.schemas.{module}").schema()
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    if path is None:
        with printing():
            sys.stdout.write(text)
        return PASSED
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from None
    with printing():
        sys.stdout.write(f"wrote {path}\n{_next(file, name, path)}\n")
    return PASSED


def _next(file: str, name: str, path: Path) -> str:
    """What makes an editor use it."""
    shown = path.as_posix() if path.is_absolute() else f"./{path.as_posix()}"
    if file == "project":
        return f"next: write this as the first line of {name}\n  #:schema {shown}"
    return (
        f"next: write this as the first line of {name}\n  # yaml-language-server: $schema={shown}"
    )
