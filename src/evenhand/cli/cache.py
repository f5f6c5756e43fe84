"""`evenhand cache`: what is kept across runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.numbers import Number
from evenhand.core.ranges import ROWS

if TYPE_CHECKING:
    from evenhand.store.cache import Cache


@click.group(short_help="Inspect or clear the reply cache.")
@click.option(
    "--of",
    "source",
    type=click.Path(path_type=Path, exists=True),
    default=".",
    help="The config file or folder that the cache belongs to.  [default: the current folder]",
)
@click.pass_context
def cache(ctx: click.Context, source: Path) -> None:
    """Look into the cache of replies, or clear it.

    The cache answers a request that was asked before, in whichever run. Runs keep their replies themselves: clearing
    the cache takes nothing from them.
    """
    from evenhand.store.cache import Cache
    from evenhand.store.catalogue import cache_folder, home_for

    ctx.obj = Cache.open(cache_folder(home_for(source)))


@cache.command()
@click.pass_obj
def stats(store: Cache) -> None:
    """Say where it is and how much it holds."""
    statistics = store.stats()
    store.close()
    click.echo(f"{statistics.path}: {statistics.entries} replies, {statistics.bytes / 1e6:.1f} MB")
    if statistics.oldest_at is not None:
        click.echo(f"the oldest is of {_date(statistics.oldest_at)}")


@cache.command()
@click.argument("key", default="")
@click.option("--first", type=Number(ROWS), default=20, show_default=True, help="Show at most N.")
@click.pass_obj
def explain(store: Cache, key: str, first: int) -> None:
    """List the replies it holds, newest first, and the request that each answers; those whose KEY begins so."""
    from itertools import islice

    from evenhand.core.secrets import shown
    from evenhand.report.words import safe

    for entry in islice(store.entries(key), first):
        click.echo(f"{entry.key}  draw {entry.draw}  {entry.size} bytes  {_date(entry.created_at)}")
        click.echo(f"    {safe(shown(entry.identity.decode('utf-8', 'replace')))}")
    store.close()


@cache.command()
@click.pass_obj
def clear(store: Cache) -> None:
    """Forget all replies. Runs are not touched."""
    count = store.clear()
    click.echo(f"{count} replies forgotten")


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
