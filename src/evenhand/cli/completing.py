"""What a shell is offered after <Tab>: runs, prompts, files. It only looks, and is silent about what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    import click

MOST = 50
"""Runs that are offered, the latest first."""


def complete_runs(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """The runs whose ids begin so, each with what it is; and files, as a run may be named by its file."""
    del context, parameter
    from evenhand.core.errors import EvenhandError
    from evenhand.store.run_lookup import files, matching, names

    items = [CompletionItem(begun, type="file")] if "/" in begun or "." in begun else []
    # Not for nothing typed: the ids that follow are what is looked for then.
    if begun:
        words = (CompletionItem("latest"), CompletionItem("latest~1", help="the one before"))
        items += [item for item in words if item.value.startswith(begun.lower())]
    try:
        there = files(Path.cwd())
        short = names(there)
        # Ids are in capitals; people type them as they like.
        chosen = [path for path in matching(there, begun) if short[path]]
        items += [_run(path, max(short[path], begun.upper(), key=len)) for path in chosen[:MOST]]
    except (EvenhandError, OSError):
        return items
    return items


def _run(path: Path, name: str) -> CompletionItem:
    from evenhand.core.errors import EvenhandError
    from evenhand.core.wording.words import safe
    from evenhand.store.runfile import RunFile

    try:
        with RunFile.open(path) as run:
            title, status = safe(run.meta.title)[:40], run.meta.status
    except EvenhandError:
        return CompletionItem(name, help="cannot be read")
    return CompletionItem(name, help=title if status == "finished" else f"{title}, {status}")


def complete_prompts(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """The ids of the repository's prompts that begin so."""
    del parameter
    from evenhand.core.errors import EvenhandError
    from evenhand.doors.prompt_directories.library import library_of

    start = context.obj if isinstance(context.obj, Path) else Path.cwd()
    try:
        ids = library_of(start).ids()
    except (EvenhandError, OSError):
        return []
    return [CompletionItem(id_) for id_ in ids if id_.startswith(begun)]


def complete_paths(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Files and folders, as the shell itself finds them."""
    del context, parameter
    return [CompletionItem(begun, type="file")]
