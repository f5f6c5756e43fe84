"""The folder `.evenhand`, which keeps runs and the cache: how it is made, and which run files were made in it.

It keeps itself out of version control.

How a run file is recognised: a run's settings name paths, models and programs, and `resume` and its like run what they
name. So each home has a key, made with its first run, and a run's file carries an HMAC of its settings. A file that
somebody sent, or that was made in another home, has none that this key makes. The key lies beside the runs, not in
them: they can be sent to others, and the home can be moved as a whole.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from evenhand.core.encoding import encode
from evenhand.core.run import RunMeta
from evenhand.core.secrets import known
from evenhand.store.replacing import beside

HOME = ".evenhand"
KEY = "key"
"""The name of the file with a home's key."""
_BYTES = 32
_IGNORE = "# Made by Evenhand: runs hold prompts and answers.\n*\n"


def make_folder(folder: Path) -> None:
    """Makes a folder, and those above it, for its owner alone. A `.evenhand` among them gets a .gitignore.

    One that was there already gets none: whoever deleted its .gitignore wants its runs committed.

    Raises:
        OSError: It cannot be made.
    """
    new = [
        place for place in (folder, *folder.parents) if place.name == HOME and not place.exists()
    ]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for home in new:
        # Another process may have been faster, and no run depends on it.
        with (
            suppress(OSError),
            (home / ".gitignore").open("x", encoding="utf-8") as file,
        ):
            file.write(_IGNORE)


def signed(meta: RunMeta, home: Path) -> RunMeta:
    """What a run says of itself, with the signature of the home that makes it; without one where it can keep no key."""
    key = _key(home) or _made(home)
    return replace(meta, signature="" if key is None else _signature(meta, key))


def is_signed(meta: RunMeta, homes: Iterable[Path]) -> bool:
    """Whether one of these homes made the run, and what it would run is as it was then."""
    keys = (key for home in homes if (key := _key(home)) is not None)
    return bool(meta.signature) and any(
        hmac.compare_digest(_signature(meta, key), meta.signature) for key in keys
    )


def _signature(meta: RunMeta, key: bytes) -> str:
    # As it is written: without the secrets that a command line may have had.
    text = known.without(encode([meta.id, meta.source, meta.settings]))
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def _key(home: Path) -> bytes | None:
    with suppress(OSError):
        key = (home / KEY).read_bytes()
        return key if len(key) == _BYTES else None
    return None


def _made(home: Path) -> bytes | None:
    """A new key, or that of a process that has just made one."""
    try:
        make_folder(home)
        with beside(home / KEY, 0o600) as file:
            file.write_bytes(secrets.token_bytes(_BYTES))
            os.link(file, home / KEY)  # fails where there is one, and never leaves half of one
    except FileExistsError:
        pass
    except OSError:
        return None
    return _key(home)
