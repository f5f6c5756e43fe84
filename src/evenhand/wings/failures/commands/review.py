"""`evenhand review draw`, `notes` and `list`: people read outputs, and say which failed, and why."""

from __future__ import annotations

from pathlib import Path

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.numbers import Number
from evenhand.cli.run_names import RunName
from evenhand.cli.streams import printing, say_json, tell
from evenhand.core.ranges import Range

DRAW = Range(1, 100_000, whole=True)
SEED = Range(0, 2**53, whole=True)
FIRST_DRAW = 60
RUNS = click.argument(
    "runs", nargs=-1, type=RunName(), metavar="[RUN]...", shell_complete=complete_runs
)
BOOK = click.option(
    "--kinds",
    "book",
    type=click.Path(path_type=Path, dir_okay=False),
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
        from evenhand.core.errors import UsageError
        from evenhand.core.wording.words import safe
        from evenhand.store.labels.label import LONGEST_AUTHOR

        if safe(by) != by.strip() or not by.strip() or len(by) > LONGEST_AUTHOR:
            raise UsageError(
                f"--by {by[:60]!r} is not a name",
                hint=f"Write one line of at most {LONGEST_AUTHOR} characters that can be printed.",
            )
        return by.strip()
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "me"


@click.command()
@RUNS
@click.option(
    "-n",
    "size",
    type=Number(DRAW),
    metavar="N",
    default=FIRST_DRAW,
    show_default=True,
    help="How many outputs.",
)
@click.option(
    "--by-stratum",
    "column",
    default="",
    metavar="COLUMN",
    help="Draw from each value of this column (`tags`, `variant`), too.",
)
@click.option(
    "--seed", type=Number(SEED), metavar="N", help="The seed of the draw.  [default: a random one]"
)
def draw(runs: tuple[str, ...], size: float, column: str, seed: float | None) -> int:
    """Draw outputs of RUNs at random, for people to review. Default: the latest run.

    Outputs that failed are three times as likely as the others, and of each case one output is drawn at most. How
    likely each was is kept, so that what people say of the drawn ones says how all of them are.
    """
    import secrets

    from evenhand.analysis.reviews.drawing import draw_lines, draw_outputs
    from evenhand.analysis.reviews.reviewed import opened
    from evenhand.cli.labelling import tell_fewer

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
@click.option(
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what to review to this CSV or .jsonl file, with empty columns `verdict` and `note`.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read verdicts and notes from this CSV or .jsonl file.",
)
def notes(runs: tuple[str, ...], by: str | None, to: Path | None, source: Path | None) -> int:
    """Say of each drawn output whether it failed, and write a note on what is wrong. Default: the latest run.

    In a terminal, outputs are shown one at a time, and each review is kept at once. With --to and --from, people
    review them in a spreadsheet. Several people may review the same draw: nobody sees the others' notes, and a fifth
    of the outputs are for two of them.
    """
    from evenhand.analysis.reviews.drawing import drawn_notes
    from evenhand.analysis.reviews.reviewed import keep_review, opened, reviews_of, to_review
    from evenhand.core.errors import UsageError
    from evenhand.core.wording.words import count, safe
    from evenhand.wings.failures.commands.screen import review_in_terminal
    from evenhand.wings.failures.sheets import read_sheet, write_sheet

    if to is not None and source is not None:
        raise UsageError("--to doesn't go with --from", hint="First --to, then --from.")
    author = author_of(by)
    with opened(runs) as run_files:
        drawn = drawn_notes(run_files)
        if not drawn:
            raise UsageError("nothing is drawn yet", hint="evenhand review draw -n 60")
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
def list_(runs: tuple[str, ...], book: Path, as_json: bool) -> int:
    """List what people said of outputs, and which kinds of failure cover it. Default: the latest run.

    Outputs that people disagree about come first, then failures that no kind covers.
    """
    from evenhand.analysis.reviews.reviewed import opened, review_document, review_lines
    from evenhand.languages.documents.codebook import Codebook, read_codebook

    kinds = read_codebook(book) if book.is_file() else Codebook()
    with opened(runs) as run_files, printing():
        if as_json:
            say_json(review_document(run_files, kinds))
            return 0
        for line in review_lines(run_files, kinds):
            click.echo(line)
    return 0
