"""Runs in a folder that a team shares: whole or not at all, never changed, and read from there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import (
    SUMMARIES,
    Make,
    result,
    summaries,
)

from evenhand.cli import main
from evenhand.core.errors import StoreError, UsageError
from evenhand.store.labels.draw import Stratum
from evenhand.store.labels.exchange import Said, add_said, read_said, write_said
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import add_draw
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.remarks import remark
from evenhand.store.run_lookup import id_at
from evenhand.store.runfile import RunFile
from evenhand.store.snapshot import snapshot
from evenhand.wings.remotes import database, pushing
from evenhand.wings.remotes import remote as remotes
from evenhand.wings.remotes.address import Address, remote_run
from evenhand.wings.remotes.commands.remote_runs import fetch, fetch_all
from evenhand.wings.remotes.opening import FolderObjects, ObjectRemote
from evenhand.wings.remotes.pushing import push
from evenhand.wings.remotes.remote import read_manifest, write_manifest
from evenhand.wings.remotes.rows import TRIALS, rows_of


class Dies(FolderObjects):
    """A folder of which the process that writes it dies after so many objects."""

    left = 10**6
    written = 0

    def put(self, name: str, data: bytes) -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.written += 1
        super().put(name, data)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dies:
    """A shared folder, to which run files go in pieces of 40 kB."""
    monkeypatch.setattr(remotes, "CHUNK", 40_000)
    return Dies(tmp_path / "team", "team")


async def test_a_pushed_run_is_read_as_the_run_itself(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
):
    """By its id, the start of it, or as the latest; fetched once, and only to be read."""
    remote = ObjectRemote(folder)
    first = await make_run(summaries(), SUMMARIES)
    second = await make_run([result(0), result(1, ok=None)])
    assert push(first.path, remote).new
    assert push(second.path, remote).new
    assert not push(first.path, remote).new
    path = fetch(remote, first.meta.id, tmp_path / "cache")
    with RunFile.open(path) as there:
        assert there.meta == first.meta
        assert list(there.trials()) == list(first.trials())
    assert path.stem == first.meta.id
    before = path.stat().st_mtime_ns
    assert fetch(remote, first.meta.id[:10], tmp_path / "cache").stat().st_mtime_ns == before
    latest = fetch(remote, "", tmp_path / "cache")
    assert fetch(remote, "latest~1", tmp_path / "cache").stem == second.meta.id != latest.stem
    assert fetch_all(remote, tmp_path / "cache").files[0] == latest
    with pytest.raises(StoreError, match="copy of a run that was pushed"):
        append_labels(path, [NewLabel(0, "verdict", "pass")])
    with pytest.raises(UsageError, match="could be any of 2 runs of team"):
        fetch(remote, first.meta.id[:5], tmp_path / "cache")


async def test_a_clock_that_was_ahead_makes_no_older_run_the_latest(
    make_run: Make, folder: Dies, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Nothing begins after it was pushed: the remote's clock says so, of whichever machines."""
    remote, cache = ObjectRemote(folder), tmp_path / "cache"
    hour, now = 3600, time.time()
    began = {"older": now - 3 * hour, "ahead": now - hour, "newer": now - 2 * hour}
    came = {"older": now - 3 * hour, "ahead": now - 2.5 * hour, "newer": now}
    ids = {name: id_at(at, "0123456789abcdef0123") for name, at in began.items()}
    for name, run in ids.items():
        push((await make_run([result(0)], id=run)).path, remote)
        os.utime(tmp_path / "team" / "runs" / f"{run}.json", (came[name], came[name]))
    assert fetch(remote, "latest~2", cache).stem == ids["older"]
    assert (
        fetch(remote, "latest~1", cache).stem == ids["ahead"]
    )  # in the place of one whose clock is right
    assert not capsys.readouterr().err
    assert fetch(remote, "latest", cache).stem == ids["newer"]
    told = " ".join(capsys.readouterr().err.split())
    assert f"run {ids['ahead']} of team says that it began after it came there" in told
    assert f"latest is {ids['newer']}" in told
    assert [path.stem for path in fetch_all(remote, cache).files] == [
        ids[name] for name in ("newer", "ahead", "older")
    ]


@pytest.mark.parametrize(
    ("off_s", "words"),
    [
        (-7_300, "this machine's clock is 2 hours behind that of"),
        (7_300, "this machine's clock is 2 hours ahead of that of"),
        (-60, ""),
        (60, ""),
    ],
)
async def test_whoever_pushes_with_a_wrong_clock_is_told(
    make_run: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    off_s: int,
    words: str,
):
    """A run of a slow clock looks older than it is; whoever reads it can't tell that from a late push."""
    run = await make_run([result(0)])
    real = time.time
    monkeypatch.setattr(pushing.time, "time", lambda: real() + off_s)
    for new in (True, False):  # said once, of what is new there
        with pytest.raises(SystemExit):
            main(["runs", "push", str(run.path), "--to", f"{tmp_path}/team"])
        told = " ".join(capsys.readouterr().err.split())
        assert "next: evenhand show" in told
        assert ("clock is" in told) is (new and bool(words))
        assert words in told or not new


async def test_a_push_that_dies_leaves_nothing_to_be_seen_and_the_next_one_goes_on(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
):
    """Wherever it dies; and what was written before is not written again."""
    run = await make_run(summaries(), SUMMARIES)
    whole = Dies(tmp_path / "other", "other")
    push(run.path, ObjectRemote(whole))
    assert whole.written >= 5  # three pieces of the file, and two tables
    for dies_after in range(whole.written):
        folder.left = 1 if dies_after else 0
        with pytest.raises(KeyboardInterrupt):
            push(run.path, ObjectRemote(folder))
        assert ObjectRemote(folder).arrivals() == {}
        assert folder.written == dies_after
    folder.left = 10**6
    assert push(run.path, ObjectRemote(folder)).new
    assert folder.written == whole.written
    assert not list((tmp_path / "team").rglob(".*"))


async def test_what_was_pushed_never_changes(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
):
    """A run with other results is refused; so is one that is not finished, and what was damaged there."""
    remote = ObjectRemote(folder)
    run = await make_run(summaries(), SUMMARIES)
    push(run.path, remote)
    manifest = remote.manifest(run.meta.id)
    with sqlite3.connect(run.path) as db:
        db.execute("update trial set score = 0.5 where idx = 0")
    with pytest.raises(UsageError, match="with other results"):
        push(run.path, remote)
    assert remote.manifest(run.meta.id) == manifest
    half = await make_run([result(0)], status="interrupted")
    with pytest.raises(UsageError, match="is not finished"):
        push(half.path, remote)
    assert manifest is not None
    piece = tmp_path / "team" / manifest.file[-1].name
    piece.write_bytes(b"x" * manifest.file[-1].size)
    with pytest.raises(StoreError, match="its hash differs"):
        fetch(remote, run.meta.id, tmp_path / "cache")
    piece.unlink()
    with pytest.raises(StoreError, match="lacks parts/"):
        fetch(remote, run.meta.id, tmp_path / "cache")


async def test_what_is_missing_at_a_remote_comes_back_with_the_next_push(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
):
    """As the message says. Where this copy has other pieces, and where only bytes differ, it says what to delete."""
    remote = ObjectRemote(folder)
    run = await make_run(summaries(), SUMMARIES)
    push(run.path, remote)
    manifest = remote.manifest(run.meta.id)
    assert manifest is not None
    every = [*manifest.file, *manifest.trial_parts, *manifest.outcome_parts]
    for part in every:
        piece = tmp_path / "team" / part.name
        data = piece.read_bytes()
        for damaged in (None, data[:-1]):
            piece.unlink()
            if damaged is not None:
                piece.write_bytes(damaged)
            with (
                contextlib.nullcontext()
                if part not in manifest.file
                else pytest.raises(StoreError, match=r"has .* bytes|lacks") as problem
            ):
                fetch(remote, run.meta.id, tmp_path / "cache")
            assert problem is None or "push the run again" in problem.value.hint
            assert push(run.path, remote).restored
            assert piece.read_bytes() == data
            fetch(remote, run.meta.id, tmp_path / f"cache of {damaged is None} {part.name[-12:]}")
    assert not push(run.path, remote).restored
    first = tmp_path / "team" / every[0].name
    first.write_bytes(b"x" * every[0].size)
    with pytest.raises(StoreError, match="its hash differs") as differs:
        fetch(remote, run.meta.id, tmp_path / "empty")
    assert f"delete runs/{run.meta.id}.json and parts/" in differs.value.hint
    (tmp_path / "team/runs" / f"{run.meta.id}.json").write_text('{"schema": ')
    with pytest.raises(StoreError, match="cannot be read") as cut:
        push(run.path, remote)
    assert f"delete runs/{run.meta.id}.json and parts/" in cut.value.hint
    (tmp_path / "team/runs" / f"{run.meta.id}.json").unlink()
    shutil.rmtree(tmp_path / "team/parts" / run.meta.id)
    assert push(run.path, remote).new
    first.unlink()
    with sqlite3.connect(run.path) as db:  # another layout of the same rows
        db.execute("pragma page_size = 8192")
        db.execute("vacuum")
    with pytest.raises(StoreError, match="this copy of it has other pieces"):
        push(run.path, remote)


@pytest.mark.parametrize("instead", ["pipe", "device", "shorter", "longer"])
@pytest.mark.timeout(20)
async def test_a_piece_that_is_none_is_refused_at_once(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
    instead: str,
):
    """A pipe would be waited for, a device never ends, and another size is not what was pushed."""
    remote = ObjectRemote(folder)
    push((await make_run([result(0)])).path, remote)
    (run, *_) = remote.arrivals()
    manifest = remote.manifest(run)
    assert manifest is not None
    piece = tmp_path / "team" / manifest.file[0].name
    data = piece.read_bytes()
    piece.unlink()
    if instead == "pipe":
        os.mkfifo(piece)
    elif instead == "device":
        piece.symlink_to("/dev/zero")
    else:
        piece.write_bytes(data[:-1] if instead == "shorter" else data + b"x")
    with pytest.raises(
        StoreError, match=r"is a (pipe|device)|has [\d,]+ bytes, and its|has more bytes, and its"
    ):
        fetch(remote, run, tmp_path / "cache")


def _links(team: Path, run: str, bad: dict[str, object]) -> None:
    first = json.loads(json.dumps(bad["file"]))[0]
    names = [f"parts/{run}/{number}-{'0' * 32}.db" for number in range(20_000)]
    bad["file"] = [{"name": name, "size": first["size"]} for name in names]
    for name in names[:50]:
        (team / name).symlink_to(team / first["name"])


HOSTILE_MANIFESTS: dict[str, tuple[Callable[[Path, str, dict[str, object]], object], str]] = {
    "20,000 links to one piece": (_links, "its hash differs"),
    "one piece 20,000 times": (
        lambda _, __, bad: bad.update(file=bad["file"] * 20_000),
        "names a piece twice",
    ),
    "a size below 0": (lambda _, __, bad: bad["file"][0].update(size=-1), "without a size"),
    "a size that is 0": (lambda _, __, bad: bad["file"][0].update(size=0), "more bytes, and"),
    "a size of 4 TB": (lambda _, __, bad: bad["file"][0].update(size=1 << 42), "none is larger"),
    "a size beyond any": (lambda _, __, bad: bad["file"][0].update(size=10**30), "none is larger"),
    "a size that is text": (lambda _, __, bad: bad["file"][0].update(size="9"), "cannot be read"),
    "more than the disk has": (
        lambda _, run, bad: bad.update(
            file=[
                {"name": f"parts/{run}/{n}-{'0' * 32}.db", "size": 200 << 20} for n in range(90_000)
            ]
        ),
        "has room for",
    ),
    "no pieces": (lambda _, __, bad: bad.update(file=[]), "its hash differs"),
    "nested 100,000 deep": (
        lambda _, __, bad: bad.update(more="DEEP"),
        "cannot be read",
    ),
    "20 MB of title": (lambda _, __, bad: bad.update(title="x" * (20 << 20)), "more than 16,777"),
    "not UTF-8": (lambda _, __, bad: bad.update(title="RAW"), "cannot be read"),
}


@pytest.mark.parametrize("name", HOSTILE_MANIFESTS)
@pytest.mark.timeout(60)
async def test_a_manifest_of_a_stranger_costs_neither_time_nor_memory_nor_the_disk(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
    name: str,
):
    """Each is refused with the name of the run, before more than a piece is written, and leaves the others there."""
    remote = ObjectRemote(folder)
    push((await make_run([result(0)])).path, remote)
    (run,) = remote.arrivals()
    path = tmp_path / "team" / "runs" / f"{run}.json"
    bad = json.loads(path.read_bytes())
    change, message = HOSTILE_MANIFESTS[name]
    change(tmp_path / "team", run, bad)
    data = json.dumps(bad).encode().replace(b'"RAW"', b'"\xff"')
    path.write_bytes(data.replace(b'"DEEP"', b"[" * 100_000 + b"]" * 100_000))
    with pytest.raises(StoreError, match=message) as refused:
        fetch(remote, run, tmp_path / "cache")
    assert run in str(refused.value)
    assert [file for file in (tmp_path / "cache").rglob("*") if file.is_file()] == []


@pytest.mark.parametrize("instead", ["dangling", "circle", "pipe", "device", "folder"])
@pytest.mark.timeout(20)
async def test_a_manifest_that_is_no_file_hides_no_other_run(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
    instead: str,
):
    """It is named, and so is what people said of a run where that is no file."""
    remote = ObjectRemote(folder)
    push((await make_run([result(0)])).path, remote)
    (run,) = remote.arrivals()
    other = f"{run[:-1]}0"
    for place in (tmp_path / "team/runs" / f"{other}.json", tmp_path / "team/said" / run / "x"):
        place.parent.mkdir(exist_ok=True, parents=True)
        if instead == "pipe":
            os.mkfifo(place)
        elif instead == "folder":
            place.mkdir()
        else:
            targets = {"dangling": "nowhere", "circle": place.name, "device": "/dev/zero"}
            place.symlink_to(targets[instead])
        if place.parent.name == "runs":
            found = fetch_all(remote, tmp_path / "cache")
            assert [path.stem for path in found.files] == [run]
            assert other in found.left_out[0]
    with pytest.raises(StoreError, match=f"said/{run}/x"):
        fetch(remote, run, tmp_path / "cache")


async def test_a_manifest_leads_nowhere_but_to_its_pieces(
    make_run: Make,
    folder: Dies,
):
    """Whatever somebody writes into one."""
    remote = ObjectRemote(folder)
    run = (await make_run([result(0)])).meta.id
    push((await make_run([result(0)])).path, remote)
    manifest = remote.manifest(next(iter(remote.arrivals())))
    assert manifest is not None
    good = replace_id(write_manifest(manifest), manifest.id, run)
    assert read_manifest(good, run, "team").id == run
    for name in (
        "../../etc/passwd",
        "/etc/passwd",
        f"parts/{run}/../x.db",
        f"parts/{'0' * 26}/a.db",
    ):
        bad = json.loads(good)
        bad["file"][0]["name"] = name
        with pytest.raises(StoreError, match="is not of this run"):
            read_manifest(json.dumps(bad).encode(), run, "team")
    twice = json.loads(good)
    twice["file"] *= 2
    with pytest.raises(StoreError, match="names a piece twice"):
        read_manifest(json.dumps(twice).encode(), run, "team")
    with pytest.raises(StoreError, match="cannot be read"):
        read_manifest(b"[]", run, "team")
    with pytest.raises(StoreError, match="A newer Evenhand"):
        read_manifest(good.replace(b"pushed/1", b"pushed/2"), run, "team")


def replace_id(data: bytes, old: str, new: str) -> bytes:
    """A manifest of another run."""
    return data.replace(old.encode(), new.encode())


async def test_errors_are_null_in_the_tables_and_never_0(make_run: Make):
    """And what tables cannot hold is replaced."""
    odd = replace(result(1), output="a\0b\ud800", reason="so")
    run = await make_run([result(0, ok=None), odd, result(2, ok=False)])
    (rows,) = rows_of(run, 10)
    columns = [name for name, _ in TRIALS]
    table = [dict(zip(columns, row, strict=True)) for row in rows.trials]
    assert [row["passed"] for row in table] == [None, True, False]
    assert [row["score"] for row in table] == [None, 1.0, 0.0]
    assert table[0]["error"] == "rate-limited"
    assert table[1]["output"] == "a\ufffdb\ufffd"
    assert [row[1] for row in rows.outcomes] == [1, 2]


async def test_a_title_that_is_no_proper_text_is_pushed(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
):
    """Half a surrogate pair, as a JSON config may have; the run itself keeps its title."""
    run = await make_run(summaries(), SUMMARIES)
    remark(run.path, {"title": "half \ud83d"})
    remote = ObjectRemote(folder)
    assert push(run.path, remote).manifest.title == "half \ufffd"
    with RunFile.open(fetch(remote, run.meta.id, tmp_path / "cache")) as there:
        assert there.meta.title == "half \ud83d"


async def test_equal_runs_have_equal_digests_whatever_their_files(
    make_run: Make,
    tmp_path: Path,
):
    """A copy of a copy, too; and one row more is another digest."""
    run = await make_run(summaries(), SUMMARIES)
    first = snapshot(run.path, tmp_path / "a.db")
    assert snapshot(tmp_path / "a.db", tmp_path / "b.db") == first
    append_labels(run.path, [NewLabel(0, "verdict", "pass")])
    labelled = snapshot(run.path, tmp_path / "c.db")
    assert labelled.everything != first.everything
    assert labelled.results == first.results


async def test_labels_given_after_a_push_reach_the_remote_with_the_next_push(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
):
    """Those of two people who labelled their own copies, too; each once, the latest of an author counts."""
    remote = ObjectRemote(folder)
    run = await make_run(summaries(), SUMMARIES)
    append_labels(run.path, [NewLabel(0, "note", "before")])
    push(run.path, remote)
    manifest = remote.manifest(run.meta.id)
    before = fetch(remote, run.meta.id, tmp_path / "cache")
    other = tmp_path / f"{run.meta.id}.db"
    shutil.copy(run.path, other)
    append_labels(other, [NewLabel(1, "verdict", "fail", author="ben")])
    append_labels(run.path, [NewLabel(0, "verdict", "pass", author="ana")])
    append_labels(other, [NewLabel(0, "verdict", "fail", author="ana")])
    add_draw(other, 1, ["faithful"], 24, [3, 4])
    strata = (Stratum("best", 2, 0.25, (0, 1, 2, 3, 4, 5, 6, 7)),)
    add_draw(run.path, 2, ["faithful"], 24, [5, 6], "equal", "prompt", strata)
    first = push(run.path, remote)
    assert (first.new, first.labelled) == (False, True)
    assert push(other, remote).labelled
    assert not push(other, remote).labelled
    assert remote.manifest(run.meta.id) == manifest
    path = fetch(remote, run.meta.id, tmp_path / "cache")
    assert path != before
    with RunFile.open(path) as there:
        said = [(label.author, label.index, label.value) for label in there.labels()]
        assert [(draw.seed, draw.by) for draw in there.draws()] == [(1, ""), (2, "prompt")]
        assert list(there.trials()) == list(run.trials())
    assert said == [
        ("", 0, "before"),
        ("ben", 1, "fail"),
        ("ana", 0, "pass"),
        ("ana", 0, "fail"),
    ]
    (handed_in, _) = (tmp_path / "team" / "said" / run.meta.id).iterdir()
    handed_in.write_bytes(b"x")
    with pytest.raises(StoreError, match="are not what was pushed: their hash differs"):
        fetch(remote, run.meta.id, tmp_path / "elsewhere")


async def test_a_clock_that_is_set_back_brings_no_corrected_label_back(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Rows of each copy keep their order; those of another person go between them by their times."""
    remote = ObjectRemote(folder)
    run = await make_run(summaries(), SUMMARIES)
    push(run.path, remote)
    other = tmp_path / f"{run.meta.id}.db"
    shutil.copy(run.path, other)
    labels = (("ana", run.path, "fail", 50.0), ("ana", run.path, "pass", 10.0))
    for author, path, value, at in (*labels, ("ben", other, "fail", 30.0)):
        monkeypatch.setattr(time, "time", lambda at=at: at)
        append_labels(path, [NewLabel(0, "verdict", value, author=author)])
    assert push(run.path, remote).labelled
    assert push(other, remote).labelled
    with RunFile.open(fetch(remote, run.meta.id, tmp_path / "cache")) as there:
        assert [(label.author, label.value) for label in there.labels()] == [
            ("ben", "fail"),
            ("ana", "fail"),
            ("ana", "pass"),
        ]


async def test_copies_that_contradict_each_other_keep_each_label_once(
    make_run: Make,
    tmp_path: Path,
):
    """Earlier versions put the rows of one copy in another order."""
    run = await make_run(summaries(), SUMMARIES)
    append_labels(run.path, [NewLabel(0, "note", text) for text in ("first", "second", "third")])
    said = read_said(write_said(run.path, run.meta.id), run.meta.id, "here")
    turned = Said(said.schema, said.run, {"label": said.rows["label"][::-1]})
    add_said(run.path, [turned])
    with RunFile.open(run.path) as there:
        assert [label.value for label in there.labels()] == ["first", "second", "third"]


async def test_one_run_that_cannot_be_read_leaves_the_others_there(
    make_run: Make,
    folder: Dies,
    tmp_path: Path,
):
    """It is said which; where none can be read, that is an error."""
    remote = ObjectRemote(folder)
    good = await make_run(summaries(), SUMMARIES)
    broken = await make_run([result(0)])
    for run in (good, broken):
        push(run.path, remote)
    manifest = tmp_path / "team" / "runs" / f"{broken.meta.id}.json"
    manifest.write_bytes(b"{")
    found = fetch_all(remote, tmp_path / "cache")
    assert [path.stem for path in found.files] == [good.meta.id]
    assert len(found.left_out) == 1
    assert f"the manifest of run {broken.meta.id} cannot be read" in found.left_out[0]
    assert fetch(remote, good.meta.id, tmp_path / "cache") == found.files[0]
    (tmp_path / "team" / "runs" / f"{good.meta.id}.json").write_bytes(b"{")
    with pytest.raises(StoreError, match="cannot be read"):
        fetch_all(remote, tmp_path / "cache")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "postgresql://ana:pass%23word@db.example:5432/evals",
            "postgresql://ana@db.example:5432/evals",
        ),
        ("postgres:///evals?host=/run/pg&password=hidden", "postgres:///evals?host=/run/pg"),
        ("s3://team/evals", "s3://team/evals"),
        ("runs/of the team", "runs/of the team"),
    ],
)
def test_an_address_is_shown_without_its_secrets(text: str, name: str):
    """As it is printed, and said in errors."""
    assert Address.of(text).name == name
    assert "hidden" not in name


@pytest.mark.parametrize(
    "text",
    [
        "s3://key:secret@team/evals",
        "s3:///evals",
        "s3://a b/evals",
        "ftp://host/x",
        "",
        "postgresql://[x/y",
    ],
)
def test_what_is_no_remote_is_refused_without_its_secrets(text: str):
    """Keys are not for addresses."""
    with pytest.raises(UsageError) as refused:
        Address.of(text)
    assert "secret@" not in str(refused.value)


def test_runs_of_remotes_are_told_from_runs_of_this_machine(tmp_path: Path):
    """By the address, or by what is in the folder."""
    (tmp_path / "runs").mkdir()
    for name in (
        "01M7",
        "latest:plain #2",
        ":openai:llama3@http://localhost:8000/v1",
        "evals/x.db",
    ):
        assert remote_run(name) is None
    assert remote_run(str(tmp_path)) is None
    with pytest.raises(UsageError, match="has no pushed runs"):
        remote_run(f"{tmp_path}#01M7")
    (tmp_path / "runs" / "x.json").write_text("{}")
    meant = remote_run(f"{tmp_path}#01M7:better")
    assert meant is not None
    assert (meant.address.kind, meant.run, meant.column) == ("folder", "01M7", "better")
    meant = remote_run("s3://team/evals#latest")
    assert meant is not None
    assert (meant.address.kind, meant.run) == ("s3", "")


def _said_by_server(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!I", len(content) + 4) + content


def _speaks_and_stops(listening: socket.socket) -> None:
    """A server of PostgreSQL's that lets a client in, and then answers nothing more."""
    client, _ = listening.accept()
    with client:
        while (size := struct.unpack("!I", client.recv(4))[0]) == 8:  # it asks for TLS, say
            client.recv(size - 4)
            client.sendall(b"N")
        client.recv(size - 4)
        settings = {"client_encoding": "UTF8", "server_version": "16.0", "DateStyle": "ISO"}
        client.sendall(
            _said_by_server(b"R", struct.pack("!I", 0))
            + b"".join(
                _said_by_server(b"S", f"{name}\0{value}\0".encode())
                for name, value in settings.items()
            )
            + _said_by_server(b"Z", b"I")
        )
        while client.recv(4096):
            pass


def test_a_database_that_answers_no_more_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where its server is frozen: it takes what is sent, and nobody would ever hear of it."""
    pytest.importorskip("psycopg")
    monkeypatch.setattr(database, "PATIENCE_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=_speaks_and_stops, args=(listening,), daemon=True)
        server.start()
        port = listening.getsockname()[1]
        remote = database.DatabaseRemote(Address.of(f"postgresql://ana@127.0.0.1:{port}/evals"))
        with pytest.raises(StoreError, match=r"no answer for 0\.3 seconds") as raised:
            remote.arrivals()
        assert "push the run again" in raised.value.hint
        remote.close()
        server.join(10)
    assert not server.is_alive()
