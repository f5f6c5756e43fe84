"""The cassette of a pytest session: whether it is replayed or recorded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.plan import CassetteUse
from evenhand.core.record import Record
from evenhand.engine.replay.cassettes import look_at_places
from evenhand.providers.leading import keys_not_needed
from evenhand.store.cassette import CassetteSource
from evenhand.store.recordings import Recordings


class SessionCassette(Record, frozen=True):
    """A session's cassette.

    Attributes:
        recordings: What is in it; None where it is recorded.
    """

    path: Path
    recordings: Recordings | None


def cassette_for(config: pytest.Config) -> SessionCassette | None:
    """The cassette that the command line or the configuration names; None for none.

    Raises:
        UsageError: It is damaged or too old; or it would be recorded in CI, or by one of several workers.
    """
    path, anew = _named(config), bool(config.getoption("evenhand_record"))
    if path is None:
        if anew:
            raise UsageError(
                "--evenhand-record: there is no cassette to record",
                hint="Name one: --evenhand-cassette FILE.",
            )
        return None
    if path.exists() and not anew:
        return SessionCassette(path, Recordings(CassetteSource.read(path)))
    if os.environ.get("CI", "").lower() not in ("", "0", "false", "no") and not anew:
        raise UsageError(
            f"there is no cassette {path}, and CI is set: no model was asked",
            hint="Record it on your machine and commit it, or give --evenhand-record.",
        )
    if hasattr(config, "workerinput"):
        raise UsageError(
            "a cassette cannot be recorded by several workers", hint="Run it once with -n 0."
        )
    look_at_places([CassetteUse(path, frozenset())])
    return SessionCassette(path, None)


def lend_keys(config: pytest.Config) -> None:
    """While a cassette is replayed, has a key in the environment for each vendor without one: nobody will see it."""
    path = _named(config)
    if path is None or not path.exists() or config.getoption("evenhand_record"):
        return
    lent = keys_not_needed(os.environ)
    os.environ.update(lent)

    def take_back() -> None:
        for name, key in lent.items():
            # A test may have set a key of its own in the meantime.
            if os.environ.get(name) == key:
                del os.environ[name]

    config.add_cleanup(take_back)


def _named(config: pytest.Config) -> Path | None:
    """The file; None for none."""
    option = config.getoption("evenhand_cassette")
    named = option or config.getini("evenhand_cassette")
    if not named:
        return None
    return (config.invocation_params.dir if option else config.rootpath) / str(named)
