"""A small file is written whole or not at all."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.writing import write_cases, write_document
from evenhand.doors.prompt_directories.writing import write
from evenhand.render.export import export, formats
from evenhand.store.home import KEY, signed
from evenhand.store.merging import merge
from evenhand.store.replacing import LOOKED_AT, beside, created, replace_file, replaced
from evenhand.wings.remotes.commands.remote_runs import fetch
from evenhand.wings.remotes.opening import FolderObjects, ObjectRemote
from evenhand.wings.remotes.pushing import push

WRITERS = """
import sys
from contextlib import ExitStack
from pathlib import Path

from evenhand.store.replacing import beside

with ExitStack() as stack:
    for place in sys.argv[1:]:
        file = stack.enter_context(beside(Path(place)))
        file.write_bytes(b"half")
        file.with_name(file.name + "-journal").write_bytes(b"half")
    print("writing", flush=True)
    sys.stdin.read()
"""


@contextmanager
def writers(*places: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is writing all of these files."""
    command = [sys.executable, "-c", WRITERS, *map(str, places)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        yield process
        process.kill()


def killed(*places: Path) -> None:
    """What a process leaves that is killed while it writes these files."""
    with writers(*places):
        pass
    for place in places:
        assert [p for p in place.parent.iterdir() if p.name.startswith(f".{place.name[:50]}.")]


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_file_that_does_not_fit_leaves_the_earlier_one_and_nothing_else(tmp_path: Path):
    """The process's files may grow to 1,000 bytes only."""
    file = tmp_path / "b.evn"
    replace_file(b"first", file, lambda _: True, "baseline")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(UsageError, match="cannot be written"):
            replace_file(b"x" * 5000, file, lambda _: True, "baseline")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert [path.name for path in tmp_path.iterdir()] == ["b.evn"]
    assert file.read_bytes() == b"first"


async def test_whoever_writes_a_file_removes_what_a_killed_writer_left_beside_it(
    make_run: Make, tmp_path: Path
):
    """Exports, cases, documents, prompts, baselines, cassettes, merged runs, pushed and fetched ones, keys."""
    shards = [
        await make_run([result(index)], planned=2, status="interrupted") for index in range(2)
    ]
    run = await make_run([result(0)])
    remote = ObjectRemote(FolderObjects(tmp_path / "pushed", "pushed"))
    cases = [Case("a", input="x")]

    def exported(format_: str) -> Callable[[Path], object]:
        def write_it(to: Path) -> None:
            export(run, to, format_)

        return write_it

    table: dict[str, Callable[[Path], object]] = {
        **{f"run.{one}": exported(one) for one in formats() if one != "html"},
        **{f"cases{end}": lambda to: write_cases(cases, to) for end in (".csv", ".jsonl", ".yaml")},
        "document.yaml": lambda to: write_document({"a": 1}, to),
        "meta.yml": lambda to: write(to, "a: 1"),
        "base.evn": lambda to: replace_file(b"all", to, lambda _: True, "baseline"),
        "all.db": lambda to: merge([shard.path for shard in shards], to),
        "object": lambda to: FolderObjects(to.parent, "here").put(to.name, b"all"),
        "new-object": lambda to: FolderObjects(to.parent, "here").put_new(to.name, b"all"),
        KEY: lambda to: signed(run.meta, to.parent),
        "n" * 255: lambda to: replace_file(b"all", to, lambda _: True, "baseline"),
    }
    folder = tmp_path / "written"
    folder.mkdir()
    push(run.path, remote)
    fetched = fetch(remote, run.meta.id, tmp_path / "cache")
    fetched.unlink()
    killed(*(folder / name for name in table), fetched)
    for name, write_it in table.items():
        write_it(folder / name)
    assert names(folder) == sorted(table)
    fetch(remote, run.meta.id, tmp_path / "cache")
    assert names(fetched.parent) == [fetched.name]


def test_a_file_that_is_being_written_is_no_left_over(tmp_path: Path):
    """Two writers of one file don't get in each other's way, and the last one's is there."""
    file = tmp_path / "out.json"
    with writers(file):
        before = names(tmp_path)
        with beside(file) as slow, replaced(file) as quick:
            quick.write_text("quick")
            slow.write_text("slow")
        assert file.read_text() == "quick"
        assert names(tmp_path) == sorted([*before, file.name])
    replace_file(b"last", file, lambda _: True, "baseline")
    assert names(tmp_path) == [file.name]


def test_several_killed_writers_of_one_file_leave_nothing_for_long(tmp_path: Path):
    """As many as were at it at the same time."""
    file = tmp_path / "out.json"
    killed(*(file,) * LOOKED_AT)
    replace_file(b"last", file, lambda _: True, "baseline")
    assert names(tmp_path) == [file.name]


def test_files_of_others_beside_it_stay(tmp_path: Path):
    """Whatever they are called, but for our own names."""
    others = [".out.json", ".out.json.bak", ".out.json.1", ".out.json.evenhand", "out.json.tmp"]
    for name in others:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".out.json.evenhand-1").mkdir()
    (tmp_path / ".out.json.evenhand-2").symlink_to(tmp_path / "out.json.tmp")
    replace_file(b"all", tmp_path / "out.json", lambda _: True, "baseline")
    assert all((tmp_path / name).read_text() == "mine" for name in others)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_replaced_file_keeps_its_permissions_and_its_links(tmp_path: Path, mode: int):
    """And what is written is never readable for more people meanwhile."""
    file, link = tmp_path / "real" / "out.json", tmp_path / "link.json"
    file.parent.mkdir()
    file.write_text("first")
    file.chmod(mode)
    link.symlink_to(file)
    with replaced(link) as new:
        assert new.stat().st_mode & 0o077 & ~mode == 0
        new.write_text("second")
    assert link.is_symlink()
    assert file.read_text() == "second"
    assert file.stat().st_mode & 0o777 == mode


KILLED_WRITERS = """
import os, resource, signal, sys
from pathlib import Path

from evenhand.analysis.trust.labels.sheet_rows import write_rows
from evenhand.cli.new import write
from evenhand.cli.schema import schema
from evenhand.cli.setup import scaffold
from evenhand.core.run import RunMeta
from evenhand.core.variant import Variant
from evenhand.store.journal import Journal
from evenhand.store.replacing import write_committed

RUN = RunMeta("01A", "title", "", "print", 1, 1, 1, (Variant(0, "p", "m"),), 0.0)
folder = Path(sys.argv[1])
for name, writer in {
    "calibration.json": lambda: write_committed({"schema": "x" * 5000}, folder / "calibration.json"),
    "meta.schema.json": lambda: schema.callback("meta", folder / "meta.schema.json"),
    "sheet.csv": lambda: write_rows(folder / "sheet.csv", ("a", "b"), [("x" * 50, 1)] * 50),
    "init": lambda: scaffold(folder / "init"),
    "judge": lambda: write("judge", "mine", folder),
    "run": lambda: Journal.create(folder / "runs", RUN),
}.items():
    if not (child := os.fork()):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        writer()
        os._exit(0)
    print(name, -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == signal.SIGXFSZ)
"""


def test_a_writer_that_is_killed_leaves_no_half_file_that_passes_for_a_whole_one(tmp_path: Path):
    """The kernel kills each of them as its file grows beyond 100 bytes. Half a run file would be the latest run."""
    for name in ("calibration.json", "meta.schema.json"):
        (tmp_path / name).write_text("earlier")
    command = [sys.executable, "-c", KILLED_WRITERS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split()[1::2] == ["True"] * 6, done.stderr
    visible = {
        str(path.relative_to(tmp_path)): path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file() and not path.name.startswith(".") and path.parent.name != "locks"
    }
    assert visible == {"calibration.json": "earlier", "meta.schema.json": "earlier"}


def test_a_new_file_takes_nobodys_place_and_needs_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whatever appears while it is written stays. Some file systems, such as FAT, have no links."""
    place = tmp_path / "new"
    with pytest.raises(FileExistsError), created(place):
        place.write_text("theirs")
    assert names(tmp_path) == ["new"]
    assert place.read_text() == "theirs"

    def no_links(_from: str, _to: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", no_links)
    with pytest.raises(FileExistsError), created(place) as file:
        file.write_text("mine")
    place.unlink()
    with created(place) as file:
        file.write_text("mine")
    assert names(tmp_path) == ["new"]
    assert place.read_text() == "mine"
