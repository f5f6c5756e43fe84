"""Cassettes of a plan: replayed where their files are there, and otherwise recorded by this run.

How this works: a cassette belongs to some variants of the plan, those of one eval set, or to all. Before the run, each
file that is there is opened and answers the calls of its variants. After the run, the others are written of the run's
file, if the run was whole and no trial of theirs is in error: a cassette that replays errors helps nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import field

from evenhand.core.errors import UsageError
from evenhand.core.plan import CassetteUse, Plan
from evenhand.core.record import MutableRecord
from evenhand.core.scripted import script_answers
from evenhand.engine.replay.answering import Replay
from evenhand.store.cassette import (
    CassetteSource,
    is_cassette,
    is_of_models,
    read_cassette,
    scripted_over_models,
)
from evenhand.store.cassette_writing import cassette_of, write_cassette
from evenhand.store.recordings import Recordings
from evenhand.store.runfile import RunFile

RECORD = (
    "If the change was meant, record the cassette again: evenhand run --record, or record=True."
)


class Cassettes(MutableRecord):
    """The recordings of a plan's variants.

    Attributes:
        replays: By the variant's index.
        missing: What is to be recorded.
    """

    replays: dict[int, Replay] = field(default_factory=dict[int, Replay])
    missing: list[CassetteUse] = field(default_factory=list[CassetteUse])


@contextmanager
def recordings_for(
    plan: Plan,
    given: Recordings | None,
    uses: Sequence[CassetteUse],
    *,
    asks: bool,
    anew: bool,
    regrades: bool = False,
) -> Iterator[Cassettes]:
    """What answers the calls of a plan.

    Args:
        given: What answers all of them; whoever opened it closes it. Then no cassette counts.
        asks: What is not in `given` is asked.
        anew: All cassettes are recorded again.
        regrades: `given` has outputs, and judges are asked about them.

    Raises:
        UsageError: A cassette is damaged, or too old.
    """
    cassettes = Cassettes()
    opened: list[Recordings] = []
    try:
        if given is not None:
            if regrades:
                from evenhand.engine.replay.regrading import Regrade  # noqa: PLC0415 (for regrading only)

                replay = Regrade.over(given, plan)
            else:
                replay = Replay.of(given, plan, asks=asks)
            cassettes.replays = dict.fromkeys((one.index for one in plan.variants), replay)
        for use in uses if given is None else ():
            if anew or not use.path.exists():
                cassettes.missing.append(use)
                continue
            recordings = Recordings(CassetteSource.read(use.path))
            opened.append(recordings)
            replay = Replay.of(recordings, plan, hint=RECORD)
            cassettes.replays |= dict.fromkeys(use.variants, replay)
        yield cassettes
    finally:
        for recordings in opened:
            recordings.close()


def look_at_places(uses: Sequence[CassetteUse], *, anew: bool = False) -> None:
    """That every cassette can be written where it is to be, before anything is paid for.

    Args:
        anew: All of them are recorded again.

    Raises:
        UsageError: Something else is there, or replies of models that scripted ones would replace.
    """
    for use in uses:
        if use.path.exists() and not is_cassette(use.path):
            raise UsageError(
                f"{use.path} is there, and is not a cassette",
                hint="Give the cassette another name.",
            )
        if anew and script_answers() and is_of_models(use.path):
            raise scripted_over_models(use.path)


def record_cassettes(
    run_file: Path, uses: Sequence[CassetteUse], note: Callable[[str], None]
) -> None:
    """Writes the cassettes of a finished run.

    Args:
        note: Told what was written, and what was not.

    Raises:
        UsageError: One cannot be written.
    """
    with RunFile.open(run_file) as run:
        errors: Mapping[int, int] = {
            variant.index: totals.errors
            for variant, totals in zip(run.meta.variants, run.by_variant(), strict=True)
        }
        for use in uses:
            failed = sum(errors.get(index, 0) for index in use.variants)
            why = "only a part of it was run" if not use.whole else ""
            if failed:
                why = f"{failed:,} {'trial is' if failed == 1 else 'trials are'} in error"
            if why:
                note(f"cassette {use.path.name} was not recorded: {why}")
                continue
            max_age_s = read_cassette(use.path)[0].max_age_s if use.path.exists() else None
            data, header = cassette_of(run, variants=use.variants, max_age_s=max_age_s)
            write_cassette(data, use.path)
            calls = f"{header.calls:,} call{'s'[: header.calls != 1]}"
            secrets = f"{header.hidden:,} secret{'s'[: header.hidden != 1]}"
            hidden = f", {secrets} left out" if header.hidden else ""
            note(f"recorded: cassette {use.path.name}, {calls}{hidden}")
            if header.offline:
                note(
                    f"its replies are scripted (--offline): {use.path.name} says nothing of what models answer"
                )
