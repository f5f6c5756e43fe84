"""What a store meets in the wild: other processes, folders without rights, damage, values that no table takes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.run import CallEnd, CallStart, RunMeta, TrialError, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.store import run_lookup
from evenhand.store.cache import Cache
from evenhand.store.decoding import read_result
from evenhand.store.encoding import write_result
from evenhand.store.home import Lock, held, lock_of
from evenhand.store.journal import Journal
from evenhand.store.measured import measured
from evenhand.store.remarks import remark
from evenhand.store.runfile import RunFile

NOBODY = 65534


def meta(planned: int = 4, id_: str = "01RUN") -> RunMeta:
    """A run of so many trials in one column."""
    return RunMeta(id_, "", "", "print", planned, planned, 1, (Variant(0, "p", "m"),), 1.0)


def start(trial: int, draw: str = "0.0") -> CallStart:
    """A call of this trial."""
    return CallStart(trial, f"key-{trial}", 0, "subject", "model", b"{}", 0.25, draw)


def locks(home: Path) -> list[Path]:
    """The locks that somebody holds, or forgot."""
    return list((home / "locks").glob("*"))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def as_nobody(code: str, *args: object) -> str:
    """What this code prints when it is run by somebody without rights to what we make."""
    script = (
        "import os, sys\n"
        "import evenhand.store.journal, evenhand.store.cache, evenhand.store.run_lookup\n"
        "from evenhand.core.errors import StoreError\n"
        "from pathlib import Path\n"
        f"if os.geteuid() == 0: os.setuid({NOBODY})\n" + textwrap.dedent(code)
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


# Values


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], object(), b"\xff"])
async def test_totals_count_what_was_kept_and_not_what_could_not_be(tmp_path: Path, value: object):
    """A pass whose metadata cannot be written is an error in the list, in the totals and on resume alike."""
    journal = Journal.create(tmp_path / "runs", meta())
    await journal.settle(
        TrialResult(
            index=0, case="a", variant=0, repeat=0, outcome="pass", score=1.0, metadata={"x": value}
        )
    )
    await journal.finish("interrupted")
    with RunFile.open(journal.path) as run:
        trial = run.trial(0)
        assert trial is not None
        bytes_are_kept = isinstance(value, bytes)
        assert trial.outcome == ("pass" if bytes_are_kept else "error")
        assert run.totals().passed == int(bytes_are_kept)
        assert run.totals().errors == int(not bytes_are_kept)
        assert [o.outcome for o in run.outcomes()] == [trial.outcome]
        assert list(run.matching("pass", 9)) == [trial] * bytes_are_kept
    again = Journal.reopen(journal.path)
    assert (0 in again.settled()) is bytes_are_kept
    await again.finish("finished")


def test_an_output_within_itself_becomes_an_error_that_says_so():
    """It has no end, so no JSON; Python's words for it are kept."""
    loop: list[object] = []
    loop.append(loop)
    kept = read_result(
        write_result(
            TrialResult(
                index=0, case="a", variant=0, repeat=0, outcome="pass", score=1.0, output=loop
            )
        )
    )
    assert kept.outcome == "error"
    assert kept.output == "[[...]]"


def test_an_output_that_cannot_even_be_shown_is_named_by_its_type():
    """Its own __repr__ raises."""

    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    kept = read_result(
        write_result(
            TrialResult(
                index=0,
                case="a",
                variant=0,
                repeat=0,
                outcome="pass",
                score=1.0,
                output=Shy(),
                vars={"v": Shy()},
            )
        )
    )
    assert kept.outcome == "error"
    assert kept.output == "<Shy>"
    assert kept.vars == {"v": "<Shy>"}


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_an_error(score: float):
    """It is not written as a missing one beside a pass."""
    kept = read_result(
        write_result(
            TrialResult(index=0, case="a", variant=0, repeat=0, outcome="pass", score=score)
        )
    )
    assert (kept.outcome, kept.score) == ("error", None)


async def test_names_with_half_a_character_do_not_stop_the_writer(tmp_path: Path):
    """A case's id, a vendor's name for its model, an error's words."""
    journal = Journal.create(tmp_path / "runs", meta())
    call = await journal.begin(start(0))
    await journal.end(call, CallEnd(b"a", "provider", model="m\ud800", message="w\ud800"))
    await journal.settle(
        TrialResult(
            index=0,
            case="c\ud800é",
            variant=0,
            repeat=0,
            outcome="pass",
            score=1.0,
            reason="r\ud800",
        )
    )
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        record = run.call(call)
        assert record is not None
        assert record.end is not None
        assert (record.end.model, record.end.message) == ("m?", "w\ud800")
        trial = run.trial(0)
        assert trial is not None
        assert (trial.case, trial.reason) == ("c\ud800é", "r\ud800")


async def test_half_a_character_in_a_title_or_an_output_keeps_no_run_from_being_read(
    tmp_path: Path,
):
    """A set may be called anything, and a model may say anything."""
    journal = Journal.create(tmp_path, replace(meta(1), title="half \ud800"))
    await journal.settle(
        TrialResult(
            index=0, case="c", variant=0, repeat=0, outcome="pass", score=1.0, output="two \ud800"
        )
    )
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        assert run.meta.title == "half \ud800"
        assert run.word_sums() == [[(2, 1, 0)]]


async def test_a_row_that_no_table_takes_fails_the_call_and_leaves_nobody_waiting(tmp_path: Path):
    """A number of tokens with a hundred digits: the writer says so instead of dying."""
    journal = Journal.create(tmp_path / "runs", meta())
    call = await journal.begin(start(0))
    with pytest.raises(StoreError, match="cannot be written"):
        await asyncio.wait_for(journal.end(call, CallEnd(b"a", "provider", tokens_in=10**100)), 20)
    with pytest.raises(StoreError, match="to its end"):
        await journal.finish("stopped")
    assert locks(tmp_path) == []


# Order


async def test_a_reply_is_on_disk_before_anybody_is_told(tmp_path: Path):
    """Another connection sees the intent when begin returns, and the answer when end does."""
    journal = Journal.create(tmp_path / "runs", meta())
    with RunFile.open(journal.path) as other:
        call = await journal.begin(start(0))
        assert [c.start.key for c in other.in_doubt()] == ["key-0"]
        await journal.end(call, CallEnd(b"answer", "provider"))
        assert other.in_doubt() == []
        record = other.call(call)
        assert record is not None
        assert record.end is not None
        assert record.end.body == b"answer"
        assert other.call(99) is None
    await journal.finish("finished")


async def test_many_callers_share_one_sync(tmp_path: Path):
    """The more wait, the more go into one transaction."""
    journal = Journal.create(tmp_path / "runs", meta(200))
    plain, batches = journal._writer.store, []

    def counted(items: list) -> None:
        batches.append(len(items))
        plain(items)

    journal._writer.store = counted
    numbers = await asyncio.gather(*(journal.begin(start(i)) for i in range(200)))
    await journal.finish("finished")
    assert sorted(numbers) == list(range(1, 201))
    assert len(batches) < 50


async def test_a_caller_that_gave_up_waiting_does_not_disturb_the_others(tmp_path: Path):
    """Its row is written all the same."""
    journal = Journal.create(tmp_path / "runs", meta())
    impatient = asyncio.ensure_future(journal.begin(start(0)))
    await asyncio.sleep(0)
    impatient.cancel()
    assert await journal.begin(start(1)) == 2
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        assert [c.start.trial for c in run.calls()] == [0, 1]


def test_what_waits_is_written_even_when_the_loop_is_gone(tmp_path: Path):
    """Its caller died with it; the row is there."""

    async def abandoned() -> Journal:
        journal = Journal.create(tmp_path / "runs", meta())
        await journal.begin(start(0))
        journal.note(start(1), CallEnd(b"cached", "cache"))
        task = asyncio.ensure_future(journal.begin(start(2)))
        await asyncio.sleep(0)
        task.cancel()
        return journal

    journal = asyncio.run(abandoned())
    journal.close()
    journal.close()
    with RunFile.open(journal.path) as run:
        assert [c.start.trial for c in run.calls()] == [0, 1, 2]


async def test_a_closed_loop_is_no_reason_to_lose_a_row(tmp_path: Path):
    """The writer finds nobody to wake and goes on."""
    journal = Journal.create(tmp_path / "runs", meta())
    gone = asyncio.new_event_loop()
    future = gone.create_future()
    gone.close()
    journal._writer._loop = gone
    journal._writer._rows.append((0, (1, 0, "k", 0, "subject", "m", b"{}", None, "0.0"), future))
    journal.close()
    with RunFile.open(journal.path) as run:
        assert [c.start.key for c in run.calls()] == ["k"]


# Resuming


async def test_what_a_run_may_have_spent_counts_calls_in_doubt_at_their_worst(tmp_path: Path):
    """An answer at its price or, if it told none, its bound; what failed or has no end at its bound."""
    journal = Journal.create(tmp_path / "runs", meta())
    paid = await journal.begin(start(0))
    await journal.end(paid, CallEnd(b"a", "provider", cost_usd=0.1, wasted=2))
    await journal.begin(start(1))
    silent = await journal.begin(start(2))
    await journal.end(silent, CallEnd(b"a", "provider"))
    refused = await journal.begin(start(3))
    await journal.end(refused, CallEnd(b"", "provider", error="bad-request"))
    journal.note(start(4), CallEnd(b"a", "cache", cost_usd=9.0))
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    assert again.resumed
    assert again.spent_usd == pytest.approx(0.1 + 2 * 0.25 + 0.25 + 0.25)
    assert [c.start.trial for c in again.in_doubt()] == [1]
    found = again.recorded(0, "key-0", 0)
    assert found is not None
    assert found.body == b"a"
    assert again.recorded(0, "key-0", 1) is None
    assert again.answered("key-0", "0.0") == found
    assert again.answered("key-1", "0.0") is None
    await again.finish("finished")
    with RunFile.open(journal.path) as run:
        spend = run.spend()
        assert (spend.calls, spend.cost_usd, spend.wasted, spend.in_doubt) == (3, None, 2, 1)
        assert spend.in_doubt_usd == 0.25


async def test_an_error_is_not_an_answer_to_replay(tmp_path: Path):
    """A call that failed is asked again; it is not in doubt either."""
    journal = Journal.create(tmp_path / "runs", meta())
    call = await journal.begin(start(0))
    await journal.end(call, CallEnd(b"", "provider", error="overloaded", message="busy"))
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    assert again.recorded(0, "key-0", 0) is None
    assert again.in_doubt() == []
    await again.finish("finished")


async def test_new_calls_of_a_resumed_run_get_numbers_of_their_own(tmp_path: Path):
    """Nothing that was recorded is written over."""
    journal = Journal.create(tmp_path / "runs", meta())
    assert await journal.begin(start(0)) == 1
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    assert await again.begin(start(0)) == 2
    await again.finish("finished")


async def test_a_damaged_run_cannot_be_gone_on_with_and_its_lock_is_let_go(tmp_path: Path):
    """In words, and so that the next attempt fails for the same reason and no other."""
    journal = Journal.create(tmp_path / "runs", meta(50))
    for i in range(50):
        await journal.settle(
            TrialResult(
                index=i, case="a", variant=0, repeat=0, outcome="pass", score=1.0, output="x" * 4000
            )
        )
        call = await journal.begin(start(i))
        await journal.end(call, CallEnd(b"y" * 4000, "provider"))
    await journal.finish("interrupted")
    data = bytearray(journal.path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    journal.path.write_bytes(data)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"cannot be (read|written)"):
            Journal.reopen(journal.path)
        assert locks(tmp_path) == []


async def test_a_newer_evenhands_run_is_left_alone(tmp_path: Path):
    """It is refused before anything is locked or written."""
    import sqlite3

    journal = Journal.create(tmp_path / "runs", meta())
    await journal.finish("interrupted")
    db = sqlite3.connect(journal.path)
    db.execute("pragma user_version = 77")
    db.close()
    with pytest.raises(StoreError, match="newer Evenhand"):
        Journal.reopen(journal.path)
    assert locks(tmp_path) == []


def test_a_run_cut_off_while_being_made_says_so(tmp_path: Path):
    """The tables are there, the run is not."""
    import sqlite3

    from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare

    path = tmp_path / "half.db"
    db = sqlite3.connect(path)
    prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, "half")
    prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, "half")
    db.close()
    with pytest.raises(StoreError, match=r"(?s)cut off while being made.*Delete the file"):
        RunFile.open(path)


# Locks


def test_a_lock_names_its_holder_until_it_is_let_go(tmp_path: Path):
    """By process, machine and time."""
    path = tmp_path / "locks" / "a.lock"
    lock = Lock(path, "run A")
    assert held(path)
    with pytest.raises(StoreError, match=f"run A is in use by process {os.getpid()} on "):
        Lock(path, "run A")
    lock.release()
    assert not held(path)
    assert not path.exists()
    lock.release()


def test_a_lock_is_let_go_even_when_its_file_was_taken_away(tmp_path: Path):
    """Somebody cleaned up: nobody can be kept out by a file that is not there."""
    path = tmp_path / "a.lock"
    lock = Lock(path, "run A")
    path.unlink()
    lock.release()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(lock._fd)
    Lock(path, "run A").release()


def test_a_lock_that_was_let_go_while_it_was_opened_is_not_taken_for_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two who come at once never both hold it: one that got a file already taken away opens the new one."""
    from evenhand.store import home as module

    path = tmp_path / "a.lock"
    plain, seen = module._locked, []

    def raced(path: Path, what: str) -> int:
        fd = plain(path, what)
        if not seen:
            path.unlink()  # its last holder let go just now
        seen.append(fd)
        return fd

    monkeypatch.setattr(module, "_locked", raced)
    lock = Lock(path, "run A")
    assert len(seen) == 2
    assert os.path.samestat(os.fstat(lock._fd), path.stat())
    lock.release()


def test_a_lock_of_a_process_that_was_killed_is_free(tmp_path: Path):
    """The kernel lets go for it."""
    path = tmp_path / "a.lock"
    code = (
        "import os, sys; from pathlib import Path; from evenhand.store.home import Lock\n"
        "Lock(Path(sys.argv[1]), 'x'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 9
    assert path.exists()
    assert not held(path)
    Lock(path, "x").release()


# Folders without rights


async def test_a_run_can_be_looked_at_in_a_folder_that_cannot_be_written(open_folder: Path):
    """Looking needs no lock and no side file."""
    journal = Journal.create(open_folder / "runs", meta())
    await journal.settle(
        TrialResult(index=0, case="a", variant=0, repeat=0, outcome="pass", score=1.0)
    )
    await journal.finish("finished")
    journal.path.chmod(0o444)
    for folder in (open_folder / "runs", open_folder / "locks"):
        folder.chmod(0o555)
    said = as_nobody(
        """
        from evenhand.store.runfile import RunFile
        from evenhand.store.journal import Journal
        with RunFile.open(Path(sys.argv[1])) as run:
            print(run.totals().passed, run.alive)
        try:
            Journal.reopen(Path(sys.argv[1]))
        except StoreError as error:
            print(error.message)
        """,
        journal.path,
    )
    assert said.startswith("1 False\n")
    assert "cannot be written" in said
    for folder in (open_folder / "runs", open_folder / "locks"):
        folder.chmod(0o755)


async def test_a_killed_run_is_not_read_without_its_log(open_folder: Path):
    """SQLite reads a log only where it can make a file beside it. Trials that are in the log would be missing."""
    journal = Journal.create(open_folder / "home" / "runs", meta())
    await journal.settle(
        TrialResult(index=0, case="a", variant=0, repeat=0, outcome="pass", score=1.0)
    )
    log = Path(f"{journal.path}-wal")
    async with asyncio.timeout(20):
        while not log.stat().st_size:  # it is written by another thread
            await asyncio.sleep(0.01)
    runs = open_folder / "runs"
    runs.mkdir(0o755)
    for end in ("", "-wal"):  # as an artifact of CI holds it
        copy = shutil.copy(f"{journal.path}{end}", f"{runs / journal.path.name}{end}")
        Path(copy).chmod(0o444)
    await journal.finish("finished")
    runs.chmod(0o555)
    said = as_nobody(
        """
        from evenhand.store.runfile import RunFile
        try:
            with RunFile.open(Path(sys.argv[1])) as run:
                print(run.totals().trials)
        except StoreError as error:
            print(error)
        """,
        runs / journal.path.name,
    )
    runs.chmod(0o755)
    assert f"what it wrote last is in {journal.path.name}-wal" in said
    assert "Copy both files to a folder that can be written." in said


def test_a_folder_that_cannot_be_written_keeps_no_run_and_says_where_else_to(open_folder: Path):
    """Before anything is sent."""
    open_folder.chmod(0o555)
    said = as_nobody(
        """
        from evenhand.core.run import RunMeta
        from evenhand.store.journal import Journal
        try:
            Journal.create(Path(sys.argv[1]) / "home" / "runs", RunMeta("01", "", "", "", 1, 1, 1, (), 0.0))
        except StoreError as error:
            print(error)
        """,
        open_folder,
    )
    open_folder.chmod(0o755)
    assert "Permission denied" in said
    assert "EVENHAND_HOME" in said


def test_a_cache_that_cannot_be_written_is_done_without(open_folder: Path):
    """With one warning."""
    open_folder.chmod(0o555)
    said = as_nobody(
        """
        from evenhand.store.cache import Cache
        cache = Cache.open(Path(sys.argv[1]) / "cache", print)
        for i in range(50):
            cache.put(f"k{i}", "0", b"", b"", None)
        cache.close()
        cache.put("later", "0", b"", b"", None)
        """,
        open_folder,
    )
    open_folder.chmod(0o755)
    assert said.count("going on without the cache") == 1


@pytest.mark.parametrize("step", ["begin", "connect"])
def test_a_run_that_failed_to_begin_leaves_no_lock_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    """The disk was full: the next attempt is not told that the run is in use."""
    from evenhand.store import journal as module

    def full(*_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, step, full)
    with pytest.raises(StoreError, match="No space left"):
        Journal.create(tmp_path / "runs", meta())
    assert locks(tmp_path) == []
    assert list((tmp_path / "runs").iterdir()) == []


# The cache


def test_an_answer_put_by_one_process_is_found_by_another(tmp_path: Path):
    """Its bytes as they came, zero bytes and all."""
    code = (
        "import sys; from pathlib import Path; from evenhand.store.cache import Cache\n"
        "c = Cache.open(Path(sys.argv[1])); c.put('k', '1', b'asked', bytes(range(256)), 0.5); c.close()"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)
    cache = Cache.open(tmp_path)
    found = cache.get("k", "1")
    assert found is not None
    assert (found.body, found.latency_s) == (bytes(range(256)), 0.5)
    assert cache.get("k", "0") is None
    assert [entry.draw for entry in cache.entries("k")] == ["1"]
    assert list(cache.entries("other")) == []
    cache.close()
    assert cache.get("k", "1") is None


def test_many_writers_lose_nothing(tmp_path: Path):
    """Threads with a cache each, as processes have."""

    def fill(number: int) -> None:
        cache = Cache.open(tmp_path)
        for i in range(600):
            cache.put(f"{number}-{i}", "0", b"", b"x", None)
        cache.close()

    threads = [threading.Thread(target=fill, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache = Cache.open(tmp_path)
    assert cache.stats().entries == 1800
    assert cache.stats().oldest_at is not None
    cache.close()


def test_a_newer_evenhands_cache_is_not_touched(tmp_path: Path):
    """It is gone without, in words."""
    import sqlite3

    said: list[str] = []
    first = Cache.open(tmp_path)
    first.put("k", "0", b"", b"x", None)
    first.close()
    db = sqlite3.connect(first.path)
    db.execute("pragma user_version = 77")
    db.close()
    cache = Cache.open(tmp_path, said.append)
    cache.put("other", "0", b"", b"x", None)
    cache.close()
    assert len(said) == 1
    assert "newer Evenhand" in said[0]


def test_a_cache_that_breaks_while_it_is_read_is_given_up_once(tmp_path: Path):
    """Answers are then asked for anew; the run goes on."""
    said: list[str] = []
    cache = Cache.open(tmp_path, said.append)
    cache.put("k", "0", b"", b"x" * 9000, None)
    cache.close()
    cache = Cache.open(tmp_path, said.append)
    assert cache._reader is not None
    cache._reader.close()
    assert cache.get("k", "0") is None
    assert cache.get("k", "0") is None
    assert len(said) == 1


def test_a_cache_that_cannot_be_taken_away_says_so(tmp_path: Path):
    """A folder lies in its place."""
    (tmp_path / "answers.db").mkdir()
    cache = Cache(tmp_path)
    with pytest.raises(StoreError, match="cannot be removed"):
        cache.clear()


def test_a_write_that_fails_gives_the_cache_up(tmp_path: Path):
    """What waits is dropped, and it is said once."""
    said: list[str] = []
    cache = Cache.open(tmp_path, said.append)
    cache.put("k", "0", b"", b"x", None)
    cache._queue.put(
        ("k", "0", ("k", "0", b"", object(), None, 0.0))
    )  # something that no table takes
    cache.close()
    assert len(said) == 1


# Finding runs


def test_an_empty_word_or_a_file_that_is_not_there_finds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """With what to do about it."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    with pytest.raises(UsageError, match="no such run file"):
        run_lookup.find(tmp_path, "gone.db")
    with pytest.raises(UsageError, match="there are no runs"):
        run_lookup.find(tmp_path, None)
    runs = tmp_path / ".evenhand" / "runs"
    runs.mkdir(parents=True)
    for name in ("01AAA", "01AAB", "02BBB"):
        (runs / f"{name}.db").touch()
    assert run_lookup.find(tmp_path, "02").stem == "02BBB"
    assert run_lookup.find(tmp_path, "01aab").stem == "01AAB"
    with pytest.raises(UsageError, match="could be any of 2"):
        run_lookup.find(tmp_path, "01A")
    with pytest.raises(UsageError, match="there is no run 'zz'"):
        run_lookup.find(tmp_path, "zz")
    assert run_lookup.find(tmp_path, str(runs / "01AAA.db")) == runs / "01AAA.db"


def test_folders_of_other_tools_and_those_without_rights_are_not_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nor those more than four levels down."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    for inside in ("a", "node_modules", ".hidden", "a/b/c/d", "a/b/c/d/e"):
        (tmp_path / inside / ".evenhand" / "runs").mkdir(parents=True)
    found = {home.parent.relative_to(tmp_path) for home in run_lookup.homes(tmp_path)}
    assert found == {Path("a"), Path("a/b/c/d")}
    assert run_lookup._folders(tmp_path / "not there") == []


def test_homes_named_in_the_environment_are_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The home and the cache may lie anywhere."""
    monkeypatch.setenv("EVENHAND_HOME", "~/evals")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run_lookup.home_for(tmp_path / "x.yaml") == tmp_path / "evals"
    monkeypatch.delenv("EVENHAND_CACHE", raising=False)
    assert run_lookup.cache_folder(tmp_path) == tmp_path / "cache"
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "shared"))
    assert run_lookup.cache_folder(tmp_path) == tmp_path / "shared"
    assert lock_of(tmp_path / "runs" / "01.db") == tmp_path / "locks" / "01.lock"


# Counting


async def test_what_means_are_made_of_and_judges_are_counted(tmp_path: Path):
    """A column without trials has none; outputs that are not text have no words; a second take counts once."""
    columns = tuple(Variant(i, "p", f"m{i}") for i in range(3))
    journal = Journal.create(tmp_path / "runs", RunMeta("01", "", "", "", 9, 3, 1, columns, 0.0))
    await journal.settle(
        TrialResult(
            index=0,
            case="a",
            variant=0,
            repeat=0,
            outcome="pass",
            score=1.0,
            output="one two three",
            latency_s=1.0,
        )
    )
    await journal.settle(
        TrialResult(
            index=1,
            case="a",
            variant=1,
            repeat=0,
            outcome="pass",
            score=0.5,
            output={"not": "text"},
        )
    )
    await journal.settle(
        TrialResult(
            index=3,
            case="b",
            variant=0,
            repeat=0,
            outcome="fail",
            score=0.0,
            output="one",
            latency_s=3.0,
        )
    )
    call = await journal.begin(CallStart(0, "k", 0, "judge", "j", b"", None))
    await journal.end(call, CallEnd(b"{}", "provider"))
    for trial, role in ((0, "judge"), (1, "subject")):
        await journal.begin(CallStart(trial, "k", 1, role, "j", b"", None))
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        sums = run.sums()
        scores = [list(sums.scores(column)) for column in range(3)]
        assert scores == [[(1.0, 1, 0), (0.0, 1, 0)], [(0.5, 1, 0)], []]
        latencies = [list(sums.latencies(column)) for column in range(3)]
        assert latencies == [[(1.0, 1, 0), (3.0, 1, 0)], [], []]
        assert run.judge_calls() == [1, 0, 0]
        assert run.word_sums() == [[(3, 1, 0), (1, 1, 0)], [], []]
        assert run.trial(2) is None
        assert run.spend().in_doubt_usd is None


async def test_a_case_that_has_nothing_but_errors_counts_as_one_in_every_mean(tmp_path: Path):
    """Of its score, of a metric that it broke off before, and of one whose scorer failed."""
    columns = (Variant(0, "p", "m"),)
    journal = Journal.create(tmp_path / "runs", RunMeta("01", "", "", "", 3, 3, 1, columns, 0.0))
    asked = (Outcome("tone", "pass", 0.8, metric="tone"),)
    failed = (Outcome("tone", "error", None, metric="tone"),)
    broken = TrialError("code", "boom")
    await journal.settle(
        TrialResult(
            index=0, case="a", variant=0, repeat=0, outcome="pass", score=1.0, outcomes=asked
        )
    )
    await journal.settle(
        TrialResult(
            index=1, case="b", variant=0, repeat=0, outcome="error", score=None, error=broken
        )
    )
    await journal.settle(
        TrialResult(
            index=2,
            case="c",
            variant=0,
            repeat=0,
            outcome="error",
            score=None,
            error=broken,
            outcomes=failed,
        )
    )
    await journal.finish("finished")
    with RunFile.open(journal.path) as run:
        assert list(run.sums().scores(0)) == [(1.0, 1, 0), (0.0, 0, 1), (0.0, 0, 1)]
        sums, _ = measured(run, ("tone", "score"))
    for name in ("tone", "score"):
        one = sums[name, 0]
        assert [tuple(each)[1:] for each in one.cases.values()] == [(1, 0), (0, 1), (0, 1)], name
        assert one.without == 0


async def test_a_plan_read_by_the_same_process_that_writes_it_is_alive(tmp_path: Path):
    """Until it has finished."""
    journal = Journal.create(tmp_path / "runs", meta())
    with RunFile.open(journal.path) as run:
        assert run.alive
        await journal.finish("finished")
        assert not run.alive


@pytest.mark.parametrize(
    "damage",
    [
        "update trial set idx = -100000",
        "update trial set idx = 100000",
        "update trial set idx = 'x' || idx",
        "update trial set take = 'x'",
        "update trial set outcome = x'ff'",
        "drop table reply",
        "update run set meta = cast(replace(hex(zeroblob(50000)), '0', '[') as blob)",
        "drop view latest",
    ],
)
async def test_a_run_that_cannot_be_remembered_is_refused_in_words_and_let_go(
    damage: str, tmp_path: Path
):
    """Damage that shows only once its calls and results are read."""
    journal = Journal.create(tmp_path / "runs", meta())
    await journal.end(await journal.begin(start(0)), CallEnd(b"answer", "provider"))
    await journal.settle(
        TrialResult(index=0, case="case", variant=0, repeat=0, outcome="pass", score=1.0)
    )
    await journal.finish("interrupted")
    with contextlib.closing(sqlite3.connect(journal.path)) as db:
        db.execute(damage)
        db.commit()
    with pytest.raises(StoreError, match="cannot be read"):
        Journal.reopen(journal.path)
    assert locks(tmp_path) == []


@pytest.mark.parametrize(
    "statement",
    [
        "create trigger later after insert on remark begin update trial set outcome = 'pass'; end",
        "create trigger label_2 before insert on label begin select raise(ignore); end",
        "create view totals as select 1",
        "drop view latest; create view latest as select *, 'pass' as outcome_2 from trial",
        """drop trigger label_is_never_deleted;
        create trigger label_is_never_deleted before delete on label begin select 1; end""",
        "create table more (a, b as (abs(a)))",
        "create index every on trial (abs(score))",
        "drop table scale; create table scale (variant, metric, low, high, more as (low + 1))",
        "drop table scale; create table scale (variant, metric, low, high check (abs(high) > 0))",
        "drop table scale; create table scale (variant, metric, low default (random()), high)",
        "create virtual table more using fts5 (a)",
        "create index some on trial (score) where abs(score) > 0",
        """pragma writable_schema = on; insert into sqlite_master values ('trigger', 'sqlite_x', 'remark', 0,
        'create trigger sqlite_x after insert on remark begin update trial set score = 1; end')""",
        """pragma writable_schema = on; update sqlite_master set sql = replace(sql, 'labels are never deleted',
        'labels --''); update trial set score = 1; select raise(abort, ''' || char(10) || 'are never deleted')
        where name = 'label_is_never_deleted'""",
    ],
)
def test_a_file_whose_schema_is_not_ours_is_refused_by_readers_and_writers(
    statement: str, tmp_path: Path
) -> None:
    """A trigger or a view of a stranger's would run what they wrote."""
    journal = Journal.create(tmp_path, meta())
    journal.close()
    with sqlite3.connect(journal.path) as db:
        db.executescript(statement)
    for opened in (RunFile.open, Journal.reopen):
        with pytest.raises(StoreError, match="that Evenhand did not make"):
            opened(journal.path)
    with pytest.raises(StoreError, match="that Evenhand did not make"):
        remark(journal.path, {"note": "a trigger would have run now"})


@pytest.mark.parametrize("statement", ["analyze", "vacuum", "pragma journal_mode = delete"])
def test_what_sqlite_itself_adds_to_a_file_keeps_nobody_from_reading_it(
    statement: str, tmp_path: Path
) -> None:
    """Tables of statistics, and of numbers."""
    journal = Journal.create(tmp_path, meta())
    journal.close()
    with contextlib.closing(sqlite3.connect(journal.path, isolation_level=None)) as db:
        db.execute(statement)
    with RunFile.open(journal.path) as run:
        assert run.meta.planned == 4
