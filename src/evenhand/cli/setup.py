"""`evenhand init`, `doctor`, `scorers` and `providers`: before the first run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from evenhand.cli.exits import PASSED, USAGE


@click.command(name="init", short_help="Make a small folder that runs at once.")
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--from",
    "config",
    type=click.Path(path_type=Path),
    help="Print this promptfoo config as an eval set in Python instead.",
)
def init(folder: Path, config: Path | None) -> int:
    """Make a small folder of prompts, tests and scripted replies that runs at once. Never overwrites a file.

    With --from, print a promptfoo config as an eval set: save it beside the config, in a file that ends in _evals.py.
    """
    if config is not None:
        return _print_as_python(config)
    from evenhand.cli.init import init as scaffold  # noqa: PLC0415 (once it is known what is asked)

    for path in scaffold(folder):
        click.echo(f"  {path}")
    where = "" if folder == Path() else f" {folder}"
    click.echo(f"\nnext: evenhand run{where} --offline")
    return PASSED


def _print_as_python(config: Path) -> int:
    from evenhand.cli.streams import printing, tell  # noqa: PLC0415 (seldom)
    from evenhand.promptfoo.as_python import as_python  # noqa: PLC0415 (seldom)
    from evenhand.promptfoo.load import load  # noqa: PLC0415 (seldom)

    text, left = as_python(load(config))
    with printing():
        click.echo(text, nl=False)
    for what in left:
        tell(f"not carried over: {what}")
    folder = config if config.is_dir() else config.parent
    tell(f"next: save it as {folder / 'my_evals.py'}, then evenhand run {folder / 'my_evals.py'}")
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
