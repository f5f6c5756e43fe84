"""What a run's threads are running, in files that outlive a crash, and which trials a crash came of.

How this works: beside a run's lock stand up to four files. `.running` has a slot for each thread, mapped, so that a
write costs no system call; it says which function of which trial is running. `.fatal` is where Python's faulthandler
writes when the process gets a fatal signal, and we when it ends by `os._exit`: which thread it was, and what happened.
An end that leaves no note gets one from the guardian, which knows no thread. `.deaths` counts, for each trial, the
sessions that were killed while it was running, and `.aside` has the trials that are not run again. Whoever kills a run
does not mean the trial that happens to be running, so it takes three of those before the trial is blamed. A run that
ends in order leaves none of these files.
"""

from __future__ import annotations

import contextlib
import faulthandler
import mmap
import re
import threading
from collections.abc import Mapping
from pathlib import Path

from evenhand.core.errors import CodeError
from evenhand.core.record import Record

SLOT = 256
"""Bytes for each thread."""
DEATHS = 3
"""So often a session has to end without a note while a trial is running, before the trial is set aside."""

_CURRENT = r"(?m)^(?:Current t|T)hread 0x([0-9a-f]+)"


class Word(Record, frozen=True):
    """A function that was running when a process died.

    Attributes:
        text: Its name, and its case.
        trial: The trial's place in the plan; -1 for none.
        thread: The number of its thread.
        waits: It is an async function, of which many are under way, and one at most was running.
        native: The number that the kernel knows its thread by; 0 for unknown.
    """

    text: str
    trial: int = -1
    thread: int = 0
    waits: bool = False
    native: int = 0


class Breadcrumbs:
    """A file of fixed slots, one for each thread. Also takes what Python says of a fatal signal."""

    def __init__(self, path: Path, slots: int) -> None:
        self.path = path
        with path.open("wb") as file:
            file.truncate(slots * SLOT)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), slots * SLOT)
        self._fatal = None
        if not faulthandler.is_enabled():  # else somebody wants to see it themselves
            self._fatal = path.with_suffix(".fatal").open("w", encoding="utf-8")
            faulthandler.enable(self._fatal, all_threads=False)

    def write(self, slot: int, text: str, trial: int = -1, *, waits: bool = False) -> None:
        """Notes what the current thread is running; an empty text for nothing."""
        # Closed while an abandoned thread was still running; or a thread more than there are slots, as some wait.
        with contextlib.suppress(ValueError, IndexError):
            if not text:
                self._map[slot * SLOT] = 0
                return
            line = f"{_thread()}\t{trial}\t{waits:d}\t{text}"
            data = line.encode("utf-8", "replace")[:SLOT].ljust(SLOT, b"\0")
            self._map[slot * SLOT : (slot + 1) * SLOT] = data

    def note_end(self, what: str) -> None:
        """Notes that the process is about to end, in which thread, and by what."""
        with contextlib.suppress(OSError):
            self.path.with_suffix(".fatal").write_text(
                f"Fatal Python error: {what}\nThread 0x{threading.get_ident():x}\n", "utf-8"
            )

    def close(self) -> None:
        """Takes the files away: the run ended in order."""
        self._map.close()
        if self._fatal is not None:
            faulthandler.disable()
            self._fatal.close()
        for kind in (self.path.suffix, ".fatal", ".deaths", ".aside", ".stack"):
            with contextlib.suppress(OSError):  # what can't be taken away takes no verdict away
                self.path.with_suffix(kind).unlink()


def blame(path: Path, what: str, more: Word | None = None) -> list[str]:
    """Notes from outside how the process that kept this file ended, where it left no note of its own.

    Args:
        what: What happened; empty where it was killed: that need not come of its code.
        more: What was running and is not in the file.

    Returns:
        What was running.
    """
    if more is not None and more.trial >= 0:
        with contextlib.suppress(OSError), path.open("ab") as file:
            line = f"{more.thread:x}:0\t{more.trial}\t0\t{more.text}"
            file.write(line.encode("utf-8", "replace")[:SLOT].ljust(SLOT, b"\0"))
    words = last_words(path)
    fatal = path.with_suffix(".fatal")
    if what and not _text(fatal):
        with contextlib.suppress(OSError):
            fatal.write_text(f"Fatal Python error: {what}\n", "utf-8")
    plain = [word for word in words if not word.waits]
    return [" ".join(word.text.split()) for word in plain or words]


def note_held(path: Path, word: Word, what: str) -> None:
    """Notes from outside that a process was ended, as this function held it; its thread is 0 where it is unknown."""
    with contextlib.suppress(OSError):
        text = f"Fatal Python error: {what}\nThread 0x{word.thread:x}\n"
        path.with_suffix(".fatal").write_text(text, "utf-8")


def last_words(path: Path) -> list[Word]:
    """What was running when the process that kept this file died; empty where it ended in order."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    slots = (data[i : i + SLOT].rstrip(b"\0") for i in range(0, len(data), SLOT) if data[i])
    return [_word(slot.decode("utf-8", "replace")) for slot in slots]


def _word(line: str) -> Word:
    try:
        threads, trial, waits, text = line.split("\t", 3)
        thread, native = threads.split(":")
    except ValueError:  # cut off, or another version's
        return Word(line)
    return Word(text, int(trial), int(thread, 16), waits == "1", int(native))


def _thread() -> str:
    return f"{threading.get_ident():x}:{threading.get_native_id()}"


def to_set_aside(path: Path, words: list[Word]) -> Mapping[int, CodeError]:
    """The trials that took an earlier session down, each with what to say of it. Counts a death that left no note.

    Args:
        path: The file that the session kept.
    """
    words = [word for word in words if word.trial >= 0]
    fatal = _text(path.with_suffix(".fatal"))
    if fatal:
        path.with_suffix(".fatal").unlink()
        what = fatal.partition("\n")[0].removeprefix("Fatal Python error: ")
        thread = re.search(_CURRENT, fatal)
        number = int(thread[1], 16) if thread else 0
        # In a thread that is none of ours, it may have been any of them.
        guilty = [word for word in words if word.thread == number] or words
        guilty = [word for word in guilty if _is_in(word, fatal)] or guilty
        return _remembered(path, {word.trial: (word.text, what) for word in guilty})
    words = [word for word in words if not word.waits]
    deaths = path.with_suffix(".deaths")
    counts: dict[int, int] = {}
    for number in _text(deaths).split():
        counts[int(number)] = counts.get(int(number), 0) + 1
    died = {word.trial: word for word in words}
    counts = {trial: counts.get(trial, 0) + 1 for trial in died}
    often = [trial for trial, count in counts.items() if count >= DEATHS]
    remaining = [
        str(trial) for trial, count in counts.items() for _ in range(count) if count < DEATHS
    ]
    with contextlib.suppress(OSError):
        deaths.write_text(" ".join(remaining), "utf-8")
    what = f"it ended {DEATHS} times without a word"
    return {**_remembered(path, {}), **{one: _took_down(died[one].text, what) for one in often}}


def _remembered(path: Path, guilty: Mapping[int, tuple[str, str]]) -> Mapping[int, CodeError]:
    """What to say of these, and of those before, as a session may end before it has stored what it set aside."""
    aside = path.with_suffix(".aside")
    lines = [
        "\t".join((str(trial), text.replace("\t", " "), what)).replace("\n", " ")
        for trial, (text, what) in guilty.items()
    ]
    if lines:
        with contextlib.suppress(OSError), aside.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    known = [line.split("\t", 2) for line in (_text(aside).splitlines() or lines)]
    return {int(one[0]): _took_down(one[1], one[2]) for one in known if len(one) == 3}


def barred(words: list[Word], aside: Mapping[int, CodeError]) -> Mapping[str, CodeError]:
    """The fixtures among what took an earlier session down: other trials have the same, and would do it again."""
    return {
        name: aside[word.trial]
        for word in words
        if word.trial in aside
        and (name := word.text.partition("  ")[0]).startswith(("fixture ", "tear-down of "))
    }


def _is_in(word: Word, trace: str) -> bool:
    """Whether a function is among those that the thread was in."""
    name = word.text.partition("  ")[0].rpartition(":")[2].removeprefix("fixture ")
    return f" in {name}\n" in trace


def _took_down(text: str, what: str) -> CodeError:
    return CodeError(
        f"the process ended while {text.strip()} was running: {what}; it was not run again",
        hint="Mend it, or run it in a process of its own; `evenhand resume` tries it once more.",
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
