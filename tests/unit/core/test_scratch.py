"""Temporary files and folders: gone when they are closed, and after a kill at the latest when the next one is made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.core import scratch
from evenhand.core.scratch import ScratchFolder, scratch_file

HOLDER = """
import sys, time
from evenhand.core.scratch import ScratchFolder, scratch_file
folder = ScratchFolder("worker")
open(folder.name + "/running", "w").close()
_, path = scratch_file("calls")
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of these tests alone."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch._sweep.cache_clear()  # pyright: ignore[reportPrivateUsage] (another process)
    return tmp_path


def made_old(folder: Path) -> None:
    """As they are a while after their process was killed."""
    for path in folder.iterdir():
        os.utime(path, (1, 1))


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path: Path):
    """A file and a folder with a file in it; not what a living process has, nor what another program calls so."""
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"ready\n"
        killed.send_signal(signal.SIGKILL)
    left = set(tmp_path.iterdir())
    assert {path.name.split(".")[1] for path in left} == {"worker", "calls"}
    (tmp_path / "evenhand-notes").mkdir()
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE) as living:
        assert living.stdout is not None
        assert living.stdout.readline() == b"ready\n"
        others = set(tmp_path.iterdir()) - left
        made_old(tmp_path)
        with ScratchFolder("push"):
            assert not left & set(tmp_path.iterdir())
            assert others <= set(tmp_path.iterdir())
        living.send_signal(signal.SIGKILL)


def test_what_is_young_is_left_alone(tmp_path: Path):
    """Its process may be about to hold it."""
    young = tmp_path / "evenhand.calls.x"
    young.touch()
    with ScratchFolder("push"):
        assert young.exists()


def test_a_link_is_not_followed(tmp_path: Path):
    """Anybody may make one in a folder for temporary files."""
    elsewhere = tmp_path / "mine"
    elsewhere.mkdir()
    (elsewhere / "thesis").touch()
    os.utime(elsewhere, (1, 1))
    link = tmp_path / "evenhand.worker.x"
    link.symlink_to(elsewhere)
    os.utime(link, (1, 1), follow_symlinks=False)
    handle, path = scratch_file("calls")
    os.close(handle)
    path.unlink()
    assert (elsewhere / "thesis").exists()


def test_a_closed_folder_is_gone_and_lets_go_of_its_handle(tmp_path: Path):
    """Also one that is closed twice."""
    before = len(list(Path("/dev/fd").iterdir()))
    folder = ScratchFolder("world")
    (Path(folder.name) / "a.db").touch()
    folder.cleanup()
    folder.cleanup()
    assert (list(tmp_path.iterdir()), len(list(Path("/dev/fd").iterdir()))) == ([], before)
