"""A store that is deleted or moved while a run is being written: nothing more is sent, and the user is told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.conftest import Folder, settled, until

from evenhand.testing import FakeProvider, Script

ROWS = 80
AT_ONCE = 4
QUIET = ("--no-progress", "--no-table", "--no-cache")


def removed(home: Path) -> None:
    """`rm -rf .evenhand`, or `git clean -fdx`."""
    shutil.rmtree(home, ignore_errors=True)


def emptied(home: Path) -> None:
    """`rm .evenhand/runs/*.db`."""
    for path in (home / "runs").glob("*.db"):
        path.unlink()


def moved(home: Path) -> None:
    """`mv .evenhand elsewhere`."""
    home.rename(home.parent / "elsewhere")


def replaced(home: Path) -> None:
    """A folder of another run's is put in its place: the files have the same names."""
    home.rename(home.parent / "elsewhere")
    # What the run takes away meanwhile is not copied.
    shutil.copytree(home.parent / "elsewhere", home, ignore=shutil.ignore_patterns("*.running"))


def without_log(home: Path) -> None:
    """`rm .evenhand/runs/*-wal`: the run file is there, and what is written is not."""
    for path in (home / "runs").glob("*-wal"):
        path.unlink()


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("happen", [removed, emptied, moved, replaced, without_log])
def test_a_store_that_vanishes_under_a_run_stops_it_before_more_is_paid_for(
    happen: Callable[[Path], None],
    more: tuple[str, ...],
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Folder],
) -> None:
    """At most what is in flight at that moment, and what is being begun, is sent; it ends with 3, in words."""
    fake = serve(Script(), latency_ms=30)
    evals = folder(fake)
    evals.write(ROWS)
    process = evals.start("run", *QUIET, *more, "-j", str(AT_ONCE))
    until(lambda: fake.ledger.total >= 15)
    happen(evals.home)
    already = fake.ledger.total
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, (out, err)
    assert "is gone: it was moved or deleted while the run was being written" in err
    assert "Traceback" not in err
    assert fake.ledger.total <= already + 2 * AT_ONCE


def test_a_store_that_was_moved_and_is_moved_back_is_gone_on_with_and_nothing_was_lost(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Replies that came when it had been moved went with it."""
    fake = serve(Script(), latency_ms=30)
    evals = folder(fake)
    evals.write(ROWS)
    process = evals.start("run", *QUIET, "-j", str(AT_ONCE))
    until(lambda: fake.ledger.total >= 15)
    moved(evals.home)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    (evals.path / "elsewhere").rename(evals.home)
    resumed = evals.run("resume", "--no-progress", "--no-table")
    assert resumed.returncode == 1, resumed.stderr
    assert len(settled(evals.document())) == ROWS
    assert (fake.ledger.total, fake.ledger.repeated) == (ROWS, 0)


def test_a_grader_that_deletes_the_store_ends_the_run(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """User code may do that by cleaning up too much."""
    fake = serve(Script(), latency_ms=10)
    evals = folder(fake)
    grader = (
        "import shutil\n\n\ndef get_assert(output, context):\n"
        "    if context['vars']['n'] == 'number 5':\n"
        f"        shutil.rmtree({str(evals.home)!r}, ignore_errors=True)\n    return True\n"
    )
    (evals.path / "grader.py").write_text(grader)
    evals.write(ROWS, defaultTest={"assert": [{"type": "python", "value": "file://grader.py"}]})
    ended = evals.run("run", *QUIET, "-j", str(AT_ONCE))
    assert ended.returncode == 3, ended.stderr
    assert "is gone" in ended.stderr
    assert fake.ledger.total <= 6 + 3 * AT_ONCE
