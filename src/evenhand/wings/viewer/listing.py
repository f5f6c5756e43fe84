"""Which runs there are, a line on each, and when one has grown. What was read of a file is kept until it changes."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from evenhand.analysis.summaries.rates import share_in, share_of_cases
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.record import Record
from evenhand.core.run import RunMeta, Totals
from evenhand.core.variant import only_set
from evenhand.stats.tallies import Share, Tally
from evenhand.store.home import held, lock_of
from evenhand.store.run_lookup import homes, matching, paths
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.shapes import RateShape, RunSummary

FEW = 20_000
"""Trials that are looked at one by one for the list and for the first paint; of larger runs that comes later."""
MOST = 60
"""Runs of one config or set that are looked at together: the newest."""
_WALK_EVERY_S = 5.0


class NoSuchRun(UsageError):
    """There is no run with this id."""


class State(Record, frozen=True):
    """What tells whether a run file has changed: its and its log's time and size."""

    file: tuple[int, int]
    log: tuple[int, int]

    @staticmethod
    def of(path: Path) -> State:
        """The state of a file now; of none where it is gone."""
        return State(_stat(path), _stat(path.with_name(path.name + "-wal")))


def _stat(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)  # noqa: PTH116 (thousands of them)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


class ReadRun(Record, frozen=True):
    """What was read of a run file in one state: the line on it, and each column's totals."""

    state: State
    summary: RunSummary
    by_variant: Sequence[Totals] = ()


class Runs:
    """The runs that somebody who stands in `start` may mean. May be used by several threads.

    Args:
        also: A run file elsewhere.
        only: These run files, in place of those that are found from `start`.
    """

    def __init__(
        self, start: Path, also: Path | None = None, only: Sequence[Path] | None = None
    ) -> None:
        self._only = only
        self._start = start
        self._also = also
        self._lock = threading.Lock()
        self._homes: list[Path] = []
        self._walked = -_WALK_EVERY_S
        self._paths: dict[str, Path] = {}
        self._hidden: dict[Path, Path] = {}
        self._known: dict[Path, ReadRun] = {}

    def show_only(self, files: Sequence[Path]) -> None:
        """Shows these run files from now on, in place of those that were named at first."""
        with self._lock:
            self._only = files

    def list(self) -> list[RunSummary]:
        """All runs, newest first; a file that cannot be read is listed with its problem."""
        with self._lock:
            self._look()
            files = list(self._paths.values())
        return sorted((self.known(p).summary for p in files), key=lambda r: r.id, reverse=True)

    def like(self, path: Path) -> list[RunSummary]:
        """The runs of what this one is of, itself included: those with results, the oldest first, the newest MOST."""
        run = self.known(path).summary
        alike = [
            one
            for one in self.list()
            if not (one.problem or one.of_judges)
            and one.totals.trials
            and (one.source, one.eval_set) == (run.source, run.eval_set)
            and (run.source or one.title == run.title)
        ]
        return sorted(alike, key=lambda one: (one.created_at, one.id))[-MOST:]

    def hidden(self) -> dict[Path, Path]:
        """The files that are not shown because another one has the same id, each with the one that is shown."""
        with self._lock:
            self._look()
            hidden = self._hidden.items()
            return {path: other for path, other in hidden if path.resolve() != other.resolve()}

    def path(self, run: str) -> Path:
        """The file of the run with this id, or of the only one whose id begins so.

        Raises:
            NoSuchRun: There is none, or more than one.
        """
        with self._lock:
            matches = self._meant(run)
            if len(matches) != 1 or not matches[0].is_file():
                self._look()
                matches = self._meant(run)
        if len(matches) > 1:
            raise NoSuchRun(
                f"{run!r:.40} could be any of {len(matches)} runs", hint="Write more of the id."
            )
        if not matches or not matches[0].is_file():
            raise NoSuchRun(f"there is no run {run!r:.40}", hint="It may have been deleted.")
        return matches[0]

    def _meant(self, run: str) -> list[Path]:
        """By id, and never by path: what only begins like one has letters and digits alone."""
        if run in self._paths:
            return [self._paths[run]]
        plain = run.isascii() and run.isalnum()
        return matching(self._paths.values(), run) if plain else []

    def known(self, path: Path) -> ReadRun:
        """What there is to know of a run file as it is now, read anew where it has changed."""
        state = State.of(path)
        known = self._known.get(path)
        if known is None or known.state != state:
            known = self._known[path] = _read(path, state)
        alive = held(lock_of(path))
        if known.summary.alive == alive:
            return known
        return replace(known, summary=replace(known.summary, alive=alive))

    def _found(self) -> list[Path]:
        if time.monotonic() - self._walked >= _WALK_EVERY_S:
            self._homes = homes(self._start)
            self._walked = time.monotonic()
        return [path for home in self._homes for path in paths(home)]

    def _look(self) -> None:
        every = self._found() if self._only is None else list(self._only)
        if self._also is not None:
            every.insert(0, self._also)  # asked for by name: before the nearest
        by_id: dict[str, Path] = {}
        for path in every:
            by_id.setdefault(path.stem, path)
        self._paths = by_id
        self._hidden = {path: by_id[path.stem] for path in every if path != by_id[path.stem]}
        for gone in self._known.keys() - by_id.values():
            self._known.pop(gone, None)


def _read(path: Path, state: State) -> ReadRun:
    try:
        with RunFile.open(path) as run:
            by_variant = run.by_variant()
            return ReadRun(state, summary_of(run, summed(by_variant)), by_variant)
    except EvenhandError as error:
        return ReadRun(state, RunSummary(id=path.stem, problem=str(error)))


def summed(by_variant: Sequence[Totals]) -> Totals:
    """The totals of a run, from those of its columns."""
    costs = [totals.cost_usd for totals in by_variant]
    counts: dict[str, int] = {
        field.name: sum(getattr(totals, field.name) for totals in by_variant)
        for field in fields(Totals)
        if field.name != "cost_usd"
    }
    known = None not in costs
    return Totals(**counts, cost_usd=sum(c for c in costs if c is not None) if known else None)


def summary_of(run: RunFile, totals: Totals) -> RunSummary:
    """The line on an open run with these totals."""
    meta = run.meta
    return RunSummary(
        id=run.path.stem,
        title=meta.title,
        source=source_of(meta),
        eval_set=only_set(meta.variants),
        status=meta.status,
        alive=run.alive,
        created_at=meta.created_at,
        finished_at=meta.finished_at,
        took_s=meta.took_s,
        planned=meta.planned,
        cases=meta.case_count,
        variants=len(meta.variants),
        repeats=meta.repeats,
        verdict=verdict_of(run, totals),
        totals=totals,
        rate=over_all(run) if totals.trials <= FEW else None,
        fingerprint=meta.fingerprint,
        tags=run.remarks.tags,
        note=run.remarks.note,
        said_by=run.remarks.by,
        of_judges=meta.is_judge_check,
        of_gate=meta.is_of_gate,
        # A run that is resumed has the verdict of its earlier session.
        gate_verdict=meta.gate_verdict if meta.status in ("finished", "decided") else None,
        edited=meta.is_edited,
        scripted=meta.is_scripted,
        sample=meta.is_sample,
    )


def source_of(meta: RunMeta) -> str:
    """What a run is of: the file or folder that it was made or imported from; empty for one that was made in code."""
    return meta.source or _imported_from(meta)


def _imported_from(meta: RunMeta) -> str:
    file = (meta.settings.get("imported") or {}).get("file")
    return f"imported from {file}" if file else ""


def over_all(run: RunFile) -> RateShape | None:
    """The pass rate over all columns; the trials of a case, in whichever column, are not taken for more cases."""
    groups = run.groups()
    if not any(groups):
        tallies = run.over_columns()
        return rate(share_of_cases(run.meta, tallies), len(tallies))
    together: dict[str, Tally] = {}
    for case in run.tallies():
        before = together.get(case.case, Tally())
        together[case.case] = Tally(*(a + b for a, b in zip(before, case.tally, strict=True)))
    belongs = {case: number for each in groups for case, number in each.items()}
    return rate(share_in(run.meta, together, belongs), len(together))


def rate(share: Share | None, cases: int) -> RateShape | None:
    """A pass rate in the shape that the page reads."""
    return RateShape(share.value, *share, cases) if share else None


EVERY_S = 1.0
ALIVE_EVERY = 15
"""Looks without news after which a comment is sent: a connection that is gone is found out."""


async def follow(request: web.Request, path: Path, closing: asyncio.Event) -> web.StreamResponse:
    """Server-sent events `{"seq": n}`, the first at once, until whoever listens goes or the server closes."""
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await answer.prepare(request)
    latest: int | None = None
    state: State | None = None
    quiet = 0
    while not closing.is_set():
        now = State.of(path)
        if now != state:
            state = now
            seq = await asyncio.to_thread(_growth, path)
            if seq is not None and seq != latest:
                latest, quiet = seq, 0
                await answer.write(b'data: {"seq": %d}\n\n' % seq)
        quiet += 1
        if quiet % ALIVE_EVERY == 0:
            await answer.write(b": still here\n\n")
        try:
            await asyncio.wait_for(closing.wait(), EVERY_S)
        except TimeoutError:
            continue
    return answer


def _growth(path: Path) -> int | None:
    try:
        with RunFile.open(path) as run:
            return run.growth()
    except EvenhandError:  # it is being made, or was deleted; the next look tells
        return None


ENOUGH_S = 3.0
"""Seconds after which no further run is begun."""
T = TypeVar("T")


def read_recent(runs: Runs, path: Path, look: Callable[[RunFile], T]) -> tuple[list[T], int]:
    """A look into each run of what this one is of, the oldest first, and how many were not looked into.

    The newest one is always looked into. What is left out is older, or cannot be read.
    """
    alike = runs.like(path)
    began = time.monotonic()
    looks: list[T] = []
    for one in reversed(alike):
        if looks and time.monotonic() - began > ENOUGH_S:
            break
        try:
            with RunFile.open(runs.path(one.id)) as run:
                looks.append(look(run))
        except EvenhandError:  # deleted or damaged since it was listed
            continue
    return looks[::-1], len(alike) - len(looks)
