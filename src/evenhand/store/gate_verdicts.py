"""What a gate came to, in the file of its run: whoever lists runs needn't read its baseline for it."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from evenhand.core.encoding import encode
from evenhand.core.score import GateVerdict
from evenhand.store.adding import added_to
from evenhand.store.opened import own_meta


def keep_gate_verdict(path: Path, verdict: GateVerdict) -> None:
    """Writes a gate's verdict into the file of its run, which has ended.

    Raises:
        StoreError: The file cannot be written.
    """
    with added_to(path, "verdict of a gate") as db:
        meta = replace(own_meta(db, path), gate_verdict=verdict)
        db.execute("update run set meta = ? where id = ?", (encode(meta), meta.id))
