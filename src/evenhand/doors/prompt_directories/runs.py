"""Looks up the run that a row of evidence names: does it say what the row says?

How this works: a row is bound to its run by a digest of all that the run asked, was answered and came to, and all that
the row says is in the run. So the row is made again of the run, and held against what is written. A run that is not on
this machine proves nothing and disproves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from evenhand.core.errors import StoreError
from evenhand.core.record import Record
from evenhand.doors.prompt_directories.evidence import Row
from evenhand.doors.prompt_directories.outcome import rows_of
from evenhand.doors.prompt_directories.sending import SENDS, row_of
from evenhand.store.run_lookup import SUFFIX, run_folder
from evenhand.store.runfile import RunFile

State = Literal["agrees", "missing", "contradicts", "unbound"]
"""The run says the same · it is not here, or cannot be read · it says something else · the row names none."""

_ID = re.compile(r"[0-9A-Z]{26}")
_COMPARED = frozenset(
    {
        # of a send
        "case", "vars_hash", "text_hash", "content", "sent", "exit_code", "verified", "model", "model_answered",
        "address", "offline", "run_digest",
        # of an eval
        "all_passed", "total", "passed", "failed_cases", "models", "answered", "judges", "judge", "judge_named_by",
        "addresses", "partial", "trials", "trials_passed", "errors", "not_applicable", "pass_rate",
        "pass_rate_least", "pass_rate_most", "interval",
    }
)  # fmt: skip


class Checked(Record, frozen=True):
    """What the run of a row says to it.

    Attributes:
        why: What differs, or why it cannot be said; empty where the run agrees.
    """

    state: State
    why: str = ""


@dataclass(slots=True)
class KeptRuns:
    """The runs that a folder keeps, looked up by their ids. Each file is read once.

    Attributes:
        home: The folder: `.evenhand` of the repository, or EVENHAND_HOME.
    """

    home: Path
    _read: dict[str, list[dict[str, Any]] | str] = field(
        default_factory=dict[str, "list[dict[str, Any]] | str"]
    )

    def check(self, row: Row) -> Checked:
        """Holds a row against its run."""
        name, digest = row.get("run"), row.get("run_digest")
        if not isinstance(name, str) or not isinstance(digest, str):
            return Checked("unbound", "it does not say which run it is of")
        path = self.path(name)
        if path is None:
            return Checked("missing", f"run {name} is not in {self.home}")
        if name not in self._read:
            self._read[name] = _rows_in(path)
        rows = self._read[name]
        if isinstance(rows, str):
            return Checked("missing", f"run {name}: {rows}")
        # Of several prompts that were run together, the row is of the one with its content.
        rows = [one for one in rows if one.get("content") == row.get("content")]
        if not rows:
            return Checked("contradicts", f"run {name} is of something else")
        if rows[0].get("run_digest") != digest:
            return Checked("contradicts", f"run {name} has changed, or is another one")
        wrong = [key for key in sorted(_COMPARED & rows[0].keys()) if rows[0][key] != row.get(key)]
        if wrong:
            differences = ", ".join(
                f"{key} is {rows[0][key]!r} there, and {row.get(key)!r} here" for key in wrong[:3]
            )
            return Checked("contradicts", f"run {name} says something else: {differences}")
        return Checked("agrees")

    def of(self, prompt: str) -> Iterator[str]:
        """The ids of the finished runs here that are of this prompt, sends and evals."""
        for path in (
            *self._files(run_folder(self.home)),
            *self._files(run_folder(self.home / SENDS)),
        ):
            try:
                with RunFile.open(path) as run:
                    finished, config = run.meta.status == "finished", run.meta.config
            except StoreError:
                continue
            prompts, send = config.get("prompts"), config.get("send")
            entries = [*(prompts if isinstance(prompts, list) else []), send]
            ids = [
                one.get("id") or one.get("prompt") for one in entries if isinstance(one, Mapping)
            ]
            if finished and prompt in ids:
                yield path.stem

    def path(self, name: str) -> Path | None:
        """The file of the run with this id; None where it is not here."""
        # The name stands in a file that anybody may have written, and must not lead to another folder.
        if not _ID.fullmatch(name):
            return None
        folders = (run_folder(self.home), run_folder(self.home / SENDS))
        return next((p for f in folders if (p := f / f"{name}{SUFFIX}").is_file()), None)

    @staticmethod
    def _files(folder: Path) -> list[Path]:
        return sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []


def _rows_in(path: Path) -> list[dict[str, Any]] | str:
    """The rows that a run comes to; what is wrong with it where it cannot be read."""
    try:
        with RunFile.open(path) as run:
            sent = row_of(run)
            rows = [sent] if sent else [row for _, row in rows_of(run)]
    except StoreError as error:
        return error.message
    # A run's file may have been changed by hand, or come from another version.
    except (KeyError, ValueError, TypeError) as error:
        return f"it cannot be read: {error}"
    return rows
