"""`evenhand runs rename`, `tag`, `note` and `delete`: what is said of a run, and its end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from evenhand.cli.exits import USAGE
from evenhand.cli.options import flag, number_option
from evenhand.cli.streams import printing, say_json, tell
from evenhand.core.document import Key, as_object, filled
from evenhand.core.ranges import Range
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.core.remark import Remarks
    from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.remarks/1"


class RemarksDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.remarks/1`."""

    schema: Annotated[str, Key("`evenhand.remarks/1`")]
    run: Annotated[str, Key("the run's id")]
    title: Annotated[str, Key("the name that people gave it; empty for its own title")]
    tags: Annotated[list[str], Key("those of its config and of `--run-tag`, and those added later")]
    note: Annotated[str, Key("the note on it; empty for none")]


@click.command(name="list", short_help="List all runs.")
@flag("--json", "as_json", help="Print a JSON document for each run, one a line.")
@number_option(
    "--last", within=Range(1, 10**9, whole=True), metavar="N", help="Only the latest N runs."
)
def list_(as_json: bool, last: float | None) -> int:
    """List the runs of this folder and of the folders above and below it, the latest first."""
    print_runs(as_json=as_json, last=None if last is None else int(last))
    return 0


def print_runs(*, as_json: bool, last: int | None = None) -> None:
    """Lists the runs that are found from the current folder, or only the latest ones."""
    from evenhand.core.wording.ink import width_of
    from evenhand.render.console import list_lines, listed_json
    from evenhand.store.run_lookup import homes, runs

    every_run = [listed for home in homes(Path.cwd()) for listed in runs(home)]
    every_run = sorted(every_run, key=lambda listed: listed.id, reverse=True)[:last]
    with printing():
        for line in (
            listed_json(every_run) if as_json else list_lines(every_run, width_of(sys.stdout))
        ):
            sys.stdout.write(line + "\n")


@click.command(short_help="Rename a run.")
@click.argument("run")
@click.argument("title")
def rename(run: str, title: str) -> int:
    """Rename RUN (an id, the start of one, or a file) to TITLE. An empty TITLE restores the original one."""
    path = _run_path(run)
    remarks = _remark(path, title=title)
    tell(
        f"{path.stem} is called {remarks.title}"
        if remarks.title
        else f"{path.stem} has its own title"
    )
    return 0


@click.command(short_help="Add tags to a run, or remove them.")
@click.argument("run")
@click.argument("tags", nargs=-1)
@flag("--remove", help="Remove these tags; without any, remove all.")
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def tag(run: str, tags: tuple[str, ...], remove: bool, as_json: bool) -> int:
    """Add TAGS to RUN (an id, the start of one, or a file); without any, list its tags.

    Tags given by the config or by `--run-tag NAME=VALUE` are among them, as NAME=VALUE.
    """
    from evenhand.core.wording.words import safe
    from evenhand.store.remarks import remark

    if not all(map(str.strip, tags)):
        raise click.UsageError("a tag is empty")
    path = _run_path(run)
    known = _remarks(path).tags
    rest = [each for each in known if tags and each not in tags]
    after = rest if remove else [*known, *tags]
    remarks = (
        remark(path, {"tags": after}, was={"tags": list(known)})
        if remove or tags
        else _remarks(path)
    )
    if as_json:
        _say_remarks(path, remarks)
    for each in () if as_json else remarks.tags:
        click.echo(safe(each))
    unknown = [each for each in tags if each not in known] if remove else []
    if unknown:
        tell(f"{path.stem} had no tag {', '.join(unknown)}")
        return USAGE
    if not remarks.tags and not as_json:
        tell(f"{path.stem} has no tags")
    return 0


@click.command(short_help="Add a note to a run.")
@click.argument("run")
@click.argument("text", required=False)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def note(run: str, text: str | None, as_json: bool) -> int:
    """Set the note on RUN (an id, the start of one, or a file) to TEXT; without TEXT, print the note.

    An empty TEXT removes the note.
    """
    from evenhand.core.wording.words import safe

    path = _run_path(run)
    remarks = _remarks(path) if text is None else _remark(path, note=text)
    if as_json:
        _say_remarks(path, remarks)
    elif remarks.note:
        click.echo("\n".join(safe(line) for line in remarks.note.splitlines()))
    else:
        tell(f"{path.stem} has no note")
    return 0


@click.command(short_help="Delete runs permanently.")
@click.argument("runs", nargs=-1, required=True)
@flag("--yes", help="Delete them; without it, only list them.")
def delete(runs: tuple[str, ...], yes: bool) -> int:
    """Delete RUNS (ids, starts of ids, or files) with their results, labels and replies.

    Without --yes, only list what would be deleted, and exit with 2. A run in progress is not deleted.
    """
    from evenhand.core.errors import EvenhandError
    from evenhand.core.wording.words import count, safe
    from evenhand.store import remarks
    from evenhand.store.runfile import RunFile

    paths = list(dict.fromkeys(map(_run_path, runs)))
    failed = False
    for path in paths:
        try:
            with RunFile.open(path) as run_file:
                title, trials = safe(run_file.meta.title), run_file.totals().trials
                labels = _labels_in(run_file)
            named = f"{path.stem}  {title}, {count(trials, 'trial')}"
            if labels:
                named += f", with {count(labels, 'label')} by people"
        except EvenhandError:
            named = f"{path.stem}  cannot be read"
        if not yes:
            click.echo(f"would be deleted: {named}")
            continue
        try:
            remarks.delete(path)
        except EvenhandError as error:
            failed = True
            tell(f"evenhand: {error}")
        else:
            click.echo(f"deleted: {named}")
    if not yes:
        tell(f"nothing is deleted yet; for good: evenhand runs delete {' '.join(runs)} --yes")
        return 2
    return 2 if failed else 0


def _labels_in(run: RunFile) -> int:
    """How many labels and reviews of people a run holds, which no other run has."""
    from evenhand.store.labels.label import standing
    from evenhand.store.labels.stored_draws import standing_labels, standing_pair_labels

    verdicts = [one for own in standing(run.labels()).values() for one in own]
    of_metrics = standing_labels(run.metric_labels()).values()
    of_pairs = standing_pair_labels(run.pair_labels()).values()
    judged = sum(len(by_author) for by_author in (*of_metrics, *of_pairs))
    return sum(one.name == "verdict" for one in verdicts) + judged


def _run_path(run: str) -> Path:
    from evenhand.store.run_lookup import find

    return find(Path.cwd(), run)


def _say_remarks(path: Path, remarks: Remarks) -> None:
    document = filled(
        RemarksDocument, remarks, schema=SCHEMA, run=path.stem, tags=list(remarks.tags)
    )
    say_json(as_object(document))


def _remarks(path: Path) -> Remarks:
    from evenhand.store.runfile import RunFile

    with RunFile.open(path) as run_file:
        return run_file.remarks


def _remark(path: Path, **changes: object) -> Remarks:
    from evenhand.store.remarks import remark

    return remark(path, changes)
