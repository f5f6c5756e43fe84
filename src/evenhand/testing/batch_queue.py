"""Batches as vendors work them off: hours go by in seconds, lines fail as they do there, and each is billed at half.

How this works: nothing runs while nobody looks. A batch knows when it was made and when it ends; whoever asks for it
makes the queue do what is due by then. The clock is virtual: it goes faster than ours, and can be put forward.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from evenhand.core.encoding import digest

DAY_S = 86_400.0
Fate = Literal["succeeded", "errored", "invalid", "silent", "expired", "canceled", "missing"]
"""What becomes of a line: an answer; the vendor's own fault; a request that it doesn't take; an answer of status 0,
without content; not reached within 24 hours; not reached before the batch was cancelled; lost without a word."""


@dataclass(frozen=True, slots=True)
class BatchRules:
    """How a vendor's batches go. Shares are of lines, from 0 to 1, drawn anew each time that a line is sent.

    Attributes:
        takes_s: Virtual seconds from making a batch to its end.
        speed: Virtual seconds in a second: with 3,600 an hour takes one.
        errored: Lines that end in a fault of the vendor's.
        silent: Lines that end with status 0 and no answer. OpenAI only.
        expired: Lines that are not reached in 24 hours, however long the batch takes.
        missing: Lines that never come back, though the totals count them.
        duplicated: Lines that come back twice, and are charged once.
        stuck: Batches that never end, not even when they are cancelled.
        shuffled: Results come in another order.
        lying: The vendor's totals say that all went well.
        kept_s: Virtual seconds after which results are gone.
        most_requests: So many lines in a batch at most; None for what the vendor allows.
        most_bytes: So many bytes in a batch at most; None for what the vendor allows.
        most_queued_tokens: Tokens that a model's batches may hold at once; a batch beyond fails. OpenAI only.
        create_ms: Before a batch that was made is answered, in real milliseconds.
        seed: Of all that is drawn.
    """

    takes_s: float = 3600.0
    speed: float = 36_000.0
    errored: float = 0.0
    silent: float = 0.0
    expired: float = 0.0
    missing: float = 0.0
    duplicated: float = 0.0
    stuck: float = 0.0
    shuffled: bool = True
    lying: bool = False
    kept_s: float = 29 * DAY_S
    most_requests: int | None = None
    most_bytes: int | None = None
    most_queued_tokens: float = math.inf
    create_ms: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One request of a batch.

    Attributes:
        path: Where it would be sent by itself.
        body: What would be sent there.
    """

    custom_id: str
    path: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LineResult:
    """What became of a line. `status` and `answer` are what a single request would have got."""

    custom_id: str
    fate: Fate
    status: int = 0
    answer: Any = None


@dataclass(slots=True, kw_only=True)
class FakeBatch:
    """A batch.

    Attributes:
        made_at: When it was made, on the queue's clock.
        ends_at: When all its lines are done; infinite for one that is stuck.
        metadata: What the client says of it.
        cancelled_at: When it was cancelled; None where it was not.
        ended_at: When it ended; None while it is worked on.
        results: One for each line, once it has ended.
        failure: Why it was refused as a whole; empty where it was not.
        window_s: Virtual seconds after which it expires.
        deleted: It is gone, by the client's own wish.
    """

    id: str
    lines: Sequence[BatchLine]
    made_at: float
    ends_at: float
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cancelled_at: float | None = None
    ended_at: float | None = None
    results: list[LineResult] = field(default_factory=list[LineResult])
    failure: str = ""
    window_s: float = DAY_S
    deleted: bool = False

    def count(self, *fates: Fate) -> int:
        """How many of its lines came to one of these."""
        return sum(result.fate in fates for result in self.results)


Answer = Callable[[BatchLine], tuple[int, Any]]
"""The status and the answer to a line; bills it."""


class BatchQueue:
    """A vendor's batches.

    Args:
        prefix: What their ids begin with.
        rules: How they go. May be replaced while the server runs; batches that are there keep their end.
        whole: A batch that expires has no results at all, whatever was done of it.

    Attributes:
        batches: All that were made, in their order.
    """

    def __init__(
        self, prefix: str, answer: Answer, rules: BatchRules, *, whole: bool = False
    ) -> None:
        self.rules = rules
        self._whole = whole
        self.batches: dict[str, FakeBatch] = {}
        self._prefix = prefix
        self._answer = answer
        self._sent: dict[str, int] = {}
        self._started_at = time.time()
        self._ahead_s = 0.0

    @property
    def now(self) -> float:
        """The virtual time, in seconds since 1970."""
        return (
            self._started_at + (time.time() - self._started_at) * self.rules.speed + self._ahead_s
        )

    def advance(self, seconds: float) -> None:
        """Puts the clock forward."""
        self._ahead_s += seconds

    def make(
        self,
        lines: Sequence[BatchLine],
        metadata: Mapping[str, Any] | None = None,
        *,
        failure: str = "",
        window_s: float = DAY_S,
    ) -> FakeBatch:
        """Takes a batch in; one that failed is there, too, and does nothing."""
        number = len(self.batches) + 1
        now = self.now
        drawn = _draw(f"{self.rules.seed} stuck {number}").random()
        takes_s = math.inf if drawn < self.rules.stuck else self.rules.takes_s
        batch = FakeBatch(
            id=f"{self._prefix}{number:06d}",
            lines=lines,
            made_at=now,
            ends_at=now + takes_s,
            metadata=metadata or {},
            failure=failure,
            window_s=window_s,
        )
        if failure:
            batch.ended_at = now
        self.batches[batch.id] = batch
        return batch

    def find(self, name: str) -> FakeBatch | None:
        """A batch as it is now; None where there is none."""
        batch = self.batches.get(name)
        if batch is None or batch.deleted:
            return None
        self._work_off(batch)
        return batch

    def newest_first(self) -> list[FakeBatch]:
        """All batches as they are now."""
        return [one for name in reversed(self.batches) if (one := self.find(name)) is not None]

    def page(self, after: str, limit: int) -> tuple[list[FakeBatch], bool]:
        """So many batches behind this one, the newest first, and whether there are more; from the first for no name."""
        batches = self.newest_first()
        names = [batch.id for batch in batches]
        begin = names.index(after) + 1 if after in names else 0
        return batches[begin : begin + limit], begin + limit < len(batches)

    def cancel(self, batch: FakeBatch) -> None:
        """Works on no more lines of it."""
        if batch.ended_at is None and batch.cancelled_at is None:
            batch.cancelled_at = self.now

    def gone(self, batch: FakeBatch) -> bool:
        """Whether its results are no longer kept."""
        return batch.ended_at is not None and self.now - batch.made_at > self.rules.kept_s

    def queued_tokens(self, model: str) -> float:
        """The tokens of a model's lines that are waiting for an answer."""
        return sum(
            tokens_of(line)
            for batch in self.batches.values()
            if batch.ended_at is None
            for line in batch.lines
            if line.body.get("model") == model
        )

    def _work_off(self, batch: FakeBatch) -> None:
        """Does what is due of a batch."""
        if batch.ended_at is not None or math.isinf(batch.ends_at):
            return
        over_at = min(batch.ends_at, batch.made_at + batch.window_s)
        stopped = batch.cancelled_at is not None and batch.cancelled_at < over_at
        over_at = batch.cancelled_at if stopped and batch.cancelled_at is not None else over_at
        if self.now < over_at:
            return
        took = batch.ends_at - batch.made_at
        reached = (over_at - batch.made_at) / took if took > 0 else 1.0
        none = self._whole and not stopped and reached < 1
        done = 0 if none else round(reached * len(batch.lines))
        late: Fate = "canceled" if stopped else "expired"
        for place, line in enumerate(batch.lines):
            batch.results.append(
                self._worked(line) if place < done else LineResult(line.custom_id, late)
            )
        batch.ended_at = over_at

    def _worked(self, line: BatchLine) -> LineResult:
        name = digest(line.path, repr(sorted(line.body.items(), key=str)))
        nth = self._sent[name] = self._sent.get(name, 0) + 1
        drawn = _draw(f"{self.rules.seed} {name} {nth}").random()
        rules = self.rules
        odd: list[tuple[Fate, float]] = [
            ("errored", rules.errored),
            ("silent", rules.silent),
            ("expired", rules.expired),
            ("missing", rules.missing),
        ]
        for fate, share in odd:
            if drawn < share:
                return LineResult(line.custom_id, fate)
            drawn -= share
        status, answer = self._answer(line)
        fate = "succeeded" if status == 200 else "invalid" if 400 <= status < 500 else "errored"
        return LineResult(line.custom_id, fate, status, answer)

    def handed_out(self, batch: FakeBatch) -> list[LineResult]:
        """The results as they are handed out: in whatever order, some of them twice."""
        draw = _draw(f"{self.rules.seed} order {batch.id}")
        results = [one for one in batch.results if one.fate != "missing"]
        results += [one for one in results if draw.random() < self.rules.duplicated]
        if self.rules.shuffled:
            draw.shuffle(results)
        return results


def _draw(name: str) -> random.Random:
    return random.Random(name)  # noqa: S311 (faults, not secrets)


def tokens_of(line: BatchLine) -> float:
    """A guess at the tokens of a line: one for every four characters."""
    return len(repr(line.body)) / 4


def moment(at: float | None) -> str | None:
    """A moment in seconds since 1970, as RFC 3339 has it; None stays None.

    >>> moment(0.5)
    '1970-01-01T00:00:00.500000Z'
    """
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
