"""Reads a run file. Any number may read while one process writes; reading changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from evenhand.core.encoding import decode
from evenhand.core.label import Label, LabelValue
from evenhand.core.run import TrialResult
from evenhand.store.calls import JournaledCalls, sound
from evenhand.store.encoding import read_result, read_text
from evenhand.store.opened import readable

_TAKE = (int, int, str)


class RunFile(JournaledCalls):
    """One run, as far as it has come. Any thread may read it."""

    def trials(self, first: int = 0, limit: int | None = None) -> Iterator[TrialResult]:
        """The settled trials in the plan's order, one at a time.

        Args:
            first: Leaves out those whose place in the plan is before this.
            limit: At most so many.
        """
        with readable(self.path):
            cursor = self._db.cursor()
            cursor.arraysize = 100
            rows = cursor.execute(
                "select result from latest join result using (idx, take) where idx >= ? order by idx limit ?",
                (first, -1 if limit is None else limit),
            )
            for (result,) in rows:
                yield read_result(result)

    def takes(self) -> Iterator[tuple[int, int, str]]:
        """The settled trials as (place in the plan, take, outcome): of each, the take that counts."""
        with readable(self.path):
            for row in self._db.execute("select idx, take, outcome from latest"):
                yield sound(row, _TAKE)

    def results(self) -> Iterator[bytes]:
        """The settled trials in the plan's order, each as the JSON that was kept; four times as fast as `trials`."""
        with readable(self.path):
            rows = self._db.execute("select result, idx from result order by idx, take")
            if not self._retaken:
                for result, _ in rows:
                    yield result
                return
            before: tuple[bytes, int] | None = None
            for row in rows:
                if before is not None and before[1] != row[1]:
                    yield before[0]
                before = row
            if before is not None:
                yield before[0]

    def growth(self) -> int:
        """A number that grows with every trial that is settled, with every label and remark, and when the run ends."""
        settled = self.settled()
        with readable(self.path):
            (meta,) = self._db.execute("select meta from run").fetchone()
            labels = remarks = 0
            if self._has_table("remark"):
                (remarks,) = self._db.execute("select coalesce(max(seq), 0) from remark").fetchone()
            if self._labelled:
                (labels,) = self._db.execute("select coalesce(max(seq), 0) from label").fetchone()
        # Two a trial: a run that goes on takes back the one for its end, and is further with its next trial.
        return 2 * (settled + labels + remarks) + (b'"status":"running"' not in meta)

    @property
    def _labelled(self) -> bool:
        """Whether it is of a version that has labels."""
        return self._has_table("label")

    def _has_table(self, name: str) -> bool:
        found = self._db.execute("select 1 from sqlite_master where name = ?", (name,))
        return found.fetchone() is not None

    def labels(self, after: int = 0) -> Iterator[Label]:
        """What people said of its trials, in the order in which they said it; see `core.label.standing`.

        Args:
            after: Leaves out those up to this `seq`.
        """
        with readable(self.path):
            if not self._labelled:
                return
            for seq, at, author, index, field, value, blind in self._db.execute(
                "select seq, at, author, idx, field, value, blind from label where seq > ? order by seq",
                (after,),
            ):
                said = cast("LabelValue", decode(value))
                yield Label(seq, at, read_text(author), index, field, said, bool(blind))

    def only(self, places: Iterable[int], why: str, *, by_outcome: bool = False) -> None:
        """Leaves of the run the trials at these places in the plan: nothing that reads it from now on sees another.

        Counts and rates are of these trials, and so are the numbers of trials and cases that the run says it has, the
        calls, and what it cost. The file stays as it is.

        Args:
            places: Which.
            why: Said behind the run's title.
            by_outcome: Whether they were chosen by what came of them: then nothing can be concluded from how many of
                them passed.
        """
        with readable(self.path):
            self._db.execute("pragma temp_store = memory")
            self._db.execute("create temp table chosen (idx integer primary key)")
            self._db.executemany("insert into chosen values (?)", ((place,) for place in places))
            tables = dict.fromkeys(("trial", "result", "latest"), "idx") | {"call": "trial"}
            if self._labelled:
                tables["label"] = "idx"
            for name, place in tables.items():
                # A temporary view hides what has its name, from every query that is made through this connection.
                self._db.execute(
                    f"create temp view {name} as select * from main.{name} where {place} in (select idx from chosen)"  # noqa: S608 (fixed names)
                )
            self._db.commit()
            planned, cases = self._db.execute(
                "select count(*), count(distinct case_id) from latest"
            ).fetchone()
        self.narrowed, self.by_outcome = True, by_outcome
        title = f"{self.meta.title} · {why}"
        self.meta = replace(self.meta, title=title, planned=planned, case_count=cases)

    def cases(self) -> Iterator[str]:
        """The ids of the cases in the plan's order, as `outcomes` has them; also of those that `only` has hidden."""
        with readable(self.path):
            for (case,) in self._db.execute(
                "select case_id from main.trial where take = 0 group by case_id order by min(idx)"
            ):
                yield case

    def trial(self, index: int) -> TrialResult | None:
        """The trial at this place in the plan; None while it is not settled."""
        return next(self.trials(index, 1), None) if self._has(index) else None

    def _has(self, index: int) -> bool:
        with readable(self.path):
            return (
                self._db.execute("select 1 from trial where idx = ?", (index,)).fetchone()
                is not None
            )

    def matching(self, outcome: str, limit: int) -> Iterator[TrialResult]:
        """The first trials with this outcome, in the plan's order."""
        with readable(self.path):
            rows = self._db.execute(
                "select result from latest join result using (idx, take) where outcome = ? order by idx limit ?",
                (outcome, limit),
            )
            for (result,) in rows:
                yield read_result(result)

    def at(self, places: Iterable[int]) -> Iterator[TrialResult]:
        """The trials at these places in the plan, as far as they are settled."""
        return filter(None, map(self.trial, places))

    def warned(self, start: str) -> Iterator[TrialResult]:
        """The trials in whose outcomes a scorer left a `warning` that begins so, in the plan's order."""
        return self._with(warning_sign(start))

    def measuring(self, start: str) -> Iterator[TrialResult]:
        """The trials with a metric whose name begins so, and few others, in the plan's order."""
        return self._with(metric_sign(start))

    def _with(self, sign: bytes) -> Iterator[TrialResult]:
        """The trials in which this is written, in the plan's order. Python looks four times as fast as SQLite."""
        with readable(self.path):
            for result in self.results():
                if sign in result:
                    yield read_result(result)


def warning_sign(start: str) -> bytes:
    """What stands in the JSON of a result with a `warning` that begins so; a quote in text is escaped."""
    return b'"warning":' + metric_sign(start)


def metric_sign(start: str) -> bytes:
    """What stands in the JSON of a result with a metric whose name begins so, and of few others."""
    return json.dumps(start)[:-1].encode()
