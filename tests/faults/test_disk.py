"""Disks that are full, folders that cannot be written, and two runs that share one."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.conftest import Folder, until

from evenhand.testing import FakeProvider, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("limit", [40_000, 120_000, 300_000, 450_000, 500_000, 550_000])
def test_a_full_disk_stops_the_run_before_more_is_paid_for_and_resume_goes_on(
    limit: int, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The process's files may grow to so many bytes only; afterwards they may grow again."""
    fake = serve(Script(), latency_ms=2)
    evals = folder(fake)
    evals.write(300)
    start = ("run", "-j", "10", *QUIET)
    small = (limit, limit)
    ended = evals.run(*start, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, small))
    assert ended.returncode == 3, (ended.stdout, ended.stderr)
    assert fake.ledger.total < 300
    if not list((evals.home / "runs").glob("*.db")):  # not even the empty file fitted
        assert "EVENHAND_HOME" in ended.stderr
        assert fake.ledger.total == 0
        return
    assert "cannot be written: " in ended.stdout
    resumed = evals.run("resume", *QUIET)
    assert resumed.returncode == 1, resumed.stderr
    totals = evals.document()["totals"]
    assert (totals["trials"], totals["passed"], totals["errors"]) == (300, 200, 0)
    assert fake.ledger.repeated == 0


@pytest.fixture(params=["1m", "1500k", "3m"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A disk of this size, where we may make one."""
    path = tmp_path / "disk"
    path.mkdir()
    options = ("-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(path))
    made = sys.platform == "linux" and os.geteuid() == 0
    if not made or subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("a disk can be mounted only by root on Linux")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("flags", [QUIET, QUIET[:2]], ids=["without the cache", "with it"])
def test_a_disk_that_is_really_full_is_told_in_words_and_resume_goes_on_once_there_is_room(
    flags: tuple[str, ...],
    small_disk: Path,
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Folder],
) -> None:
    """What was in flight was received, and found the room that had been set aside for it."""
    fake = serve(Script(), latency_ms=2)
    evals = folder(fake)
    evals.write(600)
    home = {"EVENHAND_HOME": str(small_disk)}
    ended = evals.run("run", "-j", "10", *flags, env=home)
    assert ended.returncode == 3, (ended.stdout, ended.stderr)
    assert "space" in ended.stdout + ended.stderr or "full" in ended.stdout + ended.stderr
    assert 0 < fake.ledger.total < 600
    assert "cache clear" not in ended.stderr  # the cache is sound, and gives no room worth having
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    resumed = evals.run("resume", *QUIET, env=home)
    assert resumed.returncode == 1, resumed.stderr
    assert "in doubt" not in resumed.stderr
    assert fake.ledger.repeated == 0
    shown = evals.run("show", "--json", env=home)
    assert '"trials":600' in shown.stdout.replace(" ", "")


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_sent(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The place for runs is below a file."""
    fake = serve(Script())
    evals = folder(fake)
    evals.write(3)
    (evals.path / "taken").write_text("")
    ended = evals.run("run", *QUIET, env={"EVENHAND_HOME": str(evals.path / "taken" / "home")})
    assert ended.returncode == 3
    assert "EVENHAND_HOME" in ended.stderr
    assert fake.requests == []


def test_nothing_is_written_beside_a_config_where_runs_have_a_home_of_their_own(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder], tmp_path: Path
) -> None:
    """So a read-only folder can be run."""
    fake = serve(Script())
    evals = folder(fake)
    evals.write(3)
    before = sorted(evals.path.rglob("*"))
    evals.path.chmod(0o555)
    home = {"EVENHAND_HOME": str(tmp_path / "home")}
    ended = evals.run("run", "--no-progress", env=home)
    assert ended.returncode == 1, ended.stderr
    assert evals.run("show", env=home).returncode == 0
    evals.path.chmod(0o755)
    assert sorted(evals.path.rglob("*")) == before


def test_two_runs_at_once_in_one_folder_do_not_meet(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Each has a file of its own; they share the cache."""
    fake = serve(Script(), latency_ms=5)
    evals = folder(fake)
    evals.write(100)
    flags = ("run", "--no-progress", "--no-table", "-j", "5")
    first, second = evals.start(*flags), evals.start(*flags)
    _, trouble = first.communicate(timeout=60)
    _, more = second.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (1, 1), (trouble, more)
    assert "Traceback" not in trouble + more
    assert len(list((evals.home / "runs").glob("*.db"))) == 2
    assert evals.document()["totals"]["trials"] == 100
    third = evals.run(*flags)
    assert third.returncode == 1
    assert evals.document()["totals"]["cached"] == 100


def test_a_run_that_is_being_written_cannot_be_resumed_by_another_process(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The second is told who holds it, and touches nothing."""
    fake = serve(Script(), latency_ms=100)
    evals = folder(fake)
    evals.write(60)
    first = evals.start("run", "-j", "4", *QUIET)
    until(lambda: fake.ledger.total >= 2)
    second = evals.run("resume", *QUIET)
    assert second.returncode == 3
    (named,) = re.findall(r"in use by process (\d+)", second.stderr)
    status = Path(f"/proc/{named}/status").read_text("ascii")
    assert f"PPid:\t{first.pid}\n" in status  # whichever of the two is stopped, both end
    fake.latency_ms = 0
    first.communicate(timeout=60)
    assert evals.document()["run"]["status"] == "finished"
    assert fake.ledger.repeated == 0


WRITERS = {
    "a dataset": """
from evenhand.doors.eval_sets.writing import write_cases
from evenhand.core.case import Case
write_cases([Case(str(i), input="x" * 100) for i in range(1000)], path)
""",
    "a sheet": """
from evenhand.analysis.trust.labels.sheet_rows import write_rows
write_rows(path, ("a", "b"), (("x" * 100, i) for i in range(1000)))
""",
    "a gate": """
from evenhand.cli import gate
import evenhand.render.gate
evenhand.render.gate.document = lambda gate: {"schema": "evenhand.gate/1", "notes": ["x" * 100_000]}
gate._write(path, None)
""",
}


@pytest.mark.parametrize("earlier", [False, True], ids=["new", "there already"])
@pytest.mark.parametrize("what", WRITERS)
def test_a_file_that_does_not_fit_is_a_message_and_leaves_nothing(
    what: str, earlier: bool, tmp_path: Path
) -> None:
    """Nor does half a file take the place of one that is there."""
    path = tmp_path / "file.jsonl"
    if earlier:
        path.write_text("earlier")
    code = (
        "import pathlib\nfrom evenhand.core.errors import EvenhandError\n"
        f"path = pathlib.Path({str(path)!r})\ntry:\n    exec({WRITERS[what]!r})\n"
        "except EvenhandError as error:\n    print(error.message)\n"
    )
    small = (20_000, 20_000)
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, small),
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    is_kept = what == "a sheet" and earlier  # it may hold somebody's labels
    assert ("already exists" if is_kept else "cannot be written: File too large") in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == (["file.jsonl"] if earlier else [])
    if earlier:
        assert path.read_text() == "earlier"
