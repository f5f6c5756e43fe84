"""`evenhand cache`: what is kept across runs."""

from __future__ import annotations

import shlex
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from msgspec import UNSET, UnsetType

from evenhand.cli.exits import PASSED, USAGE
from evenhand.cli.options import flag, number_option
from evenhand.cli.streams import say_json, tell
from evenhand.core.document import Key, as_object
from evenhand.core.ranges import ROWS
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.store.cache import Cache, CacheStats

SCHEMA = "evenhand.cache/1"


class CacheReply(Record, frozen=True, kw_only=True):
    """What `evenhand.cache/1` says of a reply."""

    key: Annotated[str, Key("the hash of the request")]
    draw: Annotated[str, Key("which answer to the same request it is")]
    bytes: Annotated[int, Key("how large the reply is", "bytes")]
    created_at: Annotated[float, Key("when it came", "seconds since 1970")]
    request: Annotated[str, Key("the request that it answers, without secrets")]


class CacheDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.cache/1`."""

    schema: Annotated[str, Key("`evenhand.cache/1`")]
    path: Annotated[str, Key("the file")]
    replies: Annotated[int, Key("how many it holds", "replies")]
    bytes: Annotated[int, Key("how large it is", "bytes")]
    oldest_at: Annotated[
        float | None, Key("when its oldest reply came", "seconds since 1970", null="it is empty")
    ]
    listed: Annotated[
        list[CacheReply] | UnsetType, Key("of `explain` only: replies, the newest first")
    ] = UNSET


class _Source(click.Path):
    """A config, or a folder, whose cache is meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not Path(value).exists():
            self.fail(
                f"{value} does not exist. --of takes a config or a folder; the cache is cleared as a whole,"
                " not by model.",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


class _OfCache(click.Command):
    """A command of the cache, which says where `--of` belongs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name != "--of":
                raise
            at = next(i for i, word in enumerate(words) if word.partition("=")[0] == "--of")
            of = words[at : at + 1 + (words[at] == "--of")]
            rest = [*words[:at], *words[at + len(of) :]]
            of = of if len(of) > 1 or "=" in of[0] else ["--of", "FOLDER"]
            raise click.UsageError(
                f"--of comes before `{ctx.info_name}`: evenhand cache"
                f" {shlex.join([*of, str(ctx.info_name), *rest])}",
                ctx,
            ) from None


@click.group(short_help="Inspect or clear the reply cache.")
@click.option(
    "--of",
    "source",
    type=_Source(path_type=Path, exists=True),
    default=".",
    help="The config file or folder that the cache belongs to.  [default: the current folder]",
)
@click.pass_context
def cache(ctx: click.Context, source: Path) -> None:
    """Inspect the reply cache, or clear it.

    The cache answers a request that any run has sent before. Runs keep their own replies, so clearing the cache takes
    nothing from them.
    """
    from evenhand.store.cache import Cache
    from evenhand.store.run_lookup import cache_folder, home_for

    ctx.obj = Cache.open(cache_folder(home_for(source)))


@cache.command(cls=_OfCache)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
@click.pass_obj
def stats(store: Cache, as_json: bool) -> None:
    """Show where the cache is, and how large."""
    statistics = store.stats()
    store.close()
    if as_json:
        say_json(_document(statistics))
        return
    click.echo(f"{statistics.path}: {statistics.entries} replies, {statistics.bytes / 1e6:.1f} MB")
    if statistics.oldest_at is not None:
        click.echo(f"the oldest is of {_date(statistics.oldest_at)}")


@cache.command(cls=_OfCache)
@click.argument("key", default="")
@number_option("--first", within=ROWS, default=20, show_default=True, help="Show at most N.")
@flag("--json", "as_json", help="Print one JSON document to stdout.")
@click.pass_obj
def explain(store: Cache, key: str, first: int, as_json: bool) -> int:
    """List the cached replies, newest first, each with its request.

    With KEY, only those whose key begins so; exits with 2 if there is none.
    """
    from evenhand.core.secrets import shown
    from evenhand.core.wording.words import safe

    rows: list[CacheReply] = []
    for entry in islice(store.entries(key), first):
        request = shown(entry.identity.decode("utf-8", "replace"))
        rows.append(
            CacheReply(
                key=entry.key,
                draw=entry.draw,
                bytes=entry.size,
                created_at=entry.created_at,
                request=request,
            )
        )
        if not as_json:
            click.echo(
                f"{entry.key}  draw {entry.draw}  {entry.size} bytes  {_date(entry.created_at)}"
            )
            click.echo(f"    {safe(request)}")
    if as_json:
        say_json(_document(store.stats(), rows))
    store.close()
    if not rows:
        tell(f"no key begins with {key}" if key else "the cache is empty")
    return USAGE if not rows and key else PASSED


@cache.command(cls=_OfCache)
@click.pass_obj
def clear(store: Cache) -> None:
    """Delete all cached replies. Runs are unaffected."""
    count = store.clear()
    click.echo(f"{count} replies forgotten")


def _document(
    statistics: CacheStats, listed: list[CacheReply] | UnsetType = UNSET
) -> dict[str, Any]:
    """The cache's statistics as a document of the schema `evenhand.cache/1`, with the replies that `explain` lists."""
    return as_object(
        CacheDocument(
            schema=SCHEMA,
            path=str(statistics.path),
            replies=statistics.entries,
            bytes=statistics.bytes,
            oldest_at=statistics.oldest_at,
            listed=listed,
        )
    )


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
