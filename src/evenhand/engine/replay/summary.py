"""What a run replays: for people in a line, and for programs."""

from __future__ import annotations

import time
from typing import Annotated

from evenhand.core.document import Key, filled
from evenhand.core.json_shapes import is_mapping
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.wording.words import count, money, near, safe, short_id
from evenhand.store.runfile import RunFile


class Replayed(Record, frozen=True, kw_only=True):
    """What a run's file says of the recordings that answer its calls.

    Attributes:
        run: The id of the run that was recorded.
        file: Its file, or the cassette.
        recorded_at: When that run began, in seconds since 1970.
        asks: What was not recorded was asked.
        regrades: Judges were asked, about the recorded outputs.
        more: How many further cassettes there are.
        first: Where `run` was itself regraded, the id of the run whose outputs it has; else empty.
    """

    run: str
    file: str
    cassette: bool
    recorded_at: float
    asks: bool
    regrades: bool = False
    more: int = 0
    first: str = ""

    @property
    def name(self) -> str:
        """What people call it."""
        if not self.cassette:
            return f"run {short_id(self.run)}"
        rest = f" and {self.more:,} more" if self.more else ""
        return f"cassette {safe(near(self.file))}{rest}"


def replayed(meta: RunMeta) -> Replayed | None:
    """What a run replays; None for nothing."""
    record = meta.settings.get("replay")
    if not is_mapping(record):
        return None
    values = record
    return Replayed(
        run=str(values.get("run") or ""),
        file=str(values.get("file") or ""),
        cassette=bool(values.get("cassette")),
        recorded_at=float(values.get("recorded_at") or 0.0),
        asks=bool(values.get("asks")),
        regrades=bool(values.get("regrades")),
        more=len(values.get("more") or ()),
        first=str(values.get("first") or ""),
    )


def outputs_of(meta: RunMeta) -> str:
    """The id of the run whose outputs a run has: its own, or the one where regrading began."""
    source = replayed(meta)
    return (source.first or source.run) if source and source.regrades else meta.id


def replay_line(run: RunFile) -> str:
    """What a run replays, and what that saved; empty for nothing."""
    source = replayed(run.meta)
    if source is None:
        return ""
    calls, saved = run.replayed()
    when = time.strftime("%Y-%m-%d", time.localtime(source.recorded_at))
    if not calls:
        rest = ""
    elif saved is None:
        rest = ", what that saved isn't known"
    else:
        rest = f", {money(saved)} saved"
    what = "replies of" if source.regrades else "replayed from"
    return f"{what} {source.name}, recorded {when}: {count(calls, 'call')}{rest}"


def replay_note(meta: RunMeta) -> str:
    """What a comparison with a run has to say of what it replays; empty for nothing."""
    source = replayed(meta)
    if source is None:
        return ""
    what = "regrades" if source.regrades else "replays"
    return f"{short_id(meta.id)} {what} {source.name}: answers that both have are the same ones"


class RunReplay(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of what a run replays."""

    run: Annotated[str, Key("the id of the run that was recorded")]
    file: Annotated[str, Key("its file, or the cassette")]
    recorded_at: Annotated[float, Key("when that run began", "s since 1970")]
    calls: Annotated[int, Key("that were answered from it", "calls")]
    saved_usd: Annotated[
        float | None,
        Key(
            "what those calls cost when they were recorded",
            "US dollars",
            null="a price is not known",
        ),
    ]
    asks: Annotated[bool, Key("whether what was not recorded was asked")]
    regrades: Annotated[bool, Key("whether its judges were asked, about the recorded outputs")]
    first: Annotated[
        str,
        Key(
            "where `run` was itself regraded, the id of the run whose outputs it has; otherwise empty"
        ),
    ]


def replay_row(run: RunFile) -> RunReplay | None:
    """What a run replays in the keys of its document; None where nothing is replayed."""
    source = replayed(run.meta)
    if source is None:
        return None
    calls, saved = run.replayed()
    return filled(RunReplay, source, calls=calls, saved_usd=saved)
