"""`evenhand init`, `doctor`, `scorers` and `providers`: before the first run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.exits import PASSED, USAGE
from evenhand.cli.streams import say_wrapped

if TYPE_CHECKING:
    from evenhand.scorers.catalog import Entry


@click.command(name="init", short_help="Create an example folder that runs right away.")
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--python", is_flag=True, help="Create eval sets in Python instead of a promptfoo config."
)
@click.option(
    "--from",
    "config",
    type=click.Path(path_type=Path),
    help="Print this promptfoo config as an eval set in Python.",
)
def init(folder: Path, config: Path | None, *, python: bool) -> int:
    """Create an example folder with prompts, tests and scripted replies. It runs right away. Never overwrites a file.

    With --python, the tests are functions: evals/*_evals.py, a setup.py that is loaded first, a dataset, and the
    application that they call.

    With --from, print a promptfoo config as an eval set: save it beside the config, in a file that ends in _evals.py.
    """
    if config is not None:
        return _print_as_python(config)
    from evenhand.cli.ignoring import ignore_runs
    from evenhand.cli.init import init as scaffold

    for path in scaffold(folder, "python" if python else "config"):
        click.echo(f"  {path}")
    ignored = ignore_runs(folder)
    if ignored is not None:
        click.echo(f"  {folder / ignored.name}")
    where = "" if folder == Path() else f" {shlex.quote(str(folder))}"
    click.echo(f"\nnext: evenhand run{where} --offline")
    return PASSED


def _print_as_python(config: Path) -> int:
    from evenhand.cli.streams import printing, tell
    from evenhand.promptfoo.load import read_folder
    from evenhand.promptfoo.porting.as_python import as_python

    file = as_python(read_folder(config))
    with printing():
        click.echo(file.text, nl=False)
    for what in file.left:
        tell(f"not carried over: {what}")
    if file.missing:
        tell(f"what is printed cannot be run: {file.missing}")
        return USAGE
    folder = config if config.is_dir() else config.parent
    tell(f"next: save it as {folder / 'my_evals.py'}, then evenhand run {folder / 'my_evals.py'}")
    return PASSED


@click.command(short_help="Check your setup: Python, keys, folders.")
def doctor() -> int:
    """Check your setup: Python, packages, keys, folders. Sends nothing and shows no key."""
    from evenhand.cli.doctor import doctor as look
    from evenhand.store.catalogue import home_for

    findings = look(home_for(None), os.environ)
    for finding in findings:
        say_wrapped(str(finding), " " * 6)
    return USAGE if any(finding.state == "bad" for finding in findings) else PASSED


@click.command(short_help="List the scorers and assertion types.")
def scorers() -> int:
    """List the scorers of eval sets and the assertion types of YAML files."""
    from evenhand.assertions.kinds import kinds
    from evenhand.cli.plugin_listing import list_added
    from evenhand.core.plugins import ASSERTIONS, SCORERS
    from evenhand.scorers.catalog import Entry
    from evenhand.scorers.catalog import scorers as listed

    click.echo("In Python, from evenhand.scorers:\n")
    _list(listed())
    list_added(SCORERS, "Added by installed packages, as metrics of score() and score_batch():")
    click.echo("\nIn a config, as the type of an assertion:\n")
    types = list(kinds())
    _list([Entry(kind.name, "", kind.group, kind.about, kind.takes) for kind in types])
    unmoved = ", ".join(kind.name for kind in types if kind.negation == "ignored")
    list_added(ASSERTIONS, "Added by installed packages, as the type of an assertion:")
    click.echo("\nnot- asks the opposite: not-contains, not-regex, …")
    say_wrapped(f"It changes nothing about these: {unmoved}.")
    return PASSED


def _list(entries: Sequence[Entry]) -> None:
    kind = ""
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        if entry.kind != kind:
            kind = entry.kind
            say_wrapped(kind)
        more = [f"needs {entry.needs}"] if entry.needs else []
        more += [f"opposite: {entry.negated}"] if entry.negated else []
        tail = f" ({'; '.join(more)})" if more else ""
        say_wrapped(f"  {entry.name:<{width}}  {entry.description}{tail}", " " * (width + 4))


@click.command(short_help="List the providers and how to write their ids.")
def providers() -> int:
    """List the providers, how to write their ids, and the environment variables that hold their keys."""
    from evenhand.cli.plugin_listing import list_added
    from evenhand.core.plugins import PROVIDERS
    from evenhand.providers.catalog import KEYS, SCHEMES

    width = max(map(len, SCHEMES))
    for form, what in SCHEMES.items():
        key = KEYS.get(form.partition(":")[0])
        say_wrapped(f"{form:<{width}}  {what}{f' ({key})' if key else ''}", " " * (width + 2))
    list_added(PROVIDERS, "Added by installed packages, as the first word of an id:")
    return PASSED
