"""`evenhand init`, `doctor`, `scorers` and `providers`: before the first run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from evenhand.cli.exits import PASSED, USAGE


@click.command(name="init", short_help="Make a small folder that runs at once.")
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
def init(folder: Path) -> int:
    """Make a small folder of prompts, tests and scripted replies that runs at once. Never overwrites a file."""
    from evenhand.cli.init import init as scaffold  # noqa: PLC0415 (once it is known what is asked)

    for path in scaffold(folder):
        click.echo(f"  {path}")
    where = "" if folder == Path() else f" {folder}"
    click.echo(f"\nnext: evenhand run{where} --offline")
    return PASSED


@click.command(short_help="Look whether everything is in place: Python, keys, folders.")
def doctor() -> int:
    """Look whether everything is in place: Python, packages, keys, folders. Sends nothing, shows no key."""
    from evenhand.cli.doctor import doctor as look  # noqa: PLC0415 (once it is known what is asked)
    from evenhand.store.catalogue import home_for  # noqa: PLC0415 (see above)

    findings = look(home_for(None), os.environ)
    for finding in findings:
        click.echo(str(finding))
    return USAGE if any(finding.state == "bad" for finding in findings) else PASSED


@click.command(short_help="List what can be expected of an output.")
def scorers() -> int:
    """List what can be expected of an output, with the words for it in a config."""
    from evenhand.scorers.catalog import catalog  # noqa: PLC0415 (once it is known what is asked)

    entries = catalog()
    kind = ""
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        if entry.kind != kind:
            kind = entry.kind
            click.echo(f"{kind}")
        click.echo(f"  {entry.name:<{width}}  {entry.description}")
    click.echo("\nEach can be negated: not-contains, not-regex, …")
    return PASSED


@click.command(short_help="List what can be asked, and how its id is written.")
def providers() -> int:
    """List what can be asked, how its id is written, and which variable holds its key."""
    from evenhand.providers.catalog import KEYS, SCHEMES  # noqa: PLC0415 (once it is known what is asked)

    width = max(map(len, SCHEMES))
    for form, what in SCHEMES.items():
        key = KEYS.get(form.partition(":")[0])
        click.echo(f"{form:<{width}}  {what}{f' ({key})' if key else ''}")
    return PASSED
