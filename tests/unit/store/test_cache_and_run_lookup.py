"""What is kept across runs, and where runs are found."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.run import RunMeta
from evenhand.core.variant import Variant
from evenhand.store import cache as cache_module
from evenhand.store import run_lookup
from evenhand.store.cache import Cache
from evenhand.store.journal import Journal
from evenhand.store.run_lookup import id_at, newest_first
from evenhand.store.runfile import RunFile


def test_an_answer_is_found_by_its_request_and_its_draw(tmp_path: Path):
    """And by nothing else."""
    cache = Cache.open(tmp_path)
    cache.put("key", "0.0", b"{}", b"answer", 0.5, 0.2)
    cache.close()
    cache = Cache.open(tmp_path)
    found = cache.get("key", "0.0")
    assert found is not None
    assert (found.body, found.latency_s, found.first_byte_s) == (b"answer", 0.5, 0.2)
    assert cache.get("key", "1.0") is None
    assert cache.get("other", "0.0") is None
    assert cache.stats().entries == 1
    (entry,) = cache.entries("ke")
    assert (entry.key, entry.draw, entry.identity, entry.size) == ("key", "0.0", b"{}", 6)
    assert list(cache.entries("x")) == []
    cache.close()


def test_an_absent_cache_is_empty_and_is_not_made_by_looking(tmp_path: Path):
    """A run that caches nothing leaves nothing."""
    cache = Cache.open(tmp_path / "cache")
    assert cache.get("a", "b") is None
    assert cache.stats().entries == 0
    assert list(cache.entries()) == []
    assert cache.clear() == 0
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("closed", [False, True])
def test_one_answer_is_forgotten(tmp_path: Path, closed: bool):
    """Whether it is written yet or waits; the others stay, and another answer may take its place."""
    cache = Cache.open(tmp_path)
    for key in ("a", "b", "c"):
        cache.put(key, "0.0", b"", b"old", None)
    if closed:
        cache.close()
        cache = Cache.open(tmp_path)
    for key in ("a", "b", "never there"):
        cache.forget(key, "0.0")
    cache.put("b", "0.0", b"", b"new", None)
    for _ in range(2):
        replies = [cache.get(key, "0.0") for key in "abc"]
        assert [reply and reply.body for reply in replies] == [None, b"new", b"old"]
        cache.close()
        cache = Cache.open(tmp_path)


def test_clearing_forgets_everything(tmp_path: Path):
    """And says how much that was."""
    cache = Cache.open(tmp_path)
    for i in range(3):
        cache.put(f"k{i}", "0.0", b"", b"x", None)
    cache.close()
    assert Cache.open(tmp_path).clear() == 3
    assert Cache.open(tmp_path).get("k0", "0.0") is None


def test_a_cache_that_cannot_be_used_is_done_without_and_said_once(tmp_path: Path):
    """It is a convenience, not a condition."""
    (tmp_path / "answers.db").write_bytes(b"this is not a database" * 100)
    said: list[str] = []
    cache = Cache.open(tmp_path, said.append)
    assert cache.get("a", "b") is None
    cache.put("a", "b", b"", b"x", None)
    cache.close()
    assert len(said) == 1
    assert "going on without the cache" in said[0]


def test_a_damaged_cache_is_named_when_it_is_looked_into(tmp_path: Path):
    """With what makes a new one."""
    cache = Cache.open(tmp_path)
    cache.put("a", "b", b"", b"x" * 50_000, None)
    cache.close()
    data = bytearray(cache.path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    cache.path.write_bytes(data)
    damaged = Cache.open(tmp_path)
    with pytest.raises(StoreError, match="cache clear"):
        list(damaged.entries())


def test_several_processes_may_write_one_cache(tmp_path: Path):
    """Nothing is lost, nothing is damaged."""
    script = """
import sys
from pathlib import Path
from evenhand.store.cache import Cache
cache = Cache.open(Path(sys.argv[1]))
for i in range(200):
    cache.put(f"{sys.argv[2]}-{i}", "0.0", b"{}", b"x" * 100, None)
cache.close()
"""
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(n)]) for n in range(3)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert Cache.open(tmp_path).stats().entries == 600


async def test_a_run_is_found_by_its_id_the_start_of_it_its_file_or_as_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What cannot be found is answered with what there is."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    with pytest.raises(UsageError, match="there are no runs"):
        run_lookup.find(tmp_path, None)
    first = await _run(tmp_path / ".evenhand", "01AAAA1")
    second = await _run(tmp_path / ".evenhand", "01AAAB2")
    assert run_lookup.find(tmp_path, None) == second
    assert run_lookup.find(tmp_path, "latest") == second
    assert run_lookup.find(tmp_path, "01aaaa") == first
    assert run_lookup.find(tmp_path, str(first)) == first
    with pytest.raises(UsageError, match="could be any of 2 runs"):
        run_lookup.find(tmp_path, "01AAA")
    with pytest.raises(UsageError, match="01AAAB2"):
        run_lookup.find(tmp_path, "09")
    with pytest.raises(UsageError, match="no such run file"):
        run_lookup.find(tmp_path, "runs/none.db")


async def test_the_latest_run_is_never_one_that_asked_about_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A probe, a tryout or a check of canaries is found by its id; where there is nothing else, that is said."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    home = tmp_path / ".evenhand"
    probe = await _run(home, "01AAAC1", {"probe": {}})
    with pytest.raises(UsageError, match="only probes, audits, tryouts, checks of canaries"):
        run_lookup.find(tmp_path, "latest")
    run = await _run(home, "01AAAA1")
    await _run(home, "01AAAC2", {"tryout": {}})
    await _run(home, "01AAAC3", {"canaries": {}})
    await _run(home, "01AAAC4", {"prepares": True})
    assert run_lookup.find(tmp_path, None) == run_lookup.find(tmp_path, "latest") == run
    assert run_lookup.find(tmp_path, "01AAAC1") == probe
    with_canaries = await _run(home, "01AAAD1", {"with_canaries": {"most": 2}})
    assert run_lookup.find(tmp_path, None) == run_lookup.find(tmp_path, "latest~0") == with_canaries
    assert run_lookup.find(tmp_path, "latest~1") == run_lookup.find(tmp_path, "latest~") == run
    with pytest.raises(UsageError, match="only 2 runs are there\n  The earliest is latest~1"):
        run_lookup.find(tmp_path, "latest~2")
    with pytest.raises(UsageError, match="Did you mean 'latest~1'"):
        run_lookup.find(tmp_path, "lastest~1")


async def test_a_cell_that_was_asked_again_is_not_the_latest_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is one case, edited: no verdict, baseline or comparison of the evals is made of it unless it is named."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    home = tmp_path / ".evenhand"
    before = await _run(home, "01AAAA1")
    run = await _run(home, "01AAAA2")
    cell = await _run(home, "01AAAA3", {"asked": {"edits": [{"trial": 0}]}})
    assert run_lookup.find(tmp_path, None) == run_lookup.find(tmp_path, "latest") == run
    assert run_lookup.find(tmp_path, "latest~1") == before
    assert run_lookup.find(tmp_path, "01AAAA3") == cell
    await _run(home, "01AAAA4", {"asked": {"edits": []}})
    with RunFile.open(await _run(home, "01AAAA5")) as latest:
        assert run_lookup.run_before(tmp_path, latest) == home / "runs" / "01AAAA4.db"
    await _run(home, "01AAAA6", {"asked": {"edits": [{"trial": 0}]}})
    with RunFile.open(await _run(home, "01AAAA7")) as latest:
        assert run_lookup.run_before(tmp_path, latest) == home / "runs" / "01AAAA5.db"


async def test_runs_are_found_from_above_and_from_below_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Wherever the user stands in the project."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    run = await _run(tmp_path / "evals" / "summaries" / ".evenhand", "01RUN")
    (tmp_path / "evals" / "summaries" / "articles").mkdir()
    (tmp_path / "node_modules" / "x").mkdir(parents=True)
    await _run(tmp_path / "node_modules" / "x" / ".evenhand", "09NOT")
    for start in (tmp_path, tmp_path / "evals" / "summaries" / "articles"):
        assert run_lookup.find(start, None) == run


async def test_a_home_of_ones_own_is_the_only_place_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """EVENHAND_HOME for runs, EVENHAND_CACHE for the cache."""
    await _run(tmp_path / ".evenhand", "01HERE")
    elsewhere = await _run(tmp_path / "elsewhere", "00THERE")
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "elsewhere"))
    assert run_lookup.find(tmp_path, None) == elsewhere
    assert run_lookup.home_for(tmp_path / "x") == tmp_path / "elsewhere"
    assert run_lookup.cache_folder(tmp_path) == tmp_path / "cache"
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "kept"))
    assert run_lookup.cache_folder(tmp_path) == tmp_path / "kept"


async def test_runs_that_cannot_be_read_are_listed_as_such(tmp_path: Path):
    """The others are listed as always."""
    await _run(tmp_path, "01GOOD")
    (tmp_path / "runs" / "02BAD.db").write_bytes(b"nonsense" * 100)
    bad, good = run_lookup.runs(tmp_path)
    assert bad.meta is None
    assert bad.problem
    assert good.meta is not None
    assert not good.alive


async def test_a_run_comes_after_all_others_though_the_clock_was_set_back(tmp_path: Path):
    """Otherwise the run before it would be the latest, and a comparison of the two would be the wrong way round."""
    home = tmp_path / ".evenhand"
    ahead = await _run(home, id_at(time.time() + 3600, "f" * 20))
    future = await _run(home, id_at(time.time() + 2 * 86_400, "0" * 20))
    for _ in range(3):
        newest = await _run(home, run_lookup.new_id(home))
        assert run_lookup.find(tmp_path, None) == newest
    assert run_lookup.find(tmp_path, "latest~3") == ahead
    assert run_lookup.find(tmp_path, "latest~4") == future


def test_ids_sort_by_time(tmp_path: Path):
    """Twenty-six characters, none of them easily mistaken for another."""
    ids = [run_lookup.new_id(tmp_path) for _ in range(3)]
    assert all(
        len(each) == 26 and set(each) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for each in ids
    )
    assert ids[0][:10] <= ids[1][:10] <= ids[2][:10]
    assert len(set(ids)) == 3


def test_runs_live_beside_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Or in the current folder, where there is none."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    (tmp_path / "c.yaml").write_text("")
    assert run_lookup.home_for(tmp_path / "c.yaml") == tmp_path / ".evenhand"
    assert run_lookup.home_for(tmp_path) == tmp_path / ".evenhand"
    assert run_lookup.home_for(None) == Path.cwd() / ".evenhand"


async def test_of_two_files_with_one_id_the_file_is_to_be_named(tmp_path: Path):
    """No more of the id tells a copy from its original; each is found by its file."""
    first = await _run(tmp_path / ".evenhand", "01COPIED0000X")
    copy = tmp_path / "suite" / ".evenhand" / "runs" / first.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(first.read_bytes())
    with pytest.raises(UsageError, match="'01COP' is the id of 2 files") as told:
        run_lookup.find(tmp_path, "01COP")
    assert told.value.hint == f"Name one by its file: {first}, {copy}"
    assert run_lookup.find(tmp_path, str(copy)) == copy
    assert run_lookup.find(tmp_path, None) == first
    await _run(tmp_path / ".evenhand", "01COPY")
    with pytest.raises(UsageError, match="could be any of 3 runs") as told:
        run_lookup.find(tmp_path, "01COP")
    assert told.value.hint == f"Write more of one: 01COPY, {first}, {copy}"


async def test_a_whole_id_means_that_run_alone(tmp_path: Path):
    """Also where another file's name begins with it."""
    run = await _run(tmp_path / ".evenhand", "01WHOLE")
    await _run(tmp_path / ".evenhand", "01WHOLE2")
    assert run_lookup.find(tmp_path, "01whole") == run


@pytest.mark.parametrize("ids", [["01M7ZBG56M4AAA", "01M7ZBG56M4AAB", "01M7ZBG56M9", "01N"]])
async def test_what_a_run_is_called_finds_it(tmp_path: Path, ids: list[str]):
    """Ten characters say the millisecond; of runs of the same one there are as many as it takes, and no more."""
    made = [await _run(tmp_path / ".evenhand", each) for each in ids]
    found = [run_lookup.called(tmp_path, run) for run in made]
    assert found == ["01M7ZBG56M4AAA", "01M7ZBG56M4AAB", "01M7ZBG56M9", "01N"]
    other = await _run(tmp_path / "a" / ".evenhand", "01M7ZBG41T0000")
    assert run_lookup.called(tmp_path, other) == "01M7ZBG41T"
    assert [run_lookup.find(tmp_path, name) for name in found] == made


async def test_what_no_id_finds_is_called_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A run that lies where nobody looks: aside, too deep, in a hidden folder, or in a home of another name."""
    here = tmp_path / "here"
    deep = here / "a" / "b" / "c" / "d"
    homes = {
        here / ".evenhand": True,
        tmp_path / ".evenhand": True,
        deep / ".evenhand": True,
        deep / "e" / ".evenhand": False,
        here / ".git" / ".evenhand": False,
        tmp_path / "elsewhere" / ".evenhand": False,
        here / "other": False,
    }
    here.mkdir()
    monkeypatch.chdir(here)
    for n, (home, looked_in) in enumerate(homes.items()):
        run = await _run(home, f"01AWAY{n}0000000")
        name = run_lookup.called(Path.cwd(), run)
        assert name.endswith(".db") is not looked_in, home
        assert run_lookup.find(Path.cwd(), name).samefile(run)


async def test_of_a_copy_the_files_are_told(tmp_path: Path):
    """Whoever names its id learns where both are, and can name one of them."""
    run = await _run(tmp_path / ".evenhand", "01COPIED0000")
    copy = await _run(tmp_path / "suite" / ".evenhand", "01COPIED0000")
    with pytest.raises(UsageError) as raised:
        run_lookup.find(tmp_path, run_lookup.called(tmp_path, run))
    assert raised.value.hint is not None
    assert str(run) in raised.value.hint
    assert str(copy) in raised.value.hint


async def test_a_copy_under_another_name_is_its_run_and_not_a_later_one(tmp_path: Path):
    """Its name says nothing of when it was made, and it is no run of its own that one could go back to."""
    home, now = tmp_path / ".evenhand", time.time()
    first = await _run(home, id_at(now - 60, "1" * 20))
    copy = first.with_name("before.db")
    shutil.copy(first, copy)
    second = await _run(home, id_at(now - 30, "2" * 20))
    assert run_lookup.find(tmp_path, None) == second
    assert run_lookup.find(tmp_path, "latest~1") == first
    with pytest.raises(UsageError, match="there is no run latest~2: only 2 runs"):
        run_lookup.find(tmp_path, "latest~2")
    with pytest.raises(UsageError, match="is the id of 2 files"):
        run_lookup.find(tmp_path, first.stem)
    assert run_lookup.called(tmp_path, copy) == ".evenhand/runs/before.db"
    assert run_lookup.called(tmp_path, second) == second.stem[:10]
    first.unlink()
    assert run_lookup.find(tmp_path, first.stem) == copy
    assert [listed.id for listed in run_lookup.runs(home)] == [second.stem, first.stem]


async def _run(home: Path, id_: str, settings: Mapping[str, object] | None = None) -> Path:
    meta = RunMeta(
        id_, "t", "", "p", 1, 1, 1, (Variant(0, "p", "m"),), 1.0, settings=settings or {}
    )
    journal = Journal.create(home / "runs", meta)
    await journal.finish("finished")
    return journal.path


def test_a_run_of_the_future_is_not_the_latest(tmp_path: Path) -> None:
    """It was made under a wrong clock; it is listed last, and can be named."""
    folder = tmp_path / "runs"
    folder.mkdir()
    future = id_at(time.time() + 20 * 365 * 86_400, "0" * 20)
    today = id_at(time.time(), "1" * 20)
    before = id_at(time.time() - 3600, "2" * 20)
    files = [folder / f"{name}.db" for name in (before, future, today)]
    assert [path.stem for path in newest_first(files)] == [today, before, future]


def test_too_few_open_files_are_said_with_the_right_remedy(tmp_path: Path) -> None:
    """Not that the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    meta = RunMeta("01RUN", "", "", "f", 1, 1, 1, (Variant(0, "p", "m"),), 0.0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 2, before[1]))
    try:
        with pytest.raises(StoreError) as caught:
            Journal.create(tmp_path / "runs", meta)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert "allow more with `ulimit -n 1024`" in caught.value.hint
    assert "Free some space" not in caught.value.hint


def test_a_path_that_is_too_long_for_sqlite_is_said_with_the_right_remedy(tmp_path: Path) -> None:
    """SQLite only says that it is unable to open the file."""
    folder = tmp_path.joinpath(*["d" * 100] * 5)
    meta = RunMeta("01RUN", "", "", "f", 1, 1, 1, (Variant(0, "p", "m"),), 0.0)
    with pytest.raises(StoreError, match="unable to open") as caught:
        Journal.create(folder, meta)
    assert "too long for SQLite" in caught.value.hint
    assert "Free some space" not in caught.value.hint


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        (sqlite3.OperationalError("disk I/O error"), False),
    ],
)
def test_a_cache_that_finds_no_room_says_so_whatever_the_system_calls_it(
    error: Exception, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An I/O error on a disk with next to nothing free is a lack of room, too; elsewhere it is damage."""
    assert cache_module._is_full(error, tmp_path) is full
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert cache_module._is_full(error, tmp_path)
