"""`evenhand review draw`, `notes` and `list`: people read outputs, and say which failed, and why."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from evenhand.analysis.reviews.drawing import (
    draw_lines,
    draw_outputs,
    drawn_notes,
    nothing_drawn,
    weights_of,
)
from evenhand.analysis.reviews.reviewed import (
    keep_review,
    opened,
    review_document,
    review_lines,
    reviews_of,
    to_review,
)
from evenhand.analysis.trust.labels.drawing import material_of
from evenhand.analysis.trust.labels.sheet_rows import (
    OTHER_RUN,
    is_other_output,
    place_in,
    read_verdicts,
    write_rows,
)
from evenhand.cli.completing import complete_runs
from evenhand.cli.label import user_name
from evenhand.cli.labelling import KEYS, one_by_one, tell_fewer
from evenhand.cli.options import file_option, flag, number_option, text_option
from evenhand.cli.remote_run_names import RunName
from evenhand.cli.streams import printing, say_json, tell
from evenhand.core.errors import UsageError
from evenhand.core.ranges import Range
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import count, safe
from evenhand.languages.documents.failures_yml import Codebook, NoteId, read_codebook
from evenhand.store.labels.draw import VERDICTS, LabelledVerdict
from evenhand.store.labels.label import LONGEST_AUTHOR, LONGEST_NOTE
from evenhand.store.runfile import RunFile

DRAW = Range(1, 100_000, whole=True)
SEED = Range(0, 2**53, whole=True)
FIRST_DRAW = 60
RUNS = click.argument(
    "runs", nargs=-1, type=RunName(), metavar="[RUN]...", shell_complete=complete_runs
)
BOOK = file_option(
    "--kinds",
    "book",
    default=Path("failures.yml"),
    show_default=True,
    help="The file with the kinds of failure.",
)
BY = click.option("--by", metavar="NAME", help="Who it is.  [default: your user name]")


def author_of(by: str | None) -> str:
    """The person's name: the user's, where none is given.

    Raises:
        UsageError: It is no name that a file could hold.
    """
    if by:
        if safe(by) != by.strip() or not by.strip() or len(by) > LONGEST_AUTHOR:
            raise UsageError(
                f"--by {by[:60]!r} is not a name",
                hint=f"Write one line of at most {LONGEST_AUTHOR} characters that can be printed.",
            )
        return by.strip()
    return user_name()


@click.command()
@RUNS
@number_option(
    "-n",
    "size",
    within=DRAW,
    metavar="N",
    default=FIRST_DRAW,
    show_default=True,
    help="How many outputs.",
)
@text_option(
    "--by-stratum",
    "column",
    metavar="COLUMN",
    help="Draw from each value of this column (`tags`, `variant`), too.",
)
@number_option(
    "--seed", within=SEED, metavar="N", help="The seed of the draw.  [default: a random one]"
)
def draw(runs: tuple[str, ...], size: float, column: str, seed: float | None) -> int:
    """Draw outputs of RUNs at random, for people to review. Default: the latest run.

    Outputs that failed are three times as likely as the others, and of each case one output is drawn at most. How
    likely each was is kept, so that what people say of the drawn ones says how all of them are.
    """
    import secrets

    number = secrets.randbelow(2**31) if seed is None else int(seed)
    with opened(runs) as run_files:
        draws = draw_outputs(run_files, int(size), number, column)
    total = sum(len(one.places) for one in draws)
    tell_fewer(int(size), total, "output", earlier=False)
    with printing():
        for line in draw_lines(draws):
            click.echo(line)
    tell(" ".join(["next: evenhand review notes", *runs]))
    return 0


@click.command()
@RUNS
@BY
@file_option(
    "--to",
    help="Write what to review to this CSV or .jsonl file, with empty columns `verdict` and `note`.",
)
@file_option("--from", "source", help="Read verdicts and notes from this CSV or .jsonl file.")
def notes(runs: tuple[str, ...], by: str | None, to: Path | None, source: Path | None) -> int:
    """Say of each drawn output whether it failed, and write a note on what is wrong. Default: the latest run.

    In a terminal, outputs are shown one at a time, and each review is kept at once. With --to and --from, people
    review them in a spreadsheet. Several people may review the same draw: nobody sees the others' notes, and a fifth
    of the outputs are for two of them.
    """
    if to is not None and source is not None:
        raise UsageError("--to doesn't go with --from", hint="First --to, then --from.")
    author = author_of(by)
    with opened(runs) as run_files:
        drawn = drawn_notes(run_files)
        if not drawn:
            raise nothing_drawn(run_files)
        reviews = [one for run in run_files for one in reviews_of(run)]
        left = to_review(author, drawn, reviews)
        if to is not None:
            write_sheet(run_files, left, to)
            tell(
                f"{count(len(left), 'output')} to review written to {to}; fill in `verdict` with pass or fail, and "
                f"`note`, then: {' '.join(['evenhand review notes', *runs])} --from {to} --by NAME"
            )
            return 0
        if source is not None:
            paths = {run.meta.id: run.path for run in run_files}
            reviewed = read_sheet(run_files, source)
            for note, (verdict, words) in reviewed.items():
                keep_review(paths[note.run], note.index, author, verdict, words)
            done = len(reviewed)
        else:
            mine = {one.note for one in reviews if author in {each.author for each in one.reviews}}
            total = len(left) + sum(note in mine for note in drawn)
            done = review_in_terminal(run_files, left, author, total)
    tell(
        f"{count(done, 'output')} reviewed by {safe(author)}; next: {' '.join(['evenhand review list', *runs])}"
    )
    return 0


@click.command("list")
@RUNS
@BOOK
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def list_(runs: tuple[str, ...], book: Path, as_json: bool) -> int:
    """List what people said of outputs, and which kinds of failure cover it. Default: the latest run.

    Outputs that people disagree about come first, then failures that no kind covers.
    """
    kinds = read_codebook(book) if book.is_file() else Codebook()
    with opened(runs) as run_files, printing():
        if as_json:
            say_json(review_document(run_files, kinds))
            return 0
        for line in review_lines(run_files, kinds):
            click.echo(line)
    return 0


_HELP = "p pass · f fail, then a note · s skip · u undo · q quit"


def review_in_terminal(
    runs: Sequence[RunFile], left: Sequence[NoteId], author: str, total: int
) -> int:
    """Shows one output after the other; how many were reviewed in the end.

    Args:
        left: What this person has to review, in this order.
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

    def show(note: NoteId, place: str) -> None:
        trial = by_id[note.run].trial(note.index)
        click.echo(click.style(place, bold=True))
        if trial is not None:
            click.echo(f"\n{safe(material_of(trial), multiline=True)}\n")
            click.echo(click.style("output", bold=True))
            click.echo(f"{safe(as_text(trial.output), multiline=True)}\n")
        click.echo(_HELP)

    def keep(note: NoteId, verdict: LabelledVerdict | None) -> None:
        # Verdict and note are kept together: who is interrupted while writing sees this output again.
        words = click.prompt("note", default="", show_default=False) if verdict == "fail" else ""
        keep_review(by_id[note.run].path, note.index, author, verdict, words.strip())

    return len(one_by_one(list(left), total, show, KEYS, keep))


COLUMNS = ("output_id", "case", "input", "output", "inclusion", "verdict", "note")
NEEDED = ("output_id", "verdict")

Reviewed = dict[NoteId, tuple[LabelledVerdict, str]]
"""What a file says of outputs: the verdict and the note of each."""


def write_sheet(runs: Sequence[RunFile], notes: Sequence[NoteId], path: Path) -> None:
    """Writes outputs to review to a new file, with empty columns for the verdict and the note.

    Raises:
        UsageError: The file already exists, or cannot be written.
    """
    by_id = {run.meta.id: run for run in runs}
    drawn = drawn_notes(runs)
    weight = {
        run.meta.id: weights_of(run, [note.index for note in drawn if note.run == run.meta.id])
        for run in runs
    }
    rows: list[list[str | int | float]] = []
    for note in notes:
        if (trial := by_id[note.run].trial(note.index)) is not None:
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
    read_verdicts(
        path,
        COLUMNS,
        NEEDED,
        VERDICTS,
        lambda row, verdict: _read_row(by_id, row, verdict, reviewed),
    )
    return reviewed


def _read_row(
    runs: Mapping[str, RunFile],
    row: Mapping[str, str],
    verdict: LabelledVerdict,
    reviewed: Reviewed,
) -> tuple[str, str] | None:
    """Adds a row's review; what is wrong with it, and what to do, where it is none."""
    name = (row.get("output_id") or "").strip()
    run, _, index = name.rpartition(":")
    if not run and len(runs) == 1:  # a place alone, as people may write it where there is one run
        run = next(iter(runs))
    place = place_in(index)
    trial = runs[run].trial(place) if run in runs and place is not None else None
    if trial is None:
        return f"these runs have no output {name[:60]!r}", OTHER_RUN
    if is_other_output(row, as_text(trial.output)):
        return f"output {name} is different in this run", OTHER_RUN
    note = (row.get("note") or "").strip()
    if len(note) > LONGEST_NOTE:
        return f"the note has {len(note):,} characters", f"{LONGEST_NOTE:,} is the most."
    key = NoteId(run, trial.index)
    if key in reviewed:
        return f"output {name} is listed twice", "Leave one of them."
    reviewed[key] = verdict, note
    return None
