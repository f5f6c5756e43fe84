"""What earlier sessions left in a run file: verdicts, replies, calls in doubt, and results that are stale.

How this works: each result has a take, and of a trial's takes the highest counts. A trial that comes after others (a
turn of a conversation, say) is stored with a take that is no lower than any of theirs. So where one of them has a
higher take than the trial itself, the trial rests on a result that has been replaced since, and has to be settled once
more; a process that dies between the two leaves that to be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.core.errors import StoreError
from evenhand.core.numbered import HashedNumbers
from evenhand.core.run import CallEnd, CallRecord, CallStart, ToolRecord
from evenhand.store.calls import BatchRecord, Depths
from evenhand.store.opened import readable
from evenhand.store.runfile import RunFile


class Settled:
    """The trials that need no more work: a bit for each place in the plan."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._bits = bytearray(size // 8 + 1)
        self._count = 0

    def __contains__(self, index: int) -> bool:
        return index < self._size and self._bits[index >> 3] >> (index & 7) & 1 > 0

    def __len__(self) -> int:
        return self._count

    def add(self, index: int) -> None:
        """Marks a place."""
        if index < self._size and index not in self:
            self._bits[index >> 3] |= 1 << (index & 7)
            self._count += 1


class Takes:
    """The takes of the trials' results: only those above 0, which are few, are held."""

    def __init__(self) -> None:
        self._stored: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._errors: set[int] = set()
        self._begun_above: set[int] = set()

    def found(self, index: int, take: int, *, error: bool) -> None:
        """Notes the latest result of a trial, as an earlier session stored it."""
        if take:
            self._stored[index] = take
        if error:
            self._errors.add(index)
            self._next[index] = take + 1

    def in_error(self, index: int) -> bool:
        """Whether an earlier session left the trial in error."""
        return index in self._errors

    def begins_above(self, index: int) -> bool:
        """Whether the trial's first result of all has a take above 0, for the sake of the trials before it."""
        return index in self._begun_above

    def next(self, index: int) -> int:
        """The take of the trial's next result."""
        return self._next.get(index, 0)

    def stored(self, index: int, take: int) -> None:
        """Notes that a result was stored with this take."""
        if take:
            self._stored[index] = take
        self._begun_above.discard(index)

    def again(self, index: int) -> None:
        """A trial that has a verdict is to be settled once more."""
        self._next[index] = self._stored.get(index, 0) + 1

    def follow(self, index: int, after: Iterable[int], *, first: bool) -> None:
        """A trial is about to be settled after these: its take is to be no lower than theirs.

        Args:
            first: Nothing has been stored of it yet.
        """
        # Where nothing is settled again, all takes are 0; this spares large runs the look at other trials.
        if not self._next:
            return
        newest = max(self._next.get(other, self._stored.get(other, 0)) for other in after)
        if newest > self.next(index):
            self._next[index] = newest
            if first:
                self._begun_above.add(index)

    def stale(self, index: int, after: Iterable[int]) -> bool:
        """Whether one of these has been settled once more since the trial, which comes after them, was."""
        if not self._stored:
            return False
        own = self._stored.get(index, 0)
        return any(self._stored.get(other, 0) > own for other in after)


class EarlierSessions:
    """What earlier sessions left of a run; of a new one, nothing.

    Attributes:
        settled: The trials that have a verdict, or to which nothing applied.
        in_doubt: The calls that were begun and whose end nobody knows.
        spent_usd: The most that all calls can have cost.
        bills: What calls were billed above their bounds; see `RunFile.bills`.
        next_call: The first id that no call has.
        next_part: The first id that no part of a result has.
    """

    def __init__(self, planned: int) -> None:
        self.settled = Settled(planned)
        self.takes = Takes()
        self.in_doubt: list[CallRecord] = []
        self.spent_usd = 0.0
        self.bills: list[tuple[str, int, float]] = []
        self.next_call = 1
        self.next_part = 1
        self._run: RunFile | None = None
        self._remembered_since = 0
        self._answers: HashedNumbers | None = None

    @classmethod
    def read(cls, path: Path, *, anew: bool) -> EarlierSessions:
        """Reads what is there.

        Args:
            anew: What trials in error were answered is forgotten.

        Raises:
            StoreError: It is damaged.
        """
        run = RunFile.open(path)
        try:
            with readable(path):
                earlier = cls(run.meta.plan_size)
                earlier._fill(run)
        except StoreError:
            run.close()
            raise
        earlier._run = run
        earlier._remembered_since = earlier.next_call if anew else 0
        return earlier

    def _fill(self, run: RunFile) -> None:
        size = run.meta.plan_size
        for index, take, outcome in run.takes():
            if not 0 <= index < size or take < 0:
                raise ValueError(f"it has a result for trial {index} of {size}, take {take}")
            self.takes.found(index, take, error=outcome == "error")
            if outcome != "error":
                self.settled.add(index)
        self.next_call, self.next_part = run.last_call() + 1, run.last_part() + 1
        self._answers = _answers(run)
        self.in_doubt = run.in_doubt()
        self.spent_usd, self.bills = run.most_spent(), run.bills()

    def forgets(self, trial: int) -> bool:
        """Whether what the trial was answered in earlier sessions is forgotten."""
        return self._remembered_since > 0 and self.takes.in_error(trial)

    def recorded(self, trial: int, key: str, nth: int) -> CallEnd | None:
        """The reply to the n-th such request of this trial, whether or not the trial has a verdict.

        Raises:
            StoreError: It cannot be read.
        """
        if self._run is None:
            return None
        since = self._remembered_since if self.takes.in_error(trial) else 0
        return self._run.answer(trial, key, nth, self.next_call, since)

    def compared(self, trials: Sequence[int], key: str, nth: int) -> CallEnd | None:
        """The reply to such a request of any of these trials, which are compared with each other.

        Raises:
            StoreError: It cannot be read.
        """
        answers = (self.recorded(trial, key, nth) for trial in trials)
        return next((end for end in answers if end is not None), None)

    def answered(self, key: str, draw: str) -> CallEnd | None:
        """The reply to this draw of the request, for whichever trial.

        Raises:
            StoreError: It cannot be read.
        """
        if self._run is None or self._answers is None:
            return None
        # Only hashes are held, and another request can have the same one.
        for number in self._answers.of(hash((key, draw))):
            record = self._run.call(number)
            if record is not None and (record.start.key, record.start.draw) == (key, draw):
                return record.end
        return None

    def tool(self, trial: int, key: str, nth: int) -> ToolRecord | None:
        """What the n-th such call of a tool in this trial returned.

        Raises:
            StoreError: It cannot be read.
        """
        return None if self._run is None else self._run.tool(trial, key, nth)

    def batches(self) -> list[tuple[BatchRecord, list[tuple[int, CallStart]]]]:
        """The batches, each with its calls that have no end.

        Raises:
            StoreError: They cannot be read.
        """
        run = self._run
        return [] if run is None else [(one, run.batched(one.id)) for one in run.batches()]

    def depths(self) -> Depths:
        """In how many waves of earlier sessions each trial had new calls, and which calls no batch has answered.

        Raises:
            StoreError: They cannot be read.
        """
        return ({}, set()) if self._run is None else self._run.depths()

    def turn(self, path: Path, next_call: int) -> None:
        """What this session has recorded so far counts from here on, too.

        Raises:
            StoreError: It cannot be read.
        """
        if self._run is None:
            self._run = RunFile.open(path)
        self._answers = _answers(self._run)
        self.next_call = next_call

    def close(self) -> None:
        """Lets go of the file."""
        if self._run is not None:
            self._run.close()


def _answers(run: RunFile) -> HashedNumbers:
    """The calls that were answered, by request and draw: of each the newest."""
    numbers = HashedNumbers()
    for number, key, draw in run.answers():
        numbers.put(hash((key, draw)), number)
    return numbers
