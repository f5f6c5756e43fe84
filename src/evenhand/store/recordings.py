"""What was asked and answered before, in a run or a cassette, found again by who asks now, and what.

How this works: a trial is known by its case, its variant (eval, prompt, model, axes) and its repeat, never by its place
in the plan, so cases and variants may be added, left out or moved. A call of a trial is known by its request and by its
number among the trial's identical requests. Texts are read when they are wanted.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from evenhand.core.encoding import digest
from evenhand.core.record import Record
from evenhand.core.run import SHORT_ID, CallRecord, ToolRecord, TrialResult
from evenhand.core.scripted import journaled_name
from evenhand.core.step import Step, record_of
from evenhand.core.variant import Variant, identities
from evenhand.store.calls import EndedCall
from evenhand.store.encoding import written_case
from evenhand.store.journal import GIVEN_UP
from evenhand.store.runfile import RunFile

TEXTS_AT_HAND = 2_000
TRIALS_AT_HAND = 200
SMALL = 64_000_000
"""Bytes: all texts of a run file that is no larger are read at once, and not one by one as they are wanted."""
NEVER_SENT = frozenset({GIVEN_UP, "budget", "not-recorded"})


class RecordedFrom(Record, frozen=True, kw_only=True):
    """Where recordings come from.

    Attributes:
        run: The id of the run that asked.
        file: The run's file, or the cassette.
        recorded_at: When it was started, in seconds since 1970.
        scripted: Its replies came from a script (`--offline`).
        variants: The run's; none of a cassette.
    """

    run: str
    file: Path
    title: str
    recorded_at: float
    scripted: bool = False
    cassette: bool = False
    variants: tuple[Variant, ...] = ()

    @property
    def name(self) -> str:
        """What messages call it: `run 01M83TAD4E`, `cassette shop.cassette`."""
        return f"cassette {self.file.name}" if self.cassette else f"run {self.run[:SHORT_ID]}"


class RecordedPlace(Record, frozen=True):
    """A recorded trial: its place, and which it is. `case` is as `written_case` writes it."""

    place: int
    case: str
    variant: str
    repeat: int


class RecordingSource(Protocol):
    """A run or a cassette, as recordings are read from it."""

    @property
    def header(self) -> RecordedFrom:
        """Where they come from."""
        ...

    def places(self) -> Iterable[RecordedPlace]:
        """The recorded trials."""
        ...

    def ended(self) -> Iterable[EndedCall]:
        """The calls that have an end, in the order in which they were begun; `key` is the request's name."""
        ...

    def call(self, number: int) -> CallRecord | None:
        """The call with this id."""
        ...

    def tools(self) -> Iterable[ToolRecord]:
        """The recorded calls of tools, in the order in which they were made."""
        ...

    def tool_seconds(self, record: ToolRecord) -> float | None:
        """How long a recorded call of a tool took; None where that isn't known."""
        ...

    def trial(self, place: int) -> TrialResult | None:
        """What the trial at this place came to; None where that isn't known."""
        ...

    def steps(self, place: int) -> Sequence[Step]:
        """What was kept of the steps of the trial at this place; empty for nothing."""
        ...

    def close(self) -> None:
        """Lets go of the file."""
        ...


class RunSource:
    """A run file as a source of recordings.

    Raises:
        StoreError: It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._run = RunFile.open(path)
        meta = self._run.meta
        self.header = RecordedFrom(
            run=meta.id,
            file=path,
            title=meta.title,
            recorded_at=meta.created_at,
            scripted=meta.is_scripted,
            variants=tuple(meta.variants),
        )
        small = path.stat().st_size <= SMALL
        self._calls = dict(self._run.numbered()) if small else {}
        self._read = functools.lru_cache(TEXTS_AT_HAND)(self._run.call)
        self._seconds = functools.lru_cache(TRIALS_AT_HAND)(self._seconds_of_tools)

    def places(self) -> Iterable[RecordedPlace]:
        """The settled trials."""
        variants = self._run.meta.variants
        named = dict(zip((one.index for one in variants), variant_ids(variants), strict=True))
        for place, case, variant, repeat in self._run.places():
            yield RecordedPlace(place, case, named.get(variant, ""), repeat)

    def ended(self) -> Iterable[EndedCall]:
        """The calls that have an end. Of scripted ones, the address is no part of what was asked."""
        for call in self._run.ended():
            if not self.header.scripted:
                yield call
                continue
            record = self.call(call.id)
            identity = record.start.identity if record else b""
            yield call._replace(key=journaled_name(call.key, identity, scripted=True))

    def call(self, number: int) -> CallRecord | None:
        return self._calls.get(number) or self._read(number)

    def tools(self) -> Iterable[ToolRecord]:
        """The recorded calls of tools."""
        return self._run.tools()

    def tool_seconds(self, record: ToolRecord) -> float | None:
        """How long a recorded call of a tool took, as its trial's steps say."""
        return self._seconds(record.trial).get(record_of("tool", record.key, record.nth))

    def _seconds_of_tools(self, place: int) -> dict[str, float | None]:
        return seconds_of_tools(self.steps(place))

    def trial(self, place: int) -> TrialResult | None:
        """What the trial at this place came to."""
        return self._run.trial(place)

    def steps(self, place: int) -> Sequence[Step]:
        """What was kept of its steps."""
        return self._run.kept_steps(place) or ()

    def close(self) -> None:
        self._run.close()


def seconds_of_tools(steps: Iterable[Step]) -> dict[str, float | None]:
    """How long the recorded calls of tools among a trial's steps took, by what `record_of` names them."""
    return {step.record: step.duration_s for step in steps if step.record.startswith("tool:")}


def variant_ids(variants: Sequence[Variant]) -> list[str]:
    """A short name for each variant, which says which it is whatever its place. Empty for no variants."""
    return [digest(text)[:16] for text in identities(variants)]


class Recordings:
    """The calls of a run or a cassette.

    Args:
        source: It. Its calls are indexed here: about 300 bytes each.

    Attributes:
        header: Where they come from.
        which: The recorded trials by their places.

    Raises:
        StoreError: It cannot be read.
    """

    def __init__(self, source: RecordingSource) -> None:
        self._source = source
        self.header = source.header
        self._by_key: dict[str, list[EndedCall]] = {}
        self._by_place: dict[int, list[EndedCall]] = {}
        self._by_case: dict[str, list[RecordedPlace]] = {}
        self._by_size: list[EndedCall] | None = None
        self.which: dict[int, RecordedPlace] = {}
        for place in source.places():
            self._by_case.setdefault(place.case, []).append(place)
            self.which[place.place] = place
        for call in source.ended():
            if call.error not in NEVER_SENT:
                self._by_key.setdefault(call.key, []).append(call)
                self._by_place.setdefault(call.trial, []).append(call)
        self._tools: dict[str, list[ToolRecord]] = {}
        self._tools_of: dict[int, list[ToolRecord]] = {}
        for tool in source.tools():
            self._tools.setdefault(tool.key, []).append(tool)
            self._tools_of.setdefault(tool.trial, []).append(tool)
        self.read, self.trial, self.steps = source.call, source.trial, source.steps
        self.tool_seconds = source.tool_seconds

    @property
    def empty(self) -> bool:
        """Whether there is nothing to answer from: no call of a model, none of a tool."""
        return not self._by_place and not self._tools

    def place(self, case: str, variant: str, repeat: int) -> int | None:
        """The place of the recorded trial of this case, variant and repeat; None where there is none.

        Args:
            case: Its id.
            variant: As `variant_ids` names it.
            repeat: From 0.
        """
        return next(
            (
                one.place
                for one in self._by_case.get(written_case(case), ())
                if one.variant == variant and one.repeat == repeat
            ),
            None,
        )

    def places_of(self, case: str, repeat: int | None = None) -> list[int]:
        """The places of a case's recorded trials, in any variant; of one repeat, or of all."""
        trials = self._by_case.get(written_case(case), ())
        return [one.place for one in trials if repeat is None or one.repeat == repeat]

    def asked(self, key: str) -> Sequence[EndedCall]:
        """All calls with this request, in the order in which they were begun."""
        return self._by_key.get(key, ())

    def of_trial(self, place: int) -> Sequence[EndedCall]:
        """A recorded trial's calls, in the order in which they were begun."""
        return self._by_place.get(place, ())

    def answer(self, place: int, key: str, nth: int) -> EndedCall | None:
        """The last answer to the n-th such request of the trial at this place, or the error that it ended in."""
        calls = [c for c in self.asked(key) if c.trial == place and c.nth == nth]
        answered = [call for call in calls if not call.error]
        return (answered or calls or [None])[-1]

    def tool(self, place: int, key: str, nth: int) -> ToolRecord | None:
        """The last record of a tool's n-th call with these arguments in the trial at this place."""
        same = [c for c in self._tools.get(key, ()) if (c.nth, c.trial) == (nth, place)]
        return same[-1] if same else None

    def calls_of_tool(self, key: str, nth: int) -> Sequence[ToolRecord]:
        """The last record of a tool's n-th call with these arguments in each trial."""
        last = {c.trial: c for c in self._tools.get(key, ()) if c.nth == nth}
        return list(last.values())

    def tools_of(self, place: int) -> Sequence[ToolRecord]:
        """The recorded calls of tools of the trial at this place."""
        return self._tools_of.get(place, ())

    def of_size(self, size: int, most: int) -> Sequence[EndedCall]:
        """The calls whose requests are nearest to this size, in bytes."""
        if self._by_size is None:
            every = (call for calls in self._by_place.values() for call in calls)
            self._by_size = sorted(every, key=lambda call: (call.size, call.id))
        near = sorted(self._by_size, key=lambda call: abs(call.size - size)) if most else []
        return near[:most]

    def close(self) -> None:
        """Lets go of the file."""
        self._source.close()
