"""A run's cells in columns, and the text to search in: one pass over the file serves everybody who looks at it.

How this works: a thread reads the results once, as far decoded as columns and text need, and writes two anonymous
files: blocks of columns as lines of JSON, and each trial's text in lower case. Who asks for the blocks reads the first
file while it is being written; a search is a search for bytes in the second. Memory stays flat however large the run
is, a page that is loaded again costs no second pass, and nothing is left behind when the process ends, however it does.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast
from zlib import crc32

import msgspec

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import EvenhandError, StoreError
from evenhand.report.findings import Marked
from evenhand.report.outcome import UNSURE
from evenhand.scorers.triggers import MEASURES
from evenhand.store.runfile import RunFile, metric_sign, warning_sign
from evenhand.viewer.shapes import Block, Row

FIRST, BLOCK = 400, 5_000
"""Cells in the first block, which somebody waits for, and in the others."""
CHUNK = 1 << 22
METADATA = 200
"""Characters of a case's metadata that a filter can ask for."""
_FIELD, _TRIAL = "\x1f", "\x1e"
"""What stands between the fields of a trial's text, and behind the last."""


class _Error(msgspec.Struct, gc=False):
    slug: str
    message: str


_NONE = msgspec.Raw(b"{}")
_UNSURE, _TRIGGERS = warning_sign(UNSURE), metric_sign(MEASURES)


class _Outcome(msgspec.Struct, gc=False):
    name: str
    outcome: str
    reason: str = ""
    named: msgspec.Raw = _NONE
    metadata: msgspec.Raw = _NONE


class _Trial(msgspec.Struct, gc=False):
    """As much of a result as columns and search take."""

    index: int
    case: str
    variant: int
    repeat: int
    outcome: str
    score: float | None
    output: Any = None
    reason: str = ""
    error: _Error | None = None
    outcomes: tuple[_Outcome, ...] = ()
    named_scores: dict[str, float] = {}
    latency_s: float | None = None
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    calls: int = 0
    cached: int = 0
    vars: msgspec.Raw = _NONE
    description: str = ""
    metadata: msgspec.Raw = _NONE
    input: Any = None


_NUMBERS = (
    *("index", "row", "variant", "repeat", "outcome", "score", "latency", "cost"),
    *("tokens_in", "tokens_out", "calls", "cached", "met", "asked", "error", "output"),
)
_trials = msgspec.json.Decoder(_Trial)
_blocks = msgspec.json.Encoder()


class Part(NamedTuple):
    """Some cells, in the plan's order.

    Attributes:
        line: The block, a line of JSON.
        text: What is searched of its trials, one after the other.
        starts: Where each begins in it.
        places: Their places in the plan.
        unsure: The places of those with a judgement of low confidence.
        triggers: The places of those of trigger tests.
    """

    line: bytes
    text: bytes
    starts: Sequence[int]
    places: Sequence[int]
    unsure: Sequence[int]
    triggers: Sequence[int]


def parts(run: RunFile) -> Iterator[Part]:
    """The run's cells, a block at a time.

    Raises:
        StoreError: The file cannot be read.
    """
    trials = map(_read, run.results())
    rows: dict[str, int] = {}
    part = _made(islice(trials, FIRST), rows)
    while part.places:
        yield part
        part = _made(islice(trials, BLOCK), rows)


def _read(result: bytes) -> _Trial:
    try:
        return _trials.decode(result)
    except (msgspec.DecodeError, UnicodeDecodeError):  # half a character in what a model said
        value = cast("dict[str, Any]", decode(result))
        _kept_raw(value, "vars", "metadata")
        for outcome in value["outcomes"]:
            _kept_raw(outcome, "named", "metadata")
        return msgspec.convert(value, _Trial)


def _kept_raw(value: dict[str, Any], *names: str) -> None:
    value.update({name: msgspec.Raw(encode(value.get(name, {}))) for name in names})


def _made(trials: Iterable[_Trial], rows: dict[str, int]) -> Part:
    """A block and its text, in one loop: it runs for hundreds of thousands of trials, and keeps numbers only."""
    numbers: list[tuple[Any, ...]] = []
    texts: list[bytes] = []
    starts: list[int] = []
    unsure: list[int] = []
    triggers: list[int] = []
    named: list[Row] = []
    failing: list[Sequence[str]] = []
    scores: list[dict[str, float]] = []
    at = 0
    case, vars_, about, place = None, _NONE, "", 0
    for trial in trials:
        if trial.case != case or trial.vars != vars_:
            case, vars_ = trial.case, trial.vars
            about = _about(trial).lower()
            place = rows.get(case, -1)
            if place < 0:
                place = rows[case] = len(rows)
                named.append(_row(trial))
        output = trial.output if isinstance(trial.output, str) else text_of(trial.output)
        told = [output, trial.reason]
        met = missed = 0
        names: Sequence[str] = ()
        for outcome in trial.outcomes:
            if outcome.reason:
                told.append(outcome.reason)
            if outcome.metadata != _NONE and _UNSURE in bytes(outcome.metadata):
                unsure.append(trial.index)
            if outcome.named != _NONE and _TRIGGERS in bytes(outcome.named):
                triggers.append(trial.index)
            state = outcome.outcome
            if state == "pass":
                met += 1
            elif state != "not_applicable":
                missed += state == "fail"
                names = (*names, outcome.name)
        if trial.error:
            told.append(trial.error.message)
        text = f"{about}{_FIELD}{_FIELD.join(told).lower()}{_TRIAL}".encode(
            "utf-8", "surrogatepass"
        )
        starts.append(at)
        at += len(text)
        texts.append(text)
        failing.append(names)
        scores.append(trial.named_scores)
        numbers.append(
            (  # flat: it is made in one step
                trial.index,
                place,
                trial.variant,
                trial.repeat,
                trial.outcome[0],
                trial.score,
                trial.latency_s,
                trial.cost_usd,
                trial.tokens_in,
                trial.tokens_out,
                trial.calls,
                trial.cached,
                met,
                met + missed,
                trial.error.slug if trial.error else "",
                crc32(output.encode("utf-8", "surrogatepass")) & 0x7FFFFFFF,
            )
        )
    if not numbers:
        return Part(b"", b"", (), (), (), ())
    columns: dict[str, Any] = dict(zip(_NUMBERS, zip(*numbers, strict=True), strict=True))
    index = cast("Sequence[int]", columns["index"])
    columns["outcome"] = "".join(columns["outcome"])
    block = Block(rows=named, failing=failing, metrics=_metrics(scores), **columns)
    return Part(_line(block), b"".join(texts), starts, index, unsure, triggers)


def _metrics(scores: Sequence[dict[str, float]]) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {}
    for i, each in enumerate(scores):
        for name, score in each.items():
            if name not in found:
                found[name] = [None] * len(scores)
            found[name][i] = score
    return found


def _line(block: Block) -> bytes:
    try:
        return _blocks.encode(block) + b"\n"
    except UnicodeEncodeError:  # half a character
        return encode(block, ordered=False) + b"\n"


def _about(trial: _Trial) -> str:
    """What is searched of a case, whoever answers it."""
    values = list(_decoded(trial.vars).values())
    if trial.input is not None:
        values.insert(0, trial.input)
    return _FIELD.join((trial.case, trial.description, *map(text_of, values)))


def _decoded(raw: msgspec.Raw) -> dict[str, Any]:
    return cast("dict[str, Any]", decode(bytes(raw)))


def _row(trial: _Trial) -> Row:
    given = _decoded(trial.metadata)
    tags = given.get("tags")
    metadata = {
        key: (value if isinstance(value, str) else text_of(value))[:METADATA]
        for key, value in given.items()
        if key != "tags" and isinstance(value, (str, int, float))
    }
    told = [str(tag) for tag in cast("list[object]", tags)] if isinstance(tags, list) else ()
    return Row(trial.case, trial.description, told, metadata)


def text_of(value: object) -> str:
    """A value as the page shows it: text as it is, nothing as nothing, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode(value, ordered=False).decode()


class Pass:
    """One pass over a run file, under way or done. Any number of threads may read from it.

    Args:
        path: The run file.

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
        self._unsure, self._triggers = array("Q"), array("Q")
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
        return Marked(*(sorted(set(each)) for each in (self._unsure, self._triggers)))

    def search(self, text: str) -> list[int]:
        """The places in the plan of the trials in which this text stands, whatever its case. Waits for the pass.

        Raises:
            StoreError: The run file cannot be read.
        """
        self._wait()
        needle = text.lower().encode("utf-8", "surrogatepass")
        if not needle or _FIELD in text or _TRIAL in text:
            return []
        found: list[int] = []
        first, room = 0, bytearray(CHUNK)
        many = False
        while first < len(self._starts):
            after = self._chunk(first)
            base = self._starts[first]
            end = self._starts[after] if after < len(self._starts) else self._end
            if end - base > len(room):
                room = bytearray(end - base)  # one trial alone may be longer
            os.preadv(self._files[1].fileno(), [memoryview(room)[: end - base]], base)
            hits = (self._many if many else self._few)(needle, room, first, after, end)
            found += hits
            many = len(hits) > (after - first) // 8
            first = after
        return found

    def _chunk(self, first: int) -> int:
        """The trial that begins the chunk after that which this one begins."""
        starts = self._starts
        return max(first + 1, bisect_right(starts, starts[first] + CHUNK, first) - 1)

    def _few(self, needle: bytes, room: bytearray, first: int, after: int, end: int) -> list[int]:
        """The hits among trials of which hardly any has the text: each hit says whose it is."""
        starts, places, base = self._starts, self._places, self._starts[first]
        found: list[int] = []
        at = room.find(needle, 0, end - base)
        while at >= 0:
            trial = bisect_right(starts, base + at, first, after) - 1
            found.append(places[trial])
            if trial + 1 == after:
                break
            at = room.find(needle, starts[trial + 1] - base, end - base)
        return found

    def _many(self, needle: bytes, room: bytearray, first: int, after: int, end: int) -> list[int]:
        """The same where many have it: each is looked into."""
        base = self._starts[first]
        edges = [start - base for start in self._starts[first:after]]
        there = room.find
        return [
            place
            for place, begins, ends in zip(
                self._places[first:after], edges, (*edges[1:], end - base), strict=True
            )
            if there(needle, begins, ends) >= 0
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
                        raise StoreError("the run is being read anew")  # noqa: TRY301 (told like the others)
                    self._put(part)
        except EvenhandError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001 (whoever waits has to be told)
            self._error = StoreError(f"{self._path} cannot be read: {error}")
        with self._more:
            self.took = time.perf_counter() - began
            self._more.notify_all()

    def _put(self, part: Part) -> None:
        _write(self._files[1].fileno(), part.text)
        self._starts.extend([self._end + start for start in part.starts])
        self._places.extend(part.places)
        self._end += len(part.text)
        self._unsure.extend(part.unsure)
        self._triggers.extend(part.triggers)
        _write(self._files[0].fileno(), part.line)
        with self._more:
            self._written += len(part.line)
            self._more.notify_all()


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


class Passes:
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
                kept = self._kept.pop(path, None)
                rest = 0.0 if kept is None or kept[0] == settled else self._rest(*kept[1:])
                if kept is None or (kept[0] != settled and not rest):
                    kept = settled, time.monotonic(), Pass(path)
                self._kept[path] = kept
                while len(self._kept) > self._most:
                    self._kept.pop(next(iter(self._kept)))[2].stop()
                if not rest:
                    return kept[2]
            time.sleep(rest)

    def _rest(self, began: float, made: Pass) -> float:
        """Seconds until an outdated pass may be followed by another."""
        if made.took is None:
            return 0.1
        return max(0.0, began + 2 * made.took - time.monotonic())

    def close(self) -> None:
        """Ends them all."""
        for _, _, made in self._kept.values():
            made.stop()
