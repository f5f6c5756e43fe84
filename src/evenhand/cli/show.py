"""`evenhand show` and `evenhand export`: runs that are already there."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.grouped import OptionSet
from evenhand.cli.options import flag
from evenhand.cli.remote_run_names import RunName
from evenhand.cli.streams import print_run, printing, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenhand.core.errors import UsageError
    from evenhand.core.variant import Variant
    from evenhand.core.wing import Part
    from evenhand.render.verbose import Verbose
    from evenhand.store.labels.label import Label
    from evenhand.store.runfile import RunFile


SHORTEST_ID = 5
LARGE_PAGE = 50_000_000


filtered = OptionSet(
    click.option(
        "--where", metavar="FILTER", help="Only matching trials, e.g. 'status:fail score<0.5'."
    ),
    click.option(
        "--baseline",
        metavar="RUN",
        type=RunName(),
        shell_complete=complete_runs,
        help="The baseline for `changed:` and `change`.",
    ),
)
"""What chooses trials."""


def narrowed(run_file: RunFile, where: str | None, baseline: str | None) -> RunFile:
    """What `--where` chooses of a run; the run where it is not asked for."""
    from evenhand.core.errors import UsageError

    if where is None:
        if baseline is not None:
            raise UsageError(
                "--baseline has no effect without --where",
                hint="To compare two runs: evenhand compare BASELINE RUN",
            )
        return run_file
    from evenhand.analysis.filters.where import narrow
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    def print_note(note: object) -> None:
        click.echo(str(note), err=True)

    if baseline is None:
        return narrow(run_file, where, say=print_note)
    with RunFile.open(find(Path.cwd(), baseline)) as before:
        return narrow(run_file, where, before, say=print_note)


with_calls = flag(
    "--calls",
    help="Include every model call: for a CELL, -v, --json, and the formats json and jsonl.",
)


@click.command(short_help="Show a run, or one of its cells.")
@click.argument(
    "run", required=False, metavar="[RUN]", type=RunName(), shell_complete=complete_runs
)
@click.argument("cell", required=False, metavar="[CELL]")
@flag(
    "--json",
    "as_json",
    help="Print one JSON document to stdout; of CELL, one a line for each repeat.",
)
@flag("-v", "--verbose", help="Print every trial with every expectation.")
@flag("--no-table", help="Print the summary only.")
@flag("--list", "listing", hidden=True, help="List all runs: `evenhand runs list`.")
@with_calls
@filtered
def show(
    run: str | None,
    cell: str | None,
    as_json: bool,
    verbose: bool,
    no_table: bool,
    listing: bool,
    calls: bool,
    where: str | None,
    baseline: str | None,
) -> int:
    """Show RUN: an id, the start of one, a file, or `REMOTE#RUN`. Default: the latest run.

    With CELL, show trials: prompt, output, every outcome, every call; --calls adds what each call, a judge's too, sent
    and received. Long texts are cut; --json has all of them. `better:3` is the third case of the variant better; `3`,
    or a case's id or description, all trials of a case. A CELL without RUN is one of the latest run. With --where, only
    matching trials are listed and counted.
    """
    from evenhand.core.errors import UsageError
    from evenhand.core.wording.ink import takes_colors
    from evenhand.render.console import cells_json, show_trial
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    # A cell of the latest run: `better:3`, or a number too short to be the start of an id.
    if run and cell is None and (":" in run or (run.isdigit() and len(run) < SHORTEST_ID)):
        run, cell = None, run
    if listing:
        from evenhand.cli.runs import print_runs

        tell("evenhand show --list is now called: evenhand runs list")
        print_runs(as_json=as_json)
        return 0
    try:
        file = find(Path.cwd(), run)
    except UsageError as error:
        if run is None or cell:
            raise
        file, cell = _case_of_latest(run, error), run
    if calls and not (cell or verbose or as_json):
        raise UsageError(
            "--calls has no effect here",
            hint=f"Name a cell: `evenhand show {shlex.quote(run or 'latest')} 1 --calls`; "
            "for every trial, add -v or --json.",
        )
    with RunFile.open(file) as whole:
        run_file = narrowed(whole, where, baseline)
        if cell and as_json:
            with printing():
                for line in cells_json(run_file, cell, calls=calls):
                    sys.stdout.write(line + "\n")
        elif cell:
            with printing():
                show_trial(run_file, cell, sys.stdout, color=takes_colors(sys.stdout), calls=calls)
        else:
            if verbose:
                _print_trials(run_file, sys.stderr if as_json else sys.stdout, calls=calls)
            elif run_file.narrowed and not as_json:
                _list_trials(run_file, sys.stdout)
            print_run(run_file, as_json=as_json, table=not no_table, calls=calls)
    return 0


def _case_of_latest(name: str, error: UsageError) -> Path:
    """The latest run, where no run, but a case of it is called so."""
    from evenhand.analysis.summaries.grid import Grid
    from evenhand.core.errors import EvenhandError, UsageError
    from evenhand.core.names import nearest
    from evenhand.render.cell import cases_called
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    try:
        latest = find(Path.cwd(), None)
        with RunFile.open(latest) as run_file:
            grid = Grid(run_file)
            if cases_called(run_file, grid, name):
                return latest
            names = [*grid.numbers, *(text for _, text in run_file.descriptions())]
    except EvenhandError:
        raise error from None
    # pytest's ids begin with the file, which people leave out.
    of_file = next((one for one in names if one.endswith(f"::{name}")), "")
    meant = f"{name}:1" if name in grid.names else of_file or nearest(name, names)
    if not meant:
        raise error
    hint = f"Did you mean a case of the latest run: evenhand show latest {shlex.quote(meant)}?"
    raise UsageError(error.message, hint=hint) from None


@click.command(short_help="Write a run's results to a file.")
@click.argument(
    "run", required=False, metavar="[RUN]", type=RunName(), shell_complete=complete_runs
)
@click.option(
    "--to",
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="The file to write; - for stdout.",
)
@click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    help="The format; by default, the file's extension decides. `json`, `jsonl` and `csv` are Evenhand's own.",
)
@with_calls
@filtered
def export(
    run: str | None,
    to: Path,
    format_: str | None,
    calls: bool,
    where: str | None,
    baseline: str | None,
) -> int:
    """Write the results of RUN to a file; by default, of the latest run.

    RUN is an id, the start of one, a file, or `REMOTE#RUN`.

    Formats for sharing: .html is a page that needs no server, .junit.xml is for CI, .md for a pull request. Runs of a
    promptfoo config are written as promptfoo writes them: .json (results version 3), .jsonl, .yaml, .csv, .xml. Runs of
    eval sets use Evenhand's own formats: json is one document, jsonl one trial per line, csv one row per trial.

    `--to otlp` sends each outcome as an OpenTelemetry event, gen_ai.evaluation.result, to
    OTEL_EXPORTER_OTLP_ENDPOINT.
    """
    from evenhand.core.errors import UsageError
    from evenhand.core.wing import part
    from evenhand.core.wording.words import short_id
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    destination = part("destinations", str(to)) if format_ is None and not to.suffix else None
    if destination is not None:
        _send(destination, run, where, baseline)
        return 0
    is_page = format_ == "html" or (not format_ and to.suffix.lower() in (".html", ".htm"))
    with RunFile.open(find(Path.cwd(), run)) as whole:
        # A page takes a baseline for its own view, without a filter.
        run_file = narrowed(whole, where, None if is_page and where is None else baseline)
        if is_page and baseline is not None and not run_file.totals().trials:
            raise UsageError(
                f"--where {where!r} matches no trial of run {short_id(whole.meta.id)}: there is nothing to compare"
                if where is not None
                else f"run {short_id(whole.meta.id)} has no trial yet: there is nothing to compare"
            )
        written(run_file, to, format_, baseline if is_page else None, calls=calls)
    return 0


def _send(to: Part, run: str | None, where: str | None, baseline: str | None) -> None:
    """Sends the outcomes of a run to where a wing sends them under this name."""
    from evenhand.core.wording.words import count
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    send = cast("Callable[[RunFile], tuple[int, str]]", to.load())
    with RunFile.open(find(Path.cwd(), run)) as whole:
        many, place = send(narrowed(whole, where, baseline))
    tell(f"{count(many, 'event')} sent to {place}")


def written(
    run_file: RunFile,
    to: Path,
    format_: str | None = None,
    baseline: str | None = None,
    *,
    calls: bool = False,
) -> None:
    """Writes a run's results to a file, and says so.

    Args:
        to: The file; `-` for stdout.
        format_: By default as the file's ending says.
        baseline: The run that a page holds it against.
        calls: With the model calls of each trial.
    """
    from evenhand.core.wording.words import count
    from evenhand.render.export import export as write
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    opened = RunFile.open(find(Path.cwd(), baseline)) if baseline else contextlib.nullcontext()
    with opened as before:
        if str(to) == "-":
            with printing():
                write(run_file, to, format_, before=before, calls=calls)
            return
        rows = write(run_file, to, format_, before=before, calls=calls)
    tell(f"{count(rows, 'trial')} written to {to}")
    if to.suffix.lower() in (".html", ".htm") and to.stat().st_size > LARGE_PAGE:
        tell(
            f"the page has {to.stat().st_size / 1e6:,.0f} MB, which not every browser opens; "
            "`evenhand view` shows the run at once, and --where leaves trials out"
        )


def _list_trials(run_file: RunFile, out: TextIO) -> None:
    """Prints a line for each trial."""
    from evenhand.analysis.filters.where import cell_rows
    from evenhand.analysis.summaries.grid import Grid
    from evenhand.core.wording.ink import Ink, takes_colors, width_of
    from evenhand.core.wording.words import put

    rows = cell_rows(run_file, Grid(run_file), width_of(out), Ink(takes_colors(out)))
    with printing():
        put(out, "".join(f"{row}\n" for row in rows) + "\n")


def _print_trials(run_file: RunFile, out: TextIO, *, calls: bool = False) -> None:
    """Prints each trial whole, one after the other; `calls`: with what was asked and answered."""
    from evenhand.analysis.trust.beside_people import every_label
    from evenhand.core.wording.ink import Ink, takes_colors, width_of
    from evenhand.core.wording.words import put
    from evenhand.render.cell import call_lines
    from evenhand.store.labels.label import standing

    meta, labels = run_file.meta, standing(every_label(run_file))
    verbose = verbose_for(out, meta.variants, meta.repeats, labels)
    with printing():
        for trial in run_file.trials():
            put(out, verbose.text(trial))
            if calls:
                width, ink = width_of(out), Ink(takes_colors(out))
                lines = call_lines(run_file, trial, width, ink, whole=True)
                put(out, "".join(f"{line}\n" for line in lines[1:]) + "\n")


def verbose_for(
    out: TextIO,
    variants: Sequence[Variant],
    repeats: int,
    labels: Mapping[int, Sequence[Label]] | None = None,
) -> Verbose:
    """What puts a run's trials, and what people say of them, into words for this stream."""
    from evenhand.core.wording.ink import Ink, takes_colors, width_of
    from evenhand.render.verbose import Verbose

    return Verbose(variants, repeats, width_of(out), Ink(takes_colors(out)), labels)
