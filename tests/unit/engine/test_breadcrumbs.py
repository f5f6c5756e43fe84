"""Notes of what was running, and which trials a dead session is blamed on."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from evenhand.engine.breadcrumbs import DEATHS, Breadcrumbs, last_words, to_set_aside


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The notes of a session that died while three trials were running, one of them an async function."""
    path = tmp_path / "run.running"
    crumbs = Breadcrumbs(path, 4)
    crumbs.write(0, "grade.py:get_assert  a", 3)
    crumbs.write(1, "grade.py:get_assert  b", 5)
    crumbs.write(2, "bot  c", 7, waits=True)
    return path


def _with_threads(path: Path) -> None:
    """Has each word be of a thread of its own, as in a run."""
    data = path.read_bytes()
    own = f"{threading.get_ident():x}".encode()
    parts = [data[i : i + 256] for i in range(0, len(data), 256)]
    for i, part in enumerate(parts):
        if part.startswith(own):
            parts[i] = part.replace(own, f"{i + 1:x}".encode(), 1)[:256].ljust(256, b"\0")
    path.write_bytes(b"".join(parts))


def test_the_trial_of_the_thread_that_got_the_signal_is_set_aside_alone(notes: Path):
    """Python says which thread it was."""
    _with_threads(notes)
    notes.with_suffix(".fatal").write_text(
        "Fatal Python error: Segmentation fault\n\nThread 0x0000000000000002 (most recent call first):\n"
    )
    (aside,) = to_set_aside(notes, last_words(notes)).items()
    assert aside[0] == 5
    assert "grade.py:get_assert  b was running: Segmentation fault" in aside[1].message
    assert not notes.with_suffix(".fatal").exists()


def test_an_end_in_a_thread_of_nobody_is_blamed_on_all_that_ran(notes: Path):
    """It may have been any of them."""
    _with_threads(notes)
    notes.with_suffix(".fatal").write_text("Fatal Python error: os._exit(0)\nThread 0xabc\n")
    assert set(to_set_aside(notes, last_words(notes))) == {3, 5, 7}


def test_a_death_without_a_note_is_blamed_on_nobody_until_it_has_happened_often(notes: Path):
    """Whoever kills a run means no trial of it; a trial that did not run in between is counted anew."""
    for _ in range(DEATHS - 1):
        assert not to_set_aside(notes, last_words(notes))
    assert set(to_set_aside(notes, last_words(notes))) == {3, 5}
    assert not to_set_aside(notes, last_words(notes))


def test_a_run_that_ends_in_order_leaves_no_notes(notes: Path):
    """Nor does an unreadable one stop anybody."""
    notes.write_bytes(b"of another version".ljust(512, b"\0"))
    (word,) = last_words(notes)
    assert (word.text, word.trial) == ("of another version", -1)
    assert not to_set_aside(notes, [word])
    Breadcrumbs(notes, 1).close()
    assert not list(notes.parent.iterdir())
