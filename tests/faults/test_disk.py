"""Disks that are full, folders that cannot be written, and two runs that share one."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

from evenhand.testing import FakeProvider, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")


def test_a_full_disk_stops_the_run_before_more_is_paid_for_and_resume_goes_on(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """The files of the process may grow to 200 kB only; afterwards they may grow again."""
    fake = serve(Script(), latency_ms=2)
    evals = folder(fake)
    evals.write(600)
    limit = 200_000
    ended = evals.run(
        "run",
        "-j",
        "10",
        *QUIET,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert ended.returncode == 3, (ended.stdout, ended.stderr)
    assert "Traceback" not in ended.stderr
    paid = fake.ledger.total
    assert 0 < paid < 600
    resumed = evals.run("resume", *QUIET)
    assert resumed.returncode == 1, resumed.stderr
    assert evals.document()["totals"]["trials"] == 600
    assert fake.ledger.repeated <= 20


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_sent(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """The place for runs is below a file."""
    fake = serve(Script())
    evals = folder(fake)
    evals.write(3)
    (evals.path / "taken").write_text("")
    ended = evals.run("run", *QUIET, env={"EVENHAND_HOME": str(evals.path / "taken" / "home")})
    assert ended.returncode == 3
    assert "EVENHAND_HOME" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert fake.requests == []


def test_two_runs_at_once_in_one_folder_do_not_meet(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
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
    assert len(list((evals.path / ".evenhand" / "runs").glob("*.db"))) == 2
    assert evals.document()["totals"]["trials"] == 100
    third = evals.run(*flags)
    assert third.returncode == 1
    assert evals.document()["totals"]["cached"] == 100


def test_a_run_that_is_being_written_cannot_be_resumed_by_another_process(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """The second is told who holds it, and touches nothing."""
    fake = serve(Script(), latency_ms=100)
    evals = folder(fake)
    evals.write(60)
    first = evals.start("run", "-j", "2", *QUIET)
    while fake.ledger.total < 2:
        pass
    second = evals.run("resume", *QUIET)
    assert second.returncode == 3
    assert f"process {first.pid}" in second.stderr
    first.communicate(timeout=60)
    assert evals.document()["run"]["status"] == "finished"
