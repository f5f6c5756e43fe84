"""Runs of remotes as they are named on the command line: `REMOTE#RUN`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.cli.streams import tell


class RemoteRuns:
    """Runs of remotes. Implements `evenhand.cli.run_names.RunNames`."""

    def one(self, name: str) -> str | None:
        """The file of a remote's run, fetched to this machine; None where the name is none of a remote's."""
        from evenhand.store.catalogue import cache_folder, home_for
        from evenhand.wings.remotes.address import remote_run
        from evenhand.wings.remotes.fetching import fetch
        from evenhand.wings.remotes.opening import remote_at

        meant = remote_run(name)
        if meant is None:
            return None
        with remote_at(meant.address) as remote:
            path = fetch(remote, meant.run, cache_folder(home_for(None)))
        return f"{path}:{meant.column}" if meant.column else str(path)

    def several(self, name: str) -> Sequence[Path] | None:
        """The files of all runs of a remote, on this machine; says which are left out, and why."""
        from evenhand.core.wording.words import safe
        from evenhand.store.catalogue import cache_folder, home_for
        from evenhand.wings.remotes.address import remote_run
        from evenhand.wings.remotes.fetching import fetch_all
        from evenhand.wings.remotes.opening import remote_at

        meant = remote_run(name)
        if meant is None:
            return None
        with remote_at(meant.address) as remote:
            runs = fetch_all(remote, cache_folder(home_for(None)))
        for why in runs.left_out:
            tell(f"a run is left out: {safe(why)}")
        return runs.files


RUN_NAMES = RemoteRuns()
