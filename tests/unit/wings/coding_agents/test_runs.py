"""What the runs of a coding agent may spend together."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.core.run import CallEnd, CallStart
from evenhand.store.home import Lock, lock_of
from evenhand.wings.coding_agents.runs import Runs, Started


async def started(bound_usd: float, document: object = None) -> Started:
    """A run whose command has ended, and what it printed."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await process.wait()
    out = io.BytesIO(json.dumps(document).encode())
    return Started(
        job="job-1",
        process=process,
        before=frozenset(),
        bound_usd=bound_usd,
        out=out,
        err=io.BytesIO(),
    )


async def test_what_runs_under_way_may_spend_is_not_left_for_others(tmp_path: Path):
    """Two runs side by side could pass the budget otherwise; once counted, only what a run spent is gone."""
    one = await started(0.6)
    runs = Runs(tmp_path, 1.0, spent_usd=0.1, _started={"job-1": one})
    assert runs.left_usd == pytest.approx(0.3)
    one.counted = True
    assert runs.left_usd == pytest.approx(0.9)


async def test_a_run_is_never_allowed_more_than_is_left(tmp_path: Path):
    """However much its caller asks for."""
    jobs: dict[str, Started] = {}
    runs = Runs(tmp_path, 0.25, _started=jobs)
    await runs.start(".", first=None, max_cost_usd=1000, offline=False)
    (one,) = jobs.values()
    one.out.close()
    one.err.close()
    assert one.bound_usd == 0.25


@pytest.mark.parametrize(("code", "spent"), [(2, 0.0), (1, 0.6), (3, 0.6), (70, 0.6), (-9, 0.6)])
async def test_a_run_that_fails_counts_with_all_that_it_was_allowed(
    tmp_path: Path, code: int, spent: float
):
    """Unless it was refused before anything was sent."""
    one = await started(0.6)
    one.process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"import os; os.kill(os.getpid(), 9) if {code} < 0 else os._exit({code})",
    )
    runs = Runs(tmp_path, 1.0, _started={"job-1": one})
    await runs.status("job-1")
    assert runs.spent_usd == spent


async def test_a_run_that_ends_with_its_budget_and_no_document_is_told_with_what_was_kept(
    make_run: Make,
):
    """By its exit code; the trials that were paid for are in the file."""
    run = await make_run([result(0)], status="out_of_budget", planned=3)
    one = await started(0.6)
    one.process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import os; os._exit(4)"
    )
    told = await Runs(run.path.parents[2], 1.0, _started={"job-1": one}).status("job-1")
    assert told["status"] == "out_of_budget"
    assert (told["settled"], told["planned"], told["left_usd"]) == (1, 3, 0.4)
    assert run.meta.id.startswith(told["run"])
    assert f"evenhand resume {told['run']} --max-cost" in told["next"][0]["do"]


@pytest.mark.parametrize(("cost", "spent"), [(None, 0.6), (0.0, 0.0), (0.02, 0.06)])
async def test_a_run_counts_with_all_that_its_calls_cost(
    cost: float | None,
    spent: float,
    make_run: Make,
):
    """Those of trials that the budget left unsettled too; an unknown price is not 0."""
    calls = [
        (
            CallStart(i, "k", 0, "subject", "m", b"{}", 0.1),
            CallEnd(b"{}", "provider", 0.4, 150, 50, cost, "m"),
        )
        for i in range(3)
    ]
    run = await make_run([result(0, cost_usd=cost)], planned=3, calls=calls)
    document = {"totals": {"cost_usd": cost}, "run": {"id": run.meta.id}}
    one = await started(0.6, document)
    runs = Runs(run.path.parents[2], 1.0, _started={"job-1": one})
    await runs.status("job-1")
    assert runs.spent_usd == pytest.approx(spent)


async def test_a_job_is_never_told_of_a_run_that_another_process_makes(
    make_run: Make,
    monkeypatch: pytest.MonkeyPatch,
):
    """A person's run, which is the newest, is neither its progress nor a reason to count what it might spend."""
    monkeypatch.setattr("evenhand.wings.coding_agents.runs.PATIENCE_S", 0.01)
    one = await started(0.6)
    one.process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "input(); raise SystemExit(2)"), stdin=asyncio.subprocess.PIPE
    )
    run = await make_run([result(0)], planned=3)
    runs = Runs(run.path.parents[2], 1.0, _started={"job-1": one})
    with contextlib.ExitStack() as stack:
        stack.callback(Lock(lock_of(run.path), "the run").release)
        assert "run" not in await runs.status("job-1")
        monkeypatch.undo()
        assert one.process.stdin is not None
        one.process.stdin.write(b"\n")
        assert "run" not in await runs.status("job-1")
    assert runs.spent_usd == 0.0


async def test_a_job_is_told_of_the_run_that_its_own_process_writes(
    make_run: Make,
    monkeypatch: pytest.MonkeyPatch,
):
    """Where a newer one is another's."""
    monkeypatch.setattr("evenhand.wings.coding_agents.runs.PATIENCE_S", 0.01)
    newer = await make_run([result(0), result(1)], planned=2)
    run = await make_run([result(0)], planned=3)
    assert run.meta.id < newer.meta.id
    code = """
import os, pathlib, sys
from evenhand.store.home import Lock
lock = Lock(pathlib.Path(sys.argv[1]), "the run")
print(flush=True)
input()
"""
    one = await started(0.6)
    one.process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(lock_of(run.path))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert one.process.stdin is not None
    assert one.process.stdout is not None
    await one.process.stdout.readline()
    told = await Runs(run.path.parents[2], 1.0, _started={"job-1": one}).status("job-1")
    one.process.stdin.close()
    await one.process.wait()
    assert run.meta.id.startswith(told["run"])
    assert (told["settled"], told["planned"]) == (1, 3)
