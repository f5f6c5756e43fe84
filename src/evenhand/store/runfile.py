"""Reads a run file. Any number may read while one process writes; reading changes nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import msgspec

from evenhand.core.encoding import decode
from evenhand.core.errors import StoreError
from evenhand.core.label import Label, LabelValue
from evenhand.core.message import CallRole
from evenhand.core.run import CallEnd, CallRecord, CallStart, RunMeta, Totals, TrialResult
from evenhand.store.counted import Spend, Tally, TrialOutcome, Usage, added
from evenhand.store.encoding import read_result, read_text
from evenhand.store.locks import held, lock_of
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, check
from evenhand.store.sums import SUMMED, CaseSums, Sums

_TOTALS = """
    select count(*), count(*) filter (where outcome = 'pass'), count(*) filter (where outcome = 'fail'),
           count(*) filter (where outcome = 'error'), count(*) filter (where outcome = 'not_applicable'),
           sum(calls), sum(cached), case when count(*) = count(cost_usd) then sum(cost_usd) end,
           sum(tokens_in), sum(tokens_out)
"""


class _Text(msgspec.Struct):
    """As much of a result as it takes to look at the output."""

    variant: int
    output: object = None


_texts = msgspec.json.Decoder(_Text)


def _connected(path: Path, how: str) -> sqlite3.Connection:
    # Python's SQLite lets threads take turns: what is opened in one is read in another.
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, check_same_thread=False)


def _text(result: bytes) -> _Text:
    try:
        return _texts.decode(result)
    except (msgspec.DecodeError, UnicodeDecodeError):  # half a character in what a model said
        return msgspec.convert(decode(result), _Text)


class RunFile:
    """One run, as far as it has come. Any thread may read it."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self.narrowed = False
        self._sums: tuple[tuple[int, bool], CaseSums] | None = None
        with _readable(path):
            row = db.execute("select meta from run").fetchone()
            if row is None:
                raise StoreError(f"{path} holds no run: it was cut off while being made")
            self.meta = msgspec.convert(decode(cast(bytes, row[0])), RunMeta)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens a run file for reading.

        Raises:
            StoreError: It does not exist, is not a run file, is damaged, or a newer Evenhand wrote it.
        """
        if not path.is_file():
            raise StoreError(f"{path}: there is no such run file")
        db: sqlite3.Connection | None = None
        try:
            with _readable(path):
                db = _connected(path, "mode=ro")
                try:
                    db.execute("select count(*) from sqlite_master")
                except sqlite3.OperationalError:
                    # A read-only folder: SQLite cannot make the shared-memory file beside it, and needs none: none
                    # writes.
                    db.close()
                    db = _connected(path, "immutable=1")
                if not check(db, RUN_FILE_ID, len(RUN_MIGRATIONS), str(path)):
                    raise StoreError(f"{path} is not a run file")  # noqa: TRY301 (closed below, like the others)
            return cls(path, db)
        except StoreError:
            if db is not None:
                db.close()
            raise

    def close(self) -> None:
        """Lets go of the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether a process is writing it."""
        return held(lock_of(self.path))

    def trials(self, first: int = 0, limit: int | None = None) -> Iterator[TrialResult]:
        """The settled trials in the plan's order, one at a time.

        Args:
            first: Leaves out those whose place in the plan is before this.
            limit: At most so many.
        """
        with _readable(self.path):
            cursor = self._db.cursor()
            cursor.arraysize = 100
            rows = cursor.execute(
                "select result from latest join result using (idx, take) where idx >= ? order by idx limit ?",
                (first, -1 if limit is None else limit),
            )
            for (result,) in rows:
                yield read_result(result)

    def results(self) -> Iterator[bytes]:
        """The settled trials in the plan's order, each as the JSON that was kept; four times as fast as `trials`."""
        with _readable(self.path):
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

    @property
    def _retaken(self) -> bool:
        """Whether some trial has been settled more than once."""
        found = self._db.execute("select 1 from trial where take > 0 limit 1").fetchone()
        return found is not None

    def _table(self) -> str:
        """What to count trials in: the table itself is read twice as fast as the view, and says the same as a rule."""
        return "latest" if self._retaken else "trial"

    def settled(self) -> int:
        """How often a trial was settled, retakes counted: another number means other results."""
        with _readable(self.path):
            return self._db.execute("select count(*) from trial").fetchone()[0]

    def growth(self) -> int:
        """A number that grows with every trial that is settled, with every label, and when the run ends."""
        settled = self.settled()
        with _readable(self.path):
            (meta,) = self._db.execute("select meta from run").fetchone()
            labels = 0
            if self._labelled:
                (labels,) = self._db.execute("select coalesce(max(seq), 0) from label").fetchone()
        # Two a trial: a run that goes on takes back the one for its end, and is further with its next trial.
        return 2 * (settled + labels) + (b'"status":"running"' not in meta)

    @property
    def _labelled(self) -> bool:
        """Whether it is of a version that has labels."""
        return bool(self._db.execute("select 1 from sqlite_master where name = 'label'").fetchone())

    def labels(self, after: int = 0) -> Iterator[Label]:
        """What people said of its trials, in the order in which they said it; see `core.label.standing`.

        Args:
            after: Leaves out those up to this `seq`.
        """
        with _readable(self.path):
            if not self._labelled:
                return
            for seq, at, author, index, field, value, blind in self._db.execute(
                "select seq, at, author, idx, field, value, blind from label where seq > ? order by seq",
                (after,),
            ):
                said = cast("LabelValue", decode(value))
                yield Label(seq, at, read_text(author), index, field, said, bool(blind))

    def only(self, places: Iterable[int], why: str) -> None:
        """Leaves of the run the trials at these places in the plan: nothing that reads it from now on sees another.

        Counts and rates are of these trials, and so are the numbers of trials and cases that the run says it has. What
        it spent and asked of whom (`spend`, `usage`, `calls`) stays that of the whole run. The file stays as it is.

        Args:
            places: Which.
            why: Said behind the run's title.
        """
        with _readable(self.path):
            self._db.execute("pragma temp_store = memory")
            self._db.execute("create temp table chosen (idx integer primary key)")
            self._db.executemany("insert into chosen values (?)", ((place,) for place in places))
            for name in ("trial", "result", "latest", *(["label"] if self._labelled else [])):
                # A temporary view hides what has its name, from every query that is made through this connection.
                self._db.execute(
                    f"create temp view {name} as select * from main.{name} where idx in (select idx from chosen)"  # noqa: S608 (fixed names)
                )
            self._db.commit()
            planned, cases = self._db.execute(
                "select count(*), count(distinct case_id) from latest"
            ).fetchone()
        self.narrowed = True
        title = f"{self.meta.title} · {why}"
        self.meta = replace(self.meta, title=title, planned=planned, case_count=cases)

    def cases(self) -> Iterator[str]:
        """The ids of the cases in the plan's order, as `outcomes` has them; also of those that `only` has hidden."""
        with _readable(self.path):
            for (case,) in self._db.execute(
                "select case_id from main.trial where take = 0 group by case_id order by min(idx)"
            ):
                yield case

    def trial(self, index: int) -> TrialResult | None:
        """The trial at this place in the plan; None while it is not settled."""
        return next(self.trials(index, 1), None) if self._has(index) else None

    def _has(self, index: int) -> bool:
        with _readable(self.path):
            return (
                self._db.execute("select 1 from trial where idx = ?", (index,)).fetchone()
                is not None
            )

    def matching(self, outcome: str, limit: int) -> Iterator[TrialResult]:
        """The first trials with this outcome, in the plan's order."""
        with _readable(self.path):
            rows = self._db.execute(
                "select result from latest join result using (idx, take) where outcome = ? order by idx limit ?",
                (outcome, limit),
            )
            for (result,) in rows:
                yield read_result(result)

    def totals(self) -> Totals:
        """Counts over the settled trials."""
        with _readable(self.path):
            return _totals(self._db.execute(f"{_TOTALS} from {self._table()}").fetchone())

    def by_variant(self) -> list[Totals]:
        """Counts for each variant, in the order of `meta.variants`."""
        with _readable(self.path):
            rows = {
                row[-1]: _totals(row[:-1])
                for row in self._db.execute(
                    f"{_TOTALS}, variant from {self._table()} group by variant"
                )
            }
        return [rows.get(variant.index, Totals()) for variant in self.meta.variants]

    def judge_calls(self) -> list[int]:
        """For each variant, in the order of `meta.variants`: how often its trials asked a judge, replays included."""
        with _readable(self.path):
            rows: dict[int, int] = dict(
                self._db.execute(
                    """
                    select variant, count(*) from call join trial on idx = call.trial and take = 0
                    where role = 'judge' group by variant
                    """
                )
            )
        return [rows.get(variant.index, 0) for variant in self.meta.variants]

    def word_sums(self) -> list[Sums]:
        """The same as `score_sums` for how many words outputs have that are texts. Reads every output."""
        found: dict[int, dict[str, tuple[int, int]]] = {}
        with _readable(self.path):
            for case, result in self._db.execute(
                "select case_id, result from latest join result using (idx, take) order by idx"
            ):
                text = _text(result)
                if isinstance(text.output, str):
                    cases = found.setdefault(text.variant, {})
                    words, n = cases.get(case, (0, 0))
                    cases[case] = words + len(text.output.split()), n + 1
        return [list(found.get(variant.index, {}).values()) for variant in self.meta.variants]

    def outcomes(self) -> Iterator[TrialOutcome]:
        """What became of each settled trial, in the plan's order, without the rest of it."""
        before = ""
        with _readable(self.path):
            for index, case, *rest in self._db.execute(
                f"select idx, case_id, variant, repeat, outcome, score from {self._table()} order by idx"  # noqa: S608 (one of two names)
            ):
                before = before if case == before else case  # one text for all trials of a case
                yield TrialOutcome(index, before, *rest)

    def tallies(self) -> Iterator[Tally]:
        """What the trials with a verdict came to, variant by variant, the cases in the plan's order."""
        return self.sums().tallies()

    def over_columns(self) -> list[tuple[int, int]]:
        """For each case with a verdict in whichever column: how many of its trials passed, and how many have one."""
        with _readable(self.path):
            return self._db.execute(
                f"select sum(outcome = 'pass'), count(*) from {self._table()} where outcome in ('pass', 'fail') group by case_id"  # noqa: S608 (one of two names)
            ).fetchall()

    def score_sums(self) -> list[Sums]:
        """For each variant, in the order of `meta.variants`, each case's sum of scores, and of how many trials."""
        sums = self.sums()
        return [sums.scores(variant.index) for variant in self.meta.variants]

    def latency_sums(self) -> list[Sums]:
        """The same for latencies, in seconds."""
        sums = self.sums()
        return [sums.latencies(variant.index) for variant in self.meta.variants]

    def sums(self) -> CaseSums:
        """What each case came to in each column. Read once, and anew when the run has grown."""
        with _readable(self.path):
            (version,) = self._db.execute("pragma data_version").fetchone()
            if self._sums is None or self._sums[0] != (version, self.narrowed):
                rows = self._db.execute(
                    f"select {SUMMED} from {self._table()} order by idx"  # noqa: S608 (fixed names)
                )
                self._sums = (version, self.narrowed), CaseSums(rows)
        return self._sums[1]

    def unasked(self) -> list[int]:
        """For each variant, in the order of `meta.variants`: how many trials passed though nothing was expected."""
        found = [0] * len(self.meta.variants)
        with _readable(self.path):
            for (result,) in self._db.execute(
                """
                select result from latest join result using (idx, take)
                where outcome = 'pass' and score is null
                """
            ):
                trial = read_result(result)
                found[trial.variant] += not trial.outcomes
        return found

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
        with _readable(self.path):
            for result in self.results():
                if sign in result:
                    yield read_result(result)

    def calls(self, trial: int | None = None) -> Iterator[CallRecord]:
        """The journaled calls in the order in which they were begun; of one trial, or of all."""
        where = "" if trial is None else "where call.trial = ?"
        with _readable(self.path):
            rows = self._db.execute(
                f"select {_CALL_COLUMNS} from {_CALLS} {where} order by call.id",  # noqa: S608 (two fixed texts)
                () if trial is None else (trial,),
            )
            for row in rows:
                yield call_record(row)

    def answers(self) -> Iterator[tuple[int, int, str, int, str]]:
        """The calls that were answered, as (id, trial, key, nth, draw)."""
        with _readable(self.path):
            yield from self._db.execute(
                "select call.id, trial, key, nth, draw from call join reply on reply.call = call.id where error = ''"
                " order by call.id"
            )

    def call(self, number: int) -> CallRecord | None:
        """The call with this id."""
        with _readable(self.path):
            row = self._db.execute(
                f"select {_CALL_COLUMNS} from {_CALLS} where call.id = ?",  # noqa: S608 (fixed text)
                (number,),
            ).fetchone()
        return call_record(row) if row else None

    def in_doubt(self) -> list[CallRecord]:
        """The calls that were begun and have no end."""
        with _readable(self.path):
            rows = self._db.execute(
                f"select {_CALL_COLUMNS} from {_CALLS} where reply.call is null"  # noqa: S608 (fixed text)
            )
            return [call_record(row) for row in rows]

    def most_spent(self) -> float:
        """The most that all its calls can have cost, in US dollars, as far as prices are known.

        What is not known, or in doubt, counts at the worst price that was set aside for it: attempts that failed and
        may have been charged for, calls without an end, answers that did not say how many tokens they took.
        """
        with _readable(self.path):
            (most,) = self._db.execute(
                """
                select total(
                    case when reply.call is null then coalesce(bound_usd, 0)
                         when error = '' then coalesce(cost_usd, bound_usd, 0) else 0 end
                    + coalesce(wasted, 0) * coalesce(bound_usd, 0)
                ) from call left join reply on reply.call = call.id
                where reply.call is null or origin = 'provider'
                """
            ).fetchone()
        return most

    def usage(self) -> list[Usage]:
        """What each model was asked in each role: subjects first, then judges."""
        found: dict[tuple[CallRole, str], Usage] = {}
        with _readable(self.path):
            for role, asked, answered, *numbers, unpriced, cost in self._db.execute(
                """
                select role, provider, model, count(*), sum(origin != 'provider'), total(tokens_in), total(tokens_out),
                       sum(origin = 'provider' and cost_usd is null),
                       total(case when origin = 'provider' then cost_usd end)
                from call join reply on reply.call = call.id where error = ''
                group by role, provider, model order by role = 'subject' desc, role, min(call.id)
                """
            ):
                calls, cached, tokens_in, tokens_out = map(int, numbers)
                more = Usage(
                    role,
                    asked,
                    (answered,) if answered else (),
                    calls,
                    cached,
                    tokens_in,
                    tokens_out,
                    None if unpriced else cost,
                )
                before = found.get((role, asked))
                found[role, asked] = added(before, more) if before else more
        return list(found.values())

    def spend(self) -> Spend:
        """What its calls came to, over all sessions. Of one that was settled elsewhere, what its trials say."""
        if "imported" in self.meta.settings:
            totals = self.totals()
            return Spend(totals.calls - totals.cached, totals.cost_usd, 0, 0, 0.0)
        with _readable(self.path):
            calls, unpriced, cost, wasted = self._db.execute(
                """
                select coalesce(sum(attempts > 0), 0), sum(error = '' and cost_usd is null), coalesce(sum(cost_usd), 0),
                       coalesce(sum(wasted), 0)
                from reply where origin = 'provider'
                """
            ).fetchone()
        doubtful = self.in_doubt()
        bounds = [record.start.cost_bound_usd for record in doubtful]
        return Spend(
            calls=calls,
            cost_usd=None if unpriced else cost,
            wasted=wasted,
            in_doubt=len(doubtful),
            in_doubt_usd=None if None in bounds else sum(b for b in bounds if b is not None),
        )


def warning_sign(start: str) -> bytes:
    """What stands in the JSON of a result with a `warning` that begins so; a quote in text is escaped."""
    return b'"warning":' + metric_sign(start)


def metric_sign(start: str) -> bytes:
    """What stands in the JSON of a result with a metric whose name begins so, and of few others."""
    return json.dumps(start)[:-1].encode()


_CALLS = "call left join reply on reply.call = call.id left join body on body.call = call.id"
_CALL_COLUMNS = (
    "call.trial, call.key, call.nth, call.role, call.provider, call.identity, call.bound_usd, call.draw, "
    "body.body, reply.origin, reply.latency_s, reply.tokens_in, reply.tokens_out, reply.cost_usd, "
    "reply.model, reply.attempts, reply.wasted, reply.error, reply.message"
)


def call_record(row: tuple[object, ...]) -> CallRecord:
    """A call from the columns above."""
    start = CallStart(*row[:8])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] (columns in field order)
    if row[8] is None:
        return CallRecord(start, None)
    end = CallEnd(*row[8:18], message=read_text(cast(bytes, row[18])))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] (columns in field order)
    return CallRecord(start, end)


def _totals(row: tuple[object, ...]) -> Totals:
    trials, passed, failed, errors, na, calls, cached, cost, tokens_in, tokens_out = cast(
        "tuple[int, ...]", row
    )
    return Totals(
        trials,
        passed or 0,
        failed or 0,
        errors or 0,
        na or 0,
        calls or 0,
        cached or 0,
        cost if trials else 0.0,
        tokens_in or 0,
        tokens_out or 0,
    )


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turns what SQLite and the decoder say of a damaged file into one message."""
    try:
        yield
    except (sqlite3.Error, msgspec.MsgspecError, ValueError, TypeError) as error:
        raise StoreError(
            f"{path} cannot be read: {error}",
            hint="It is damaged or not a run file. Other runs are not affected.",
        ) from error
