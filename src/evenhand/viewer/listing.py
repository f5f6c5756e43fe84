"""Which runs there are, and a line on each. What was read of a file is kept until the file changes."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.run import Totals, verdict
from evenhand.stats.interval import wilson_of_clusters
from evenhand.store.catalogue import homes, paths
from evenhand.store.locks import held, lock_of
from evenhand.store.runfile import RunFile
from evenhand.viewer.shapes import Interval, RunSummary

FEW = 20_000
"""Trials that are looked at one by one for the list and for the first paint; of larger runs that comes later."""
_WALK_EVERY_S = 5.0


class NoSuchRun(UsageError):
    """There is no run with this id."""


@dataclass(frozen=True, slots=True)
class State:
    """What tells whether a run file has changed: its and its log's time and size."""

    file: tuple[int, int]
    log: tuple[int, int]

    @staticmethod
    def of(path: Path) -> State:
        """The state of a file now; of none where it is gone."""
        return State(_stat(path), _stat(path.with_name(path.name + "-wal")))


def _stat(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 (thousands of them)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


class Runs:
    """The runs that somebody who stands in `start` may mean. May be used by several threads.

    Args:
        start: The folder.
        also: A run file elsewhere.
    """

    def __init__(self, start: Path, also: Path | None = None) -> None:
        self._start = start
        self._also = also
        self._lock = threading.Lock()
        self._homes: list[Path] = []
        self._walked = -_WALK_EVERY_S
        self._paths: dict[str, Path] = {}
        self._known: dict[Path, tuple[State, RunSummary]] = {}

    def list(self) -> list[RunSummary]:
        """All of them, newest first; a file that cannot be read is listed with its problem."""
        with self._lock:
            self._look()
            found = [self._summary(path) for path in self._paths.values()]
        return sorted(found, key=lambda run: run.id, reverse=True)

    def path(self, run: str) -> Path:
        """The file of the run with this id.

        Raises:
            NoSuchRun: There is none.
        """
        with self._lock:
            if run not in self._paths:
                self._look()
            found = self._paths.get(run)
        if found is None:
            raise NoSuchRun(f"there is no run {run:.40}", hint="It may have been deleted.")
        return found

    def summary(self, run: str) -> RunSummary:
        """The line on the run with this id.

        Raises:
            NoSuchRun: There is none.
        """
        path = self.path(run)
        with self._lock:
            return self._summary(path)

    def _look(self) -> None:
        if time.monotonic() - self._walked >= _WALK_EVERY_S:
            self._homes = homes(self._start)
            self._walked = time.monotonic()
        found: dict[str, Path] = {}
        for path in (path for home in self._homes for path in paths(home)):
            found.setdefault(path.stem, path)
        if self._also is not None:
            found[self._also.stem] = self._also
        self._paths = found
        self._known = {path: known for path in found.values() if (known := self._known.get(path))}

    def _summary(self, path: Path) -> RunSummary:
        state = State.of(path)
        known = self._known.get(path)
        if known is None or known[0] != state:
            known = state, _read(path)
            self._known[path] = known
        summary, alive = known[1], held(lock_of(path))
        return summary if summary.alive == alive else replace(summary, alive=alive)


def _read(path: Path) -> RunSummary:
    try:
        with RunFile.open(path) as run:
            return replace(summary_of(run), id=path.stem)
    except EvenhandError as error:
        return RunSummary(id=path.stem, problem=str(error))


def summary_of(run: RunFile, totals: Totals | None = None) -> RunSummary:
    """The line on an open run.

    Args:
        run: It.
        totals: Its totals, where they are known.
    """
    meta = run.meta
    totals = totals or run.totals()
    return RunSummary(
        id=run.path.stem,
        title=meta.title,
        source=meta.source,
        status=meta.status,
        alive=run.alive,
        created_at=meta.created_at,
        finished_at=meta.finished_at,
        planned=meta.planned,
        cases=meta.case_count,
        variants=len(meta.variants),
        repeats=meta.repeats,
        verdict=verdict(totals, meta.planned, meta.pass_rate),
        totals=totals,
        rate=rate_of(run) if totals.trials <= FEW else None,
        fingerprint=meta.fingerprint,
    )


def rate_of(run: RunFile) -> Interval | None:
    """The pass rate over all columns; the trials of a case, in whichever column, are not taken for more cases."""
    cases: dict[str, tuple[int, int]] = {}
    for tally in run.tallies():
        passed, n = cases.get(tally.case, (0, 0))
        cases[tally.case] = passed + tally.passed, n + tally.n
    n = sum(n for _, n in cases.values())
    if not n:
        return None
    value = sum(passed for passed, _ in cases.values()) / n
    return Interval(value, *wilson_of_clusters(list(cases.values())), len(cases))
