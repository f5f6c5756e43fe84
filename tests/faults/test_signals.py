"""Ctrl-C once finishes what was begun, twice stops; SIGTERM finishes what was begun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.conftest import Folder, until

from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Script

QUIET = ("--no-progress", "--no-table")
RUN = ("run", *QUIET, "-j", "5", "--no-cache")


def begun(fake: FakeProvider, evals: Folder) -> subprocess.Popen[str]:
    """A run that is under way."""
    process = evals.start(*RUN)
    until(lambda: fake.ledger.total >= 12)
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_lets_what_was_begun_finish_and_begins_nothing_more(
    number: int, code: int, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Nothing is lost: as many trials are stored as completions were paid for; the rest is left to resume."""
    fake = serve(Script(), latency_ms=50)
    evals = folder(fake)
    evals.write(400)
    process = begun(fake, evals)
    process.send_signal(number)
    time.sleep(1)  # a busy machine may deliver it only after what reads the report has let it end
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    assert "finishing" in err
    document = evals.document()
    assert document["run"]["status"] == "interrupted"
    assert document["verdict"] == "failed"
    assert document["totals"]["trials"] == fake.ledger.total < 400
    assert "evenhand resume" in out
    fake.latency_ms = 0
    resumed = evals.run("resume", *QUIET)
    assert resumed.returncode == 1
    assert "in doubt" not in resumed.stderr
    assert fake.ledger.repeated == 0
    assert evals.document()["totals"]["trials"] == 400


@pytest.mark.parametrize("numbers", [(signal.SIGINT,) * 2, (signal.SIGTERM, signal.SIGINT)])
def test_a_second_signal_stops_at_once(
    numbers: tuple[int, int], serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """What is in flight is given up, reported in doubt, and asked again on resume."""
    fake = serve(Script(), latency_ms=50)
    evals = folder(fake)
    evals.write(60)
    process = begun(fake, evals)
    fake.latency_ms = 900_000  # from here on nothing comes back
    time.sleep(0.3)
    process.send_signal(numbers[0])
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(numbers[1])
    _, err = process.communicate(timeout=120)  # long before an answer
    assert process.returncode == 128 + numbers[1], err
    assert "Traceback" not in err
    fake.latency_ms = 0
    resumed = evals.run("resume", *QUIET)
    assert "in doubt: 5 calls" in resumed.stderr
    assert evals.document()["totals"]["trials"] == 60


@pytest.mark.thorough(after=1)
@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("wait_s", [0.0, 0.02, 0.05, 0.1])
def test_an_interrupt_while_it_starts_ends_it_without_a_traceback(
    wait_s: float, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """From the moment when its file is made, whatever is being imported or opened then."""
    fake = serve(Script(), latency_ms=200)
    evals = folder(fake)
    evals.write(200)
    process = evals.start(*RUN)
    until(evals.home.exists)
    time.sleep(wait_s)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    fake.latency_ms = 0
    assert evals.run("resume", *QUIET, "-j", "50").returncode == 1


UP = [
    sys.executable,
    "-c",
    # `main` begins with `end_at_once`: on a busy machine, the first signal can come before `main` begins.
    "from evenhand.cli import end_at_once, main; end_at_once(); print('up', flush=True); main()",
]


@pytest.mark.parametrize("wait_s", [0.003, 0.01, 0.02, 0.04, 0.06, 0.09, 0.13, 0.2])
def test_two_interrupts_before_a_command_runs_end_it_without_a_traceback(
    wait_s: float, tmp_path: Path
) -> None:
    """The second one while the first is being told of, as by somebody who is impatient."""
    with subprocess.Popen(
        [*UP, "scorers"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(wait_s)
        process.send_signal(signal.SIGINT)
        time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode in (130, 0), err  # 0: it had printed all of it
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_report_is_printed_says_how_to_get_it(
    number: signal.Signals, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Nobody reads the report, which is longer than a pipe holds: it is being printed when the signal comes."""
    fake = serve(Script())
    evals = folder(fake)
    evals.write(120)
    process = evals.start("run", "--no-progress", "--no-cache", "--json")
    until(lambda: fake.ledger.total == 120 and is_finished(evals))
    assert process.stdout is not None
    assert os.read(process.stdout.fileno(), 1) == b"{"  # it prints, and waits for a reader
    time.sleep(0.5)
    process.send_signal(number)
    time.sleep(1)  # a busy machine may deliver it only after what reads the report has let it end
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    assert "interrupted; the run is whole: `evenhand show " in err
    assert evals.document()["totals"]["trials"] == 120
    assert evals.document()["run"]["status"] == "finished"


def is_finished(evals: Folder) -> bool:
    """Whether the only run is."""
    (path,) = (evals.home / "runs").glob("*.db")
    with RunFile.open(path) as run:
        return run.meta.status == "finished"


WAITS = """
import os, signal
from evenhand.engine import guardian

signal.pthread_sigmask(signal.SIG_BLOCK, guardian._WATCHED)
os.kill(os.getpid(), signal.SIGUSR1)
numbers = [guardian._next_signal()[0]]
print("waits", flush=True)
while numbers[-1] != signal.SIGTERM:
    numbers.append(guardian._next_signal()[0])
print(*numbers)
"""


def test_a_guardian_that_is_stopped_for_a_while_hears_of_no_signal_that_never_came() -> None:
    """Nor one on a machine that sleeps. It would pass it on, or take it for a second Ctrl-C, or end the command."""
    with subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "waits\n"
        for _ in range(3):
            time.sleep(0.1)
            one.send_signal(signal.SIGSTOP)
            time.sleep(0.8)  # longer than it waits between two looks
            one.send_signal(signal.SIGCONT)
        time.sleep(0.1)
        one.send_signal(signal.SIGTERM)
        out, _ = one.communicate(timeout=60)
    first, *others, last = map(int, out.split())
    assert (first, last) == (signal.SIGUSR1, signal.SIGTERM)
    assert set(others) <= {0, signal.SIGCONT}
    assert 1 <= others.count(signal.SIGCONT) <= 3
