"""Moves outputs to review, and reviews, in and out of files: CSV, or JSON lines where the name ends in .jsonl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.analysis.reviews.drawing import drawn_notes, weights_of
from evenhand.analysis.reviews.reviewed import VERDICTS, Verdict, material_of
from evenhand.analysis.trust.labels.sheet_rows import no_labels, read_verdicts, write_rows
from evenhand.core.wording.spreadsheet_cells import as_text, cell
from evenhand.languages.documents.codebook import NoteId
from evenhand.store.labels.label import LONGEST_NOTE
from evenhand.store.runfile import RunFile

COLUMNS = ("output_id", "case", "input", "output", "inclusion", "verdict", "note")
NEEDED = ("output_id", "verdict")

Reviewed = dict[NoteId, tuple[Verdict, str]]
"""What a file says of outputs: the verdict and the note of each."""


def write_sheet(runs: Sequence[RunFile], notes: Sequence[NoteId], path: Path) -> None:
    """Writes outputs to review to a new file, with empty columns for the verdict and the note.

    Raises:
        UsageError: The file is there already, or cannot be written.
    """
    by_id = {run.meta.id: run for run in runs}
    drawn = drawn_notes(runs)
    weight = {
        run.meta.id: weights_of(run, [note.index for note in drawn if note.run == run.meta.id])
        for run in runs
    }
    rows: list[list[str | int | float]] = []
    for note in notes:
        trial = by_id[note.run].trial(note.index)
        if trial is not None:
            inclusion = 1 / weight[note.run][note.index]
            rows.append(
                [
                    str(note),
                    trial.case,
                    material_of(trial),
                    as_text(trial.output),
                    inclusion,
                    "",
                    "",
                ]
            )
    write_rows(path, COLUMNS, rows)


def read_sheet(runs: Sequence[RunFile], path: Path) -> Reviewed:
    """The reviews in a file that `write_sheet` wrote and somebody filled in. Rows without a verdict are left out.

    Raises:
        UsageError: The file cannot be read, or has no verdicts.
        ConfigError: All that is wrong with it: outputs of other runs, twice the same one, no verdict.
    """
    by_id = {run.meta.id: run for run in runs}
    reviewed: Reviewed = {}
    read_verdicts(path, COLUMNS, NEEDED, lambda row: _read_row(by_id, row, reviewed))
    if not reviewed:
        raise no_labels(path, "pass or fail")
    return reviewed


def _read_row(
    runs: Mapping[str, RunFile], row: Mapping[str, str], reviewed: Reviewed
) -> tuple[str, str] | None:
    """Adds a row's review; what is wrong with it, and what to do, where it is none."""
    text = (row.get("verdict") or "").strip().lower()
    if not text:
        return None
    verdict = VERDICTS.get(text)
    if verdict is None:
        return f"the verdict is {text[:40]!r}", "Write pass or fail, or leave it empty."
    name = (row.get("output_id") or "").strip()
    run, _, index = name.rpartition(":")
    if not run and len(runs) == 1:  # a place alone, as people may write it where there is one run
        run = next(iter(runs))
    # SQLite takes no integer of more than 64 bits.
    known = run in runs and index.isdecimal() and len(index) < 10
    trial = runs[run].trial(int(index)) if known else None
    if trial is None:
        return f"these runs have no output {name[:60]!r}", "Is it a draw of another run?"
    output = as_text(trial.output)
    # A spreadsheet changes white space.
    if _words(row.get("output") or output) not in (_words(output), _words(str(cell(output)))):
        return f"output {name} is another one in this run", "Is it a draw of another run?"
    note = (row.get("note") or "").strip()
    if len(note) > LONGEST_NOTE:
        return f"the note has {len(note):,} characters", f"{LONGEST_NOTE:,} is the most."
    key = NoteId(run, int(index))
    if key in reviewed:
        return f"output {name} is there twice", "Leave one of them."
    reviewed[key] = verdict, note
    return None


def _words(text: str) -> list[str]:
    return text.split()
