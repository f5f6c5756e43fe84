"""The run file: durable before anybody sees it, read back as it was, whatever happens in between."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError
from evenhand.core.run import CallEnd, CallStart, RunMeta, TrialError, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.store import journal as journal_module
from evenhand.store.decoding import read_result
from evenhand.store.earlier import Settled
from evenhand.store.encoding import write_result
from evenhand.store.home import Lock
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile
from evenhand.store.writer import LINGER_S


def meta(planned: int = 10, id_: str = "01RUN") -> RunMeta:
    """A run of two columns."""
    return RunMeta(
        id_,
        "title",
        "",
        "print",
        planned,
        planned,
        1,
        (Variant(0, "p", "m"), Variant(1, "q", "m")),
        1.0,
    )


def start(trial: int, key: str = "key", nth: int = 0, bound: float | None = 0.5) -> CallStart:
    """A call of this trial."""
    return CallStart(trial, key, nth, "subject", "model", b'{"q":1}', bound, f"0.{nth}")


def end(body: bytes = b"answer", cost: float | None = 0.1, error: str = "") -> CallEnd:
    """An answer, or an error."""
    return CallEnd(body, "provider", 0.2, 3, 4, cost, "m-1", 2, 1, error, "why" if error else "")


def result(index: int, outcome: str = "pass", **more) -> TrialResult:
    """A settled trial."""
    score = None if outcome == "error" else 1.0
    return TrialResult(
        index=index,
        case=f"case-{index}",
        variant=index % 2,
        repeat=0,
        outcome=outcome,
        score=score,
        **more,
    )


async def test_calls_and_results_are_read_back_as_they_were_written(tmp_path: Path):
    """Every field, through the file."""
    journal = Journal.create(tmp_path / "runs", meta())
    call = await journal.begin(start(3))
    await journal.end(call, end())
    outcome = Outcome("contains", "pass", 1.0, "found", 2.0, "m", {"a": 0.5}, {"k": [1, None]})
    written = result(
        3,
        output={"a": [1, "x"]},
        outcomes=(outcome,),
        named_scores={"m": 1.0},
        vars={"v": "w"},
        error=TrialError("judge", "mumbled", "hint"),
        log="printed",
    )
    await journal.settle(written)
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        (record,) = run.calls()
        assert record.start == start(3)
        assert record.end == end()
        assert list(run.trials()) == [written]
        assert run.meta.status == "finished"
        assert run.meta.finished_at is not None
        assert not run.alive


async def test_a_run_can_be_read_while_it_is_written(tmp_path: Path):
    """By any number of processes; it says that it is alive."""
    journal = Journal.create(tmp_path / "runs", meta())
    await journal.end(await journal.begin(start(0)), end())
    await journal.settle(result(0))
    await journal.end(
        await journal.begin(start(1)), end()
    )  # durable, so what came before is as well
    with RunFile.open(journal.path) as run:
        assert run.totals().passed == 1
        assert run.alive
        assert run.trial(0) is not None
        assert run.trial(5) is None
    await journal.finish("finished")


async def test_what_was_received_is_found_again_by_trial_request_and_number(tmp_path: Path):
    """Not by the order in which things came; failed calls are not found."""
    journal = Journal.create(tmp_path / "runs", meta())
    for trial, nth, body in ((4, 1, b"second"), (4, 0, b"first"), (5, 0, b"other")):
        await journal.end(await journal.begin(start(trial, nth=nth)), end(body))
    await journal.end(await journal.begin(start(6)), end(b"", None, "quota"))
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    found = [
        again.recorded(trial, "key", nth) for trial, nth in ((4, 0), (4, 1), (5, 0), (6, 0), (4, 2))
    ]
    assert [f.body if f else None for f in found] == [b"first", b"second", b"other", None, None]
    assert again.answered("key", "0.1") is not None
    assert again.answered("key", "9.9") is None
    assert again.resumed
    assert again.spent_usd == pytest.approx(3 * 0.1 + 4 * 0.5)  # each call has wasted an attempt
    await again.finish("finished")


async def test_a_trials_calls_are_found_without_a_look_at_all_others(tmp_path: Path):
    """By an index of trials alone: with the requests' keys in it, it took 40 bytes a call more."""
    journal = Journal.create(tmp_path / "runs", meta())
    await journal.begin(start(0))
    await journal.finish("finished")
    with closing(sqlite3.connect(journal.path)) as db:
        query = "explain query plan select * from call where trial = 1 and key = 'k' and nth = 0"
        (plan,) = [row[-1] for row in db.execute(query)]
    assert plan == "SEARCH call USING INDEX call_of_trial (trial=?)"


async def test_what_nobody_waits_for_is_written_after_a_pause_too(tmp_path: Path):
    """Rows that follow each other don't wake the thread that writes; the first one after a pause does."""
    journal = Journal.create(tmp_path / "runs", meta())
    await journal.end(await journal.begin(start(0)), end())
    for index in range(3):
        await asyncio.sleep(5 * LINGER_S)  # it sleeps for good until it is woken
        await journal.settle(result(index))
    with RunFile.open(journal.path) as run:
        for _ in range(500):
            if len(list(run.trials())) == 3:
                break
            await asyncio.sleep(0.02)
        assert [trial.index for trial in run.trials()] == [0, 1, 2]
    await journal.finish("finished")


async def test_a_new_run_has_nothing_to_find(tmp_path: Path):
    """Its journal answers nothing."""
    journal = Journal.create(tmp_path / "runs", meta())
    assert journal.recorded(0, "key", 0) is None
    assert journal.answered("key", "0.0") is None
    assert journal.in_doubt() == []
    assert len(journal.settled()) == 0
    await journal.finish("finished")


async def test_trials_in_error_are_done_again_and_the_later_take_counts(tmp_path: Path):
    """Those with a verdict, and those to which nothing applied, are not."""
    journal = Journal.create(tmp_path / "runs", meta())
    for i, outcome in enumerate(("pass", "fail", "error", "not_applicable")):
        await journal.settle(result(i, outcome))
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    assert [i in again.settled() for i in range(5)] == [True, True, False, True, False]
    await again.settle(result(2, "pass", output="second take"))
    await again.finish("finished")
    with RunFile.open(journal.path) as run:
        assert [t.outcome for t in run.trials()] == ["pass", "fail", "pass", "not_applicable"]
        totals = run.totals()
        assert (totals.trials, totals.errors) == (4, 0)


def test_a_process_that_dies_leaves_what_was_durable_and_its_lock_free(tmp_path: Path):
    """The call that it had sent and not recorded is in doubt, with what it can have cost."""
    script = f"""
        import asyncio, os, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        from test_journal import Journal, end, meta, result, start
        async def main():
            journal = Journal.create(Path({str(tmp_path)!r}) / "runs", meta())
            await journal.end(await journal.begin(start(0)), end())
            await journal.settle(result(0))
            await journal.end(await journal.begin(start(1)), end(b"kept"))
            await journal.begin(start(2, bound=0.75))
            os._exit(9)
        asyncio.run(main())
    """
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert died.returncode == 9
    path = tmp_path / "runs" / "01RUN.db"
    with RunFile.open(path) as run:
        assert run.meta.status == "running"
        assert not run.alive
        spend = run.spend()
        assert (spend.in_doubt, spend.in_doubt_usd) == (1, 0.75)
    again = Journal.reopen(path)
    assert 0 in again.settled()
    kept = again.recorded(1, "key", 0)
    assert kept is not None
    assert kept.body == b"kept"
    assert [call.start.trial for call in again.in_doubt()] == [2]
    assert again.spent_usd == pytest.approx(2 * 0.1 + 2 * 0.5 + 0.75)
    again.close()


async def test_after_a_power_cut_a_run_has_what_was_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its file is what was last synced, even if that is before the first row. SQLite syncs the log with each row."""
    disk = tmp_path / "disk"
    disk.mkdir()
    sync = os.fsync

    def keep(number: int) -> None:
        path = Path(f"/proc/self/fd/{number}").readlink()
        if path.is_file():
            shutil.copy(path, disk / "01RUN.db")
        sync(number)

    monkeypatch.setattr(os, "fsync", keep)
    journal = Journal.create(tmp_path / "runs", meta())
    await journal.end(await journal.begin(start(0)), end(b"paid for"))
    shutil.copy(f"{journal.path}-wal", disk / "01RUN.db-wal")
    assert journal._db.execute("pragma synchronous").fetchone() == (2,)
    journal.close()
    with RunFile.open(disk / "01RUN.db") as run:
        assert [call.end and call.end.body for call in run.calls()] == [b"paid for"]


async def test_a_price_that_is_not_known_leaves_the_spending_unknown(tmp_path: Path):
    """Never 0."""
    journal = Journal.create(tmp_path / "runs", meta())
    await journal.end(await journal.begin(start(0, bound=None)), end(cost=None))
    await journal.begin(start(1, bound=None))
    await journal.finish("interrupted")
    with RunFile.open(journal.path) as run:
        assert run.spend().cost_usd is None
        assert run.spend().in_doubt_usd is None


async def test_a_held_run_says_who_holds_it(tmp_path: Path):
    """And is not touched."""
    journal = Journal.create(tmp_path / "runs", meta())
    with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
        Journal.reopen(journal.path)
    await journal.finish("finished")


async def test_two_runs_with_one_id_cannot_be(tmp_path: Path):
    """The second does not write into the first."""
    journal = Journal.create(tmp_path / "runs", meta())
    await journal.finish("finished")
    with pytest.raises(StoreError, match="cannot be kept"):
        Journal.create(tmp_path / "runs", meta())


def test_a_place_that_cannot_be_written_is_told_before_anything_is_sent(tmp_path: Path):
    """With the variable that names another."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="EVENHAND_HOME"):
        Journal.create(tmp_path / "file" / "runs", meta())


async def test_after_a_failed_write_nothing_is_begun_and_what_was_received_is_written_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A disk that is full for a while costs nothing that was paid for."""
    journal = Journal.create(tmp_path / "runs", meta())
    call = await journal.begin(start(0))
    plain = journal._writer.store
    monkeypatch.setattr(journal._writer, "store", _full)
    with pytest.raises(StoreError, match="disk is full"):
        await journal.end(call, end(b"paid for"))
    with pytest.raises(StoreError):
        await journal.begin(start(1))
    with pytest.raises(StoreError):
        await journal.settle(result(0))
    monkeypatch.setattr(journal._writer, "store", plain)
    await journal.finish("stopped", "the disk is full")
    with RunFile.open(journal.path) as run:
        assert [c.end.body for c in run.calls() if c.end] == [b"paid for"]
        assert run.meta.status == "stopped"
        assert run.totals().trials == 1


async def test_what_cannot_be_written_even_at_the_end_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """With the number of replies that are lost."""
    journal = Journal.create(tmp_path / "runs", meta())
    call = await journal.begin(start(0))
    monkeypatch.setattr(journal._writer, "store", _full)
    with pytest.raises(StoreError):
        await journal.end(call, end())
    with pytest.raises(StoreError, match="could not be written to its end"):
        await journal.finish("stopped")


async def test_a_slow_disk_holds_results_back_instead_of_filling_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """After a backlog, settling waits until it is written."""
    monkeypatch.setattr(journal_module, "BACKLOG", 3)
    journal = Journal.create(tmp_path / "runs", meta(20))
    for i in range(12):
        await asyncio.wait_for(journal.settle(result(i)), 20)
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        assert run.totals().trials == 12


async def test_notes_of_replayed_calls_are_kept(tmp_path: Path):
    """They cost nothing and are not in doubt."""
    journal = Journal.create(tmp_path / "runs", meta())
    journal.note(start(0), CallEnd(b"cached", "cache", 0.1, 1, 2, 0.5))
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        (call,) = run.calls(0)
        assert call.end is not None
        assert call.end.origin == "cache"
        assert run.spend().calls == 0
        assert list(run.calls(1)) == []


async def test_totals_are_counted_for_the_run_and_for_each_column(tmp_path: Path):
    """Columns without a trial count nothing."""
    journal = Journal.create(tmp_path / "runs", meta())
    for i in (0, 2, 4):
        await journal.settle(
            result(i, "fail" if i == 2 else "pass", cost_usd=0.5, calls=1, tokens_in=2)
        )
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        one, two = run.by_variant()
        assert (one.trials, one.passed, one.failed, one.cost_usd) == (3, 2, 1, 1.5)
        assert two.trials == 0
        assert [t.index for t in run.matching("fail", 5)] == [2]
        assert [t.index for t in run.trials(first=2, limit=1)] == [2]
        assert [o.outcome for o in run.outcomes()] == ["pass", "fail", "pass"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"not a database at all, but long enough to be read as one" * 40, "cannot be read"),
        (b"", "not a run file"),
    ],
)
def test_a_file_that_is_no_run_is_refused_in_words(tmp_path: Path, content: bytes, says: str):
    """Not with a traceback of SQLite's."""
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=says):
        RunFile.open(path)


def test_a_missing_file_another_programs_and_a_newer_ones_are_told_apart(tmp_path: Path):
    """Each with what to do."""
    with pytest.raises(StoreError, match="no such run file"):
        RunFile.open(tmp_path / "none.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("create table t (x)")
    other.close()
    with pytest.raises(StoreError, match="not one of Evenhand's"):
        RunFile.open(tmp_path / "other.db")
    newer = sqlite3.connect(tmp_path / "newer.db")
    newer.execute("pragma application_id = 1165389361")
    newer.execute("pragma user_version = 99")
    newer.execute("create table t (x)")
    newer.close()
    with pytest.raises(StoreError, match="newer Evenhand"):
        RunFile.open(tmp_path / "newer.db")


async def test_a_damaged_run_file_is_said_to_be_damaged(tmp_path: Path):
    """And no other run is affected."""
    journal = Journal.create(tmp_path / "runs", meta())
    for i in range(10):
        await journal.settle(result(i, output="x" * 5000))
    await journal.finish("finished")
    data = bytearray(journal.path.read_bytes())
    data[8192:40_000] = b"\xff" * (40_000 - 8192)
    journal.path.write_bytes(data)
    with pytest.raises(StoreError, match="cannot be read"), RunFile.open(journal.path) as run:
        list(run.trials())


def test_text_of_every_kind_survives_and_numbers_that_are_none_become_errors():
    """Lone surrogates, NULs, right-to-left marks; NaN in an output is an error of that trial, not of the run."""
    odd = "\ud800 \x00 \u202e é"
    assert read_result(write_result(result(1, output=odd, reason=odd))).output == odd
    broken = read_result(write_result(result(1, output={"x": float("nan")})))
    assert broken.outcome == "error"
    assert broken.error is not None


def test_settled_places_are_a_bit_each():
    """A million trials take an eighth of a megabyte."""
    settled = Settled(1_000_000)
    settled.add(999_999)
    settled.add(999_999)
    settled.add(5_000_000)
    assert (999_999 in settled, 0 in settled, 5_000_000 in settled, len(settled)) == (
        True,
        False,
        False,
        1,
    )


async def test_how_a_run_ended_is_kept_though_its_last_write_failed(tmp_path: Path):
    """A call that could not be recorded was not sent; the run stopped, and was not killed."""
    journal = Journal.create(tmp_path / "runs", meta())
    store, journal._writer.store = journal._writer.store, _full
    with pytest.raises(StoreError, match="full"):
        await journal.begin(start(1))
    journal._writer.store = store
    await journal.finish("stopped", "the disk was full")
    with RunFile.open(journal.path) as run:
        assert (run.meta.status, run.meta.message) == ("stopped", "the disk was full")
        assert list(run.calls()) == []


async def test_a_replayed_call_noted_on_a_full_disk_never_stands_for_a_later_one(tmp_path: Path):
    """Its reply without its row would be taken for the reply to the next session's call of that number."""
    journal = Journal.create(tmp_path / "runs", meta())
    store, journal._writer.store = journal._writer.store, _full
    journal.note(start(1, "replayed"), CallEnd(b"old", "cache"))
    with pytest.raises(StoreError, match="full"):
        await journal.begin(start(2))
    journal._writer.store = store
    await journal.finish("stopped")
    again = Journal.reopen(journal.path)
    await again.end(await again.begin(start(3, "asked")), end(b"new"))
    await again.finish("finished")
    with RunFile.open(journal.path) as run:
        found = [(call.start.key, call.end and call.end.body) for call in run.calls()]
    assert found == [("replayed", b"old"), ("asked", b"new")]


def test_a_run_that_could_not_be_made_leaves_no_file_behind(tmp_path: Path, monkeypatch):
    """It would be the latest run, and could not be shown. Another run's file is left alone."""

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    (tmp_path / "runs").mkdir()
    other = tmp_path / "runs" / "01OTHER.db"
    other.write_bytes(b"another run")
    with pytest.raises(StoreError, match="exists"):
        Journal.create(tmp_path / "runs", meta(id_="01OTHER"))
    monkeypatch.setattr("evenhand.store.opened.prepare", full)
    with pytest.raises(StoreError, match="cannot be kept"):
        Journal.create(tmp_path / "runs", meta())
    assert list((tmp_path / "runs").iterdir()) == [other]
    assert other.read_bytes() == b"another run"


def _full(items: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


async def test_one_unknown_cost_makes_the_total_unknown_and_no_trials_cost_nothing(tmp_path: Path):
    """A total without it would be too small."""
    journal = Journal.create(tmp_path / "runs", meta())
    with RunFile.open(journal.path) as run:
        assert run.totals().cost_usd == 0.0
    await journal.settle(result(0, cost_usd=None))
    await journal.settle(result(1, cost_usd=0.5))
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        assert run.totals().cost_usd is None


async def test_a_case_that_is_only_in_error_is_among_the_cases_of_a_run(tmp_path: Path):
    """The rate over all columns would leave it out otherwise; one to which nothing applied is left out."""
    journal = Journal.create(tmp_path / "runs", meta())
    for i, outcome in enumerate(("pass", "error", "not_applicable")):
        await journal.settle(result(i, outcome))
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        assert run.over_columns() == [(1, 0, 0), (0, 0, 1)]


async def test_where_trials_ask_anew_the_replies_of_those_in_error_are_none_of_theirs(
    tmp_path: Path,
):
    """What this session receives is; trials that have a verdict keep theirs."""
    journal = Journal.create(tmp_path / "runs", meta())
    for trial, outcome in ((0, "error"), (1, "pass")):
        await journal.end(await journal.begin(start(trial)), end(b"then"))
        await journal.settle(result(trial, outcome))
    await journal.finish("interrupted")
    for anew, kept in ((False, [b"then"]), (True, [])):
        again = Journal.reopen(journal.path, anew=anew)
        assert [one.body for *_, one in again.replies(0)] == kept
        assert [one.body for *_, one in again.replies(1)] == [b"then"]
        if anew:
            await again.end(await again.begin(start(0)), end(b"now"))
            assert [one.body for *_, one in again.replies(0)] == [b"now"]
        again.close()


async def test_what_another_process_notes_until_it_lets_go_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It ends just before the one that goes on with its run has the lock."""
    other = Journal.create(tmp_path / "runs", meta())

    def lock_after_the_other(path: Path, what: str) -> Lock:
        other.note_unrecorded("POST /chat")
        other.close()
        return Lock(path, what)

    monkeypatch.setattr(journal_module, "Lock", lock_after_the_other)
    again = Journal.reopen(other.path)
    assert again.meta.unrecorded == {"POST /chat": 1}
    await again.finish("finished")
    with RunFile.open(other.path) as run:
        assert run.meta.unrecorded == {"POST /chat": 1}


@pytest.mark.parametrize("cut_off", [False, True], ids=["ended", "cut off"])
async def test_a_run_that_is_resumed_later_took_the_time_in_which_it_was_at_work(
    tmp_path: Path, cut_off: bool
):
    """One second, an hour ago, and what the rest takes now: nobody waited an hour for it."""
    hour_ago = time.time() - 3600
    journal = Journal.create(tmp_path, replace(meta(), created_at=hour_ago))
    await journal.settle(result(0))
    if cut_off:
        journal.close()
        os.utime(journal.path, (hour_ago + 1, hour_ago + 1))
    else:
        await journal.finish("interrupted")
        with closing(sqlite3.connect(journal.path)) as db:
            ended = replace(journal.meta, finished_at=hour_ago + 1)
            db.execute("update run set meta = ?", (encode(ended),))
            db.commit()
    for _ in range(2):  # with nothing left to run, too
        again = Journal.reopen(journal.path)
        await again.finish("finished")
        with RunFile.open(journal.path) as run:
            assert run.meta.finished_at is not None
            assert run.meta.finished_at - hour_ago >= 3600
            assert run.meta.took_s == pytest.approx(1, abs=30)
