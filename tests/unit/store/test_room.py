"""Room that is set aside for replies in flight: it is really taken from the disk, and really given back."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.store.writer import CALL_PAGES, COPIES, REPLY_PAGES, RESULT_PAGES, Room


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB, where we may make one."""
    path = tmp_path / "disk"
    path.mkdir()
    options = ("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path))
    made = sys.platform == "linux" and os.geteuid() == 0
    if not made or subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("a disk can be mounted only by root on Linux")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def free(path: Path) -> int:
    """The bytes that the disk has left."""
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


@pytest.mark.parametrize("can", [True, False])
def test_room_is_taken_from_the_disk_and_given_back_and_no_file_is_seen(
    can: bool, small_disk: Path, monkeypatch: pytest.MonkeyPatch
):
    """Also where the system cannot reserve blocks (macOS), and they have to be written."""
    if not can:
        monkeypatch.delattr(os, "posix_fallocate")
    before = free(small_disk)
    room = Room(small_disk)
    room.hold(300_000)
    assert before - free(small_disk) >= 300_000
    room.hold(100_000)
    room.hold(500_000)
    assert before - free(small_disk) >= 500_000
    assert list(small_disk.iterdir()) == []
    with pytest.raises(OSError, match="No space left"):
        room.hold(5_000_000)
    room.give_up()
    assert free(small_disk) == before


def test_what_is_in_flight_needs_as_much_as_replies_take_as_a_rule(tmp_path: Path):
    """Their mean, as often as it is written, for each reply and each result; and once the longest of all."""
    room = Room(tmp_path)
    assert room.needed(0, 0, 0) == 0
    assert room.needed(1, 3, 2) == CALL_PAGES + 3 * REPLY_PAGES + 2 * RESULT_PAGES
    before = room.needed(1, 3, 2)
    room.learn([100, 300])
    assert room.needed(1, 3, 2) - before == COPIES * (5 * 200 + 2 * 300)


def test_a_limit_on_the_size_of_files_is_room_that_is_not_there(tmp_path: Path):
    """`ulimit -f`: what is in flight has to fit under it."""
    script = (
        "from pathlib import Path; from evenhand.store.writer import Room; "
        f"room = Room(Path({str(tmp_path)!r})); room.hold(30_000, beside=60_000); print('fits')\n"
        "room.hold(30_000, beside=80_000)"
    )
    limit = (100_000, 100_000)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert (done.returncode, done.stdout) == (1, "fits\n")
    assert "File too large" in done.stderr
