"""The settled trials of a run, read back: as values, as JSON, or those with something in them."""

from __future__ import annotations

import json
from array import array
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import cast

from msgspec.structs import replace

from evenhand.core.encoding import decode
from evenhand.core.run import Judged, TrialResult
from evenhand.store.calls import sound
from evenhand.store.decoding import read_result
from evenhand.store.detail import DESCRIBED, SAID, WHOLE, read_description, whole
from evenhand.store.encoding import read_text
from evenhand.store.labels.label import Label, LabelValue
from evenhand.store.open_numbers import OpenNumbers
from evenhand.store.opened import ReadsRun, readable

_BLOCK = 1 << 18
"""Bytes of results that are looked through together."""
_TAKE = (int, int, str)
_PLACE = (int, str, int, int)


class SettledTrials(ReadsRun):
    """Reads the settled trials of an open run file, and the labels on them."""

    def trials(self, first: int = 0, limit: int | None = None) -> Iterator[TrialResult]:
        """The settled trials in the plan's order, one at a time.

        Args:
            first: Leaves out those whose place in the plan is before this.
            limit: At most so many.
        """
        with readable(self._run.path):
            cursor = self._run.db.cursor()
            cursor.arraysize = 100
            rows = cursor.execute(
                self._run.query(WHOLE) + " where t.idx >= ? order by t.idx limit ?",
                (first, -1 if limit is None else limit),
            )
            yield from self._decoded(map(whole, rows))

    def takes(self) -> Iterator[tuple[int, int, str]]:
        """The settled trials as (place in the plan, take, outcome): of each, the take that counts."""
        with readable(self._run.path):
            for row in self._run.db.execute("select idx, take, outcome from latest"):
                yield sound(row, _TAKE)

    def places(self) -> Iterator[tuple[int, str, int, int]]:
        """The settled trials as (place in the plan, case, variant, repeat), cases as `written_case` writes them."""
        with readable(self._run.path):
            for row in self._run.db.execute(
                "select idx, case_id, variant, repeat from latest order by idx"
            ):
                yield sound(row, _PLACE)

    def indices(self, first: int = 0, limit: int | None = None) -> Sequence[int]:
        """Where in the plan the settled trials are that `trials` gives."""
        with readable(self._run.path):
            table = self._run.table()
            rows = self._run.db.execute(
                f"select idx from {table} where idx >= ? order by idx limit ?",  # noqa: S608 (one of two names)
                (first, -1 if limit is None else limit),
            )
            return array("q", (place for (place,) in rows))

    def results(self, first: int = 0) -> Iterator[bytes]:
        """The settled trials in the plan's order, each as whole JSON; four times as fast as `trials`.

        Args:
            first: Leaves out those whose place in the plan is before this.
        """
        with readable(self._run.path):
            yield from map(
                whole,
                self._run.db.execute(
                    self._run.query(WHOLE) + " where t.idx >= ? order by t.idx",
                    (first,),
                ),
            )

    def last_part(self) -> int:
        """The greatest id of a part of a result; 0 for none."""
        with readable(self._run.path):
            (last,) = sound(
                self._run.db.execute("select coalesce(max(id), 0) from part").fetchone(), (int,)
            )
            return last

    def labels(self, after: int = 0) -> Iterator[Label]:
        """What people said of its trials, in the order in which they said it; see `store.labels.label.standing`.

        Args:
            after: Leaves out those up to this `seq`.
        """
        with readable(self._run.path):
            if not self._run.has_table("label"):
                return
            for seq, at, author, index, field, value, blind in self._run.db.execute(
                "select seq, at, author, idx, field, value, blind from label where seq > ? order by seq",
                (after,),
            ):
                label_value = cast("LabelValue", decode(value))
                yield Label(
                    seq=seq,
                    at=at,
                    author=read_text(author),
                    index=index,
                    field=field,
                    value=label_value,
                    blind=bool(blind),
                )

    def cases(self) -> Iterator[str]:
        """The ids of the cases in the plan's order, as `outcomes` has them; also of those that `only` has hidden."""
        with readable(self._run.path):
            for (case,) in self._run.db.execute(
                "select case_id from main.trial where take = 0 group by case_id order by min(idx)"
            ):
                yield case

    def descriptions(self) -> Iterator[tuple[str, str]]:
        """Each settled case's id, as `outcomes` has it, and its description, in the plan's order."""
        with readable(self._run.path):
            for case, _, part in self._run.db.execute(self._run.query(DESCRIBED)):
                yield case, read_description(part)

    def trial(self, index: int) -> TrialResult | None:
        """The trial at this place in the plan; None while it is not settled."""
        # `trials` would give the next settled trial where this one is missing.
        return next(self.trials(index, 1), None) if self._has(index) else None

    def _has(self, index: int) -> bool:
        with readable(self._run.path):
            return (
                self._run.db.execute("select 1 from trial where idx = ?", (index,)).fetchone()
                is not None
            )

    def matching(self, outcome: str, limit: int) -> Iterator[TrialResult]:
        """The first trials with this outcome, in the plan's order."""
        with readable(self._run.path):
            rows = self._run.db.execute(
                self._run.query(WHOLE) + " where t.outcome = ? order by t.idx limit ?",
                (outcome, limit),
            )
            yield from self._decoded(map(whole, rows))

    def at(self, places: Iterable[int]) -> Iterator[TrialResult]:
        """The trials at these places in the plan, as far as they are settled."""
        return filter(None, map(self.trial, places))

    def warned(self, start: str) -> Iterator[TrialResult]:
        """The trials in whose outcomes a scorer left a `warning` that begins so, in the plan's order."""
        return self._with(warning_sign(start))

    def compared_spending(self) -> dict[int, Judged]:
        """What judges came to that compared all variants of a case, by the index of the variant that it counts in."""
        spent: dict[int, Judged] = {}
        for trial in self._with(b'"compared":'):
            if trial.compared is not None:
                spent[trial.variant] = trial.compared.plus(spent.get(trial.variant, Judged()))
        return spent

    def measuring(self, start: str) -> Iterator[TrialResult]:
        """The trials with a metric whose name begins so, and few others, in the plan's order."""
        return self._with(metric_sign(start))

    def places_with(self, *signs: bytes) -> list[Sequence[int]]:
        """For each sign, where in the plan the trials are in whose results it stands. The run is read once.

        Args:
            signs: As `metric_sign` and `warning_sign` make them, of what a result says beyond its case and test.
        """
        places = [array("q") for _ in signs]
        with readable(self._run.path):
            rows = self._run.db.execute(self._run.query(SAID) + " order by t.idx")
            for indices, details in _blocks(rows):
                # A look through a block takes a tenth of those through each of its results, and finds most signs
                # nowhere. No sign has the byte between two results, which JSON has only in escapes.
                block = b"\0".join(details)
                ends: list[int] = []
                for hits, sign in zip(places, signs, strict=True):
                    at = block.find(sign)
                    while at >= 0:
                        ends = ends or [*accumulate(len(detail) + 1 for detail in details)]
                        row = bisect(ends, at)
                        hits.append(indices[row])
                        at = block.find(sign, ends[row])
        return list(places)

    def _with(self, sign: bytes) -> Iterator[TrialResult]:
        """The trials in which this is written, in the plan's order. Python looks four times as fast as SQLite."""
        with readable(self._run.path):
            yield from self._decoded(result for result in self.results() if sign in result)

    def _decoded(self, results: Iterable[bytes]) -> Iterator[TrialResult]:
        """Results as values, without numbers of which a part is missing."""
        numbers = OpenNumbers(self.results)
        for trial in map(read_result, results):
            known = numbers.known(trial)
            yield trial if known is trial.named_scores else replace(trial, named_scores=known)


def _blocks(rows: Iterable[tuple[int, bytes | None]]) -> Iterator[tuple[list[int], list[bytes]]]:
    """Places and results, as many as come to a block; a result that is larger is one by itself."""
    indices: list[int] = []
    details: list[bytes] = []
    size = 0
    for index, detail in rows:
        if detail is not None:
            indices.append(index)
            details.append(detail)
            size += len(detail)
            if size > _BLOCK:
                yield indices, details
                indices, details, size = [], [], 0
    if details:
        yield indices, details


def warning_sign(start: str) -> bytes:
    """What stands in the JSON of a result with a `warning` that begins so; a quote in text is escaped."""
    return b'"warning":' + metric_sign(start)


def metric_sign(start: str) -> bytes:
    """What stands in the JSON of a result with a metric whose name begins so, and of few others."""
    # Without the closing quote, because the name only has to begin so.
    return json.dumps(start)[:-1].encode()
