"""Reviewing in a terminal: one output at a time, a key for pass or fail, and a note. Each is kept at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click

from evenhand.analysis.reviews.reviewed import Verdict, keep_review, material_of
from evenhand.cli.labelling import QUIT
from evenhand.core.errors import UsageError
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import safe
from evenhand.languages.documents.codebook import NoteId
from evenhand.store.runfile import RunFile

_KEYS: Mapping[str, Verdict] = {"p": "pass", "f": "fail"}
_HELP = "p pass · f fail, then a note · s skip · u undo · q quit"


def review_in_terminal(
    runs: Sequence[RunFile], left: Sequence[NoteId], author: str, total: int
) -> int:
    """Shows one output after the other; how many were reviewed in the end.

    Args:
        runs: The runs.
        left: What this person has to review, in this order.
        author: The person.
        total: How many that person has or had to review in all.

    Raises:
        UsageError: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            "reviewing one output at a time needs a terminal",
            hint="Write them to a file instead: evenhand review notes --to notes.csv.",
        )
    by_id = {run.meta.id: run for run in runs}
    waiting, done = list(left), list[NoteId]()
    while waiting:
        note = waiting[0]
        run = by_id[note.run]
        _show(run, note, total - len(waiting) + 1, total)
        key = click.getchar().lower()
        if key in _KEYS:
            # Verdict and note are kept together: who is interrupted while writing sees this output again.
            words = click.prompt("note", default="", show_default=False) if key == "f" else ""
            keep_review(run.path, note.index, author, _KEYS[key], words.strip())
            done.append(waiting.pop(0))
        elif key == "s":
            waiting.pop(0)
        elif key == "u" and done:
            last = done.pop()
            keep_review(by_id[last.run].path, last.index, author, None)
            waiting.insert(0, last)
        elif key in QUIT:
            break
    return len(done)


def _show(run: RunFile, note: NoteId, number: int, total: int) -> None:
    trial = run.trial(note.index)
    click.clear()
    click.echo(click.style(f"{number} of {total}", bold=True))
    if trial is not None:
        click.echo(f"\n{safe(material_of(trial), multiline=True)}\n")
        click.echo(click.style("output", bold=True))
        click.echo(f"{safe(as_text(trial.output), multiline=True)}\n")
    click.echo(_HELP)
