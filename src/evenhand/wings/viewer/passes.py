"""One pass over a run file, which serves everybody who looks at the run.

How this works: a thread reads the results once and writes two anonymous files: blocks of columns as lines of JSON, and
each trial's text in lower case. Who asks for the blocks reads the first file while it is being written; a search is a
search for bytes in the second. Memory stays flat however large the run is, a page that is loaded again costs no second
pass, and nothing is left behind when the process ends, however it does.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from evenhand.analysis.filters.pattern import Pattern, PatternError
from evenhand.analysis.summaries.marks import Marked
from evenhand.core.errors import EvenhandError, StoreError, UsageError
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.columns import EXPLANATION, FIELD, TRIAL, CellBlock, parts

CHUNK = 1 << 22
"""Bytes that are read at once."""
_EXPLANATION = EXPLANATION.encode()


class Pass:
    """One pass over a run file, under way or done. Any number of threads may read from it.

    Attributes:
        took: Seconds; None while it is under way.
    """

    def __init__(self, path: Path) -> None:
        self.took: float | None = None
        self._path = path
        self._error: EvenhandError | None = None
        self._stopped = False
        self._more = threading.Condition()
        self._written = 0
        self._starts = array("Q")
        self._places = array("Q")
        self._end = 0
        self._judged, self._triggers = array("Q"), array("Q")
        self._files = tempfile.TemporaryFile(buffering=0), tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (for as long as this lives)
        for file in self._files:
            weakref.finalize(self, file.close)
        threading.Thread(target=self._run, name="evenhand-columns", daemon=True).start()

    def stop(self) -> None:
        """Ends it early: its run has changed, or the server closes."""
        self._stopped = True

    def read(self, at: int) -> bytes:
        """The next bytes of the blocks; waits until there are some. None left: empty.

        Raises:
            StoreError: The run file cannot be read.
        """
        with self._more:
            self._more.wait_for(lambda: self._written > at or self.took is not None)
            if self._written <= at and self._error:
                raise self._error
            most = min(self._written - at, CHUNK)
        return os.pread(self._files[0].fileno(), most, at)

    def marked(self) -> Marked:
        """The trials that findings are about. Waits for the pass.

        Raises:
            StoreError: The run file cannot be read.
        """
        self._wait()
        return Marked(*(sorted(set(each)) for each in (self._judged, self._triggers)))

    def search(self, text: str, *, blind: bool = False) -> list[int]:
        """The places in the plan of the trials in which this text stands, whatever its case. Waits for the pass.

        Args:
            blind: Not in what tells of verdicts: reasons and errors.

        Raises:
            StoreError: The run file cannot be read.
        """
        self._wait()
        needle = text.lower().encode("utf-8", "surrogatepass")
        # The separators stand between texts: a text that holds one would be found across two of them.
        if not needle or not {FIELD, EXPLANATION, TRIAL}.isdisjoint(text):
            return []
        places: list[int] = []
        many = False
        for first, after, end, room in self._texts():
            hits = (self._many if many else self._few)(needle, room, first, after, end, blind)
            places += hits
            # Chunks of a run are alike: what many trials had is sought trial by trial, which is then quicker.
            many = len(hits) > (after - first) // 8
        return places

    def search_pattern(self, source: str, *, blind: bool = False) -> list[int]:
        """The places in the plan of the trials that have a text field in which a regular expression matches.

        Args:
            blind: Not in what tells of verdicts.

        Raises:
            UsageError: It is not one of `report.filters.pattern`, or takes too long.
            StoreError: The run file cannot be read.
        """
        try:
            pattern = Pattern(source)
        except PatternError as error:
            raise UsageError(error.what, hint=error.hint) from error
        self._wait()
        needles = [text.encode("utf-8", "surrogatepass") for text in pattern.needed or ()]
        places: list[int] = []
        for first, after, end, room in self._texts():
            base = self._starts[first]
            edges = [*(start - base for start in self._starts[first:after]), end - base]
            for place, (begins, ends) in zip(
                self._places[first:after], pairwise(edges), strict=True
            ):
                # What the expression cannot do without is sought first: finding bytes costs far less than matching.
                if needles and all(room.find(needle, begins, ends) < 0 for needle in needles):
                    continue
                text = room[begins:ends].decode("utf-8", "surrogatepass").rstrip(TRIAL)
                about, _, explanation = text.partition(EXPLANATION)
                searched = about if blind else f"{about}{FIELD}{explanation}"
                if any(map(pattern.search, searched.split(FIELD))):
                    places.append(place)
        return places

    def _texts(self) -> Iterator[tuple[int, int, int, bytearray]]:
        """The texts chunk by chunk: its first trial, the one after its last, where it ends, and its bytes."""
        first, room = 0, bytearray(CHUNK)
        while first < len(self._starts):
            after = self._chunk(first)
            base = self._starts[first]
            end = self._starts[after] if after < len(self._starts) else self._end
            if end - base > len(room):
                room = bytearray(end - base)  # one trial alone may be longer
            # At a place, as other searches read the same file at the same time.
            os.preadv(self._files[1].fileno(), [memoryview(room)[: end - base]], base)
            yield first, after, end, room
            first = after

    def _chunk(self, first: int) -> int:
        """The trial that begins the chunk after that which this one begins."""
        starts = self._starts
        return max(first + 1, bisect_right(starts, starts[first] + CHUNK, first) - 1)

    def _few(
        self, needle: bytes, room: bytearray, first: int, after: int, end: int, blind: bool
    ) -> list[int]:
        """The hits among trials of which hardly any has the text: each hit says whose it is."""
        starts, places, base = self._starts, self._places, self._starts[first]
        hits: list[int] = []
        at = room.find(needle, 0, end - base)
        while at >= 0:
            trial = bisect_right(starts, base + at, first, after) - 1
            if not blind or room.find(_EXPLANATION, starts[trial] - base, at) < 0:
                hits.append(places[trial])
            if trial + 1 == after:
                break
            at = room.find(needle, starts[trial + 1] - base, end - base)
        return hits

    def _many(
        self, needle: bytes, room: bytearray, first: int, after: int, end: int, blind: bool
    ) -> list[int]:
        """The hits among trials of which many have the text: each trial is looked into."""
        base = self._starts[first]
        edges = [start - base for start in self._starts[first:after]]
        there = room.find
        return [
            place
            for place, begins, ends in zip(
                self._places[first:after], edges, (*edges[1:], end - base), strict=True
            )
            if there(needle, begins, there(_EXPLANATION, begins, ends) if blind else ends) >= 0
        ]

    def _wait(self) -> None:
        with self._more:
            self._more.wait_for(lambda: self.took is not None)
        if self._error:
            raise self._error

    def _run(self) -> None:
        began = time.perf_counter()
        try:
            with RunFile.open(self._path) as run:
                for part in parts(run):
                    if self._stopped:
                        raise StoreError("the run is being read again")  # noqa: TRY301 (told like the others)
                    self._put(part)
        except EvenhandError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001 (whoever waits has to be told)
            self._error = StoreError(f"{self._path} cannot be read: {error}")
        with self._more:
            self.took = time.perf_counter() - began
            self._more.notify_all()

    def _put(self, part: CellBlock) -> None:
        _write(self._files[1].fileno(), part.text)
        self._starts.extend([self._end + start for start in part.starts])
        self._places.extend(part.places)
        self._end += len(part.text)
        self._judged.extend(part.judged)
        self._triggers.extend(part.triggers)
        _write(self._files[0].fileno(), part.line)
        with self._more:
            self._written += len(part.line)
            self._more.notify_all()


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


class RunPasses:
    """The passes over the runs that are looked at: one for each state of a file, and not too many of them.

    Args:
        most: How many runs are remembered.
    """

    def __init__(self, most: int = 4) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: dict[Path, tuple[int, float, Pass]] = {}

    def of(self, path: Path) -> Pass:
        """The pass over this run as it is now. Of a run that grows no more than half of the time is spent on passes.

        Raises:
            StoreError: The run file cannot be read.
        """
        while True:
            with RunFile.open(path) as run:
                settled = run.settled()
            with self._lock:
                # Taken out and put back at the end: the first one is the one that was looked at longest ago.
                entry = self._kept.pop(path, None)
                rest = 0.0 if entry is None or entry[0] == settled else self._rest(*entry[1:])
                if entry is None or (entry[0] != settled and not rest):
                    entry = settled, time.monotonic(), Pass(path)
                self._kept[path] = entry
                while len(self._kept) > self._most:
                    self._kept.pop(next(iter(self._kept)))[2].stop()
                if not rest:
                    return entry[2]
            time.sleep(rest)

    def _rest(self, began: float, last: Pass) -> float:
        """Seconds until an outdated pass may be followed by another."""
        if last.took is None:
            # It is still reading: what it will have taken is not known.
            return 0.1
        return max(0.0, began + 2 * last.took - time.monotonic())

    def close(self) -> None:
        """Ends them all."""
        for _, _, last in self._kept.values():
            last.stop()
