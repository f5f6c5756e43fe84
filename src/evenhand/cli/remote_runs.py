"""Runs as they are named on the command line where a remote may be meant, too: `REMOTE#RUN`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.streams import tell

if TYPE_CHECKING:
    from evenhand.wings.remotes.address import Address


class RunName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] (it takes none before 8.5)
    """A run, as somebody names it: one of a remote becomes its file on this machine, `FILE` or `FILE:COLUMN`."""

    name = "run"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Fetches the run that is meant, if it is a remote's."""
        del param, ctx
        if value.startswith("#"):  # a cell: the second variant's is `#2:3`
            return value
        if "#" not in value and "/" not in value and not Path(value).is_dir():
            return value
        from evenhand.wings.remotes.address import remote_run

        meant = remote_run(value)
        if meant is None:
            return value
        from evenhand.store.catalogue import cache_folder, home_for
        from evenhand.wings.remotes.fetching import fetch
        from evenhand.wings.remotes.opening import remote_at

        with remote_at(meant.address) as remote:
            path = fetch(remote, meant.run, cache_folder(home_for(None)))
        return f"{path}:{meant.column}" if meant.column else str(path)


def whole_remote(text: str | None) -> Address | None:
    """The remote of which all runs are meant; None where none is named, or one of its runs is."""
    if not text or "#" in text:
        return None
    from evenhand.wings.remotes.address import remote_run

    meant = remote_run(text)
    return meant.address if meant else None


def fetched(address: Address) -> Sequence[Path]:
    """The files of all runs of a remote, on this machine; says which are left out, and why."""
    from evenhand.core.wording.words import safe
    from evenhand.store.catalogue import cache_folder, home_for
    from evenhand.wings.remotes.fetching import fetch_all
    from evenhand.wings.remotes.opening import remote_at

    with remote_at(address) as remote:
        runs = fetch_all(remote, cache_folder(home_for(None)))
    for why in runs.left_out:
        tell(f"a run is left out: {safe(why)}")
    return runs.files
