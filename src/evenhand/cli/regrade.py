"""`evenhand regrade`: today's expectations and judges over the outputs of an earlier run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from msgspec.structs import replace

from evenhand.cli.completing import complete_runs
from evenhand.cli.exits import USAGE
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.options import flag
from evenhand.cli.replaying import ReplayRequest
from evenhand.cli.run_and_report import notified, safe_text, settled
from evenhand.cli.session import Session, exit_code, session_options, settings_for
from evenhand.cli.streams import print_run, say_json, say_lines, tell
from evenhand.core.document import Key, as_object
from evenhand.core.errors import NothingSelected, UsageError
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked
    from evenhand.render.comparing import Comparison

_ANY = ("pass", "fail", "error", "not_applicable")


class RegradeDocument(Record, frozen=True, kw_only=True):
    """A run that was judged again."""

    schema: Annotated[str, Key("`evenhand.regrade/1`")] = "evenhand.regrade/1"
    run: Annotated[
        Mapping[str, Any],
        Key("the new run, as [`evenhand.run/1`](run-1.md); its `run.replay` names the old one"),
    ]
    comparison: Annotated[
        Mapping[str, Any] | None,
        Key(
            "the new run compared with the old one, as [`evenhand.compare/1`](compare-1.md)",
            null="they have nothing in common",
        ),
    ]


@click.command(
    cls=GroupedCommand, short_help="Judge the outputs of a run again, with today's expectations."
)
@click.argument("run", metavar="RUN", shell_complete=complete_runs)
@click.option(
    "--with",
    "path",
    required=True,
    metavar="PATH",
    help="The evals whose expectations and judges count; what `evenhand run` takes.",
)
@flag("--offline", help="Answer judges from the folder's offline.jsonl.")
@session_options
def regrade(run: str, path: str, *, offline: bool, **options: Any) -> int:
    """Run the evals of PATH over the outputs of RUN, and compare the two. Only judges are asked.

    What the model under evaluation is asked is answered from RUN: by the same request, or, where prompts have changed,
    by the same trial's call. Cases that RUN doesn't have are left out.
    """
    from evenhand.analysis.trust.run_verdict import verdict_of
    from evenhand.store.runfile import RunFile

    session = Session.of(options)
    with ReplayRequest(run).opened() as outputs:
        file = outputs.header.file
        if outputs.header.cassette:
            raise UsageError(
                f"{run} is a cassette: it has replies, but no outputs",
                hint="Name the run: evenhand regrade RUN --with PATH.",
            )
        request = _request(path, file, offline=offline)
        settings = replace(settings_for(request, session), replay=outputs, regrades=True)
        try:
            finished, plan = settled(request, settings, None, session)
        except NothingSelected as error:  # nobody chose cases but the run
            raise NothingSelected(
                f"{outputs.header.name} has none of the cases of {path}",
                hint="Name a run of these cases, or with --with what that run is of.",
            ) from error
    with RunFile.open(finished.path) as graded:
        comparison = _compared(file, finished.path)
        if session.as_json:
            from evenhand.render.document import document

            print_json(document(graded), None if comparison is None else comparison.document())
        else:
            print_run(graded, as_json=False, table=not session.no_table)
            if comparison is not None:
                title = f"{comparison.first} → {comparison.second}"
                if comparison.outputs:
                    title += f", {comparison.outputs.title}"
                say_lines(["", title, "", *str(comparison).splitlines()])
        word = verdict_of(graded)
        code = exit_code(word, finished.ending.status, finished.ending.signal, session)
        return notified(graded, word, code or (USAGE if plan.broken else code), session)


def _request(path: str, file: Path, *, offline: bool) -> Asked:
    """What is asked for: all cases of PATH that the run has."""
    from evenhand.cli.run_request import Asked, Failing, absolute
    from evenhand.core.plan import Selection
    from evenhand.doors.promptfoo.overrides import Overrides
    from evenhand.store.runfile import RunFile

    with RunFile.open(file) as before:
        request = before.meta.settings.get("asked") or {}
        repeats = (request.get("selection") or {}).get("repeats")
    return Asked(
        paths=(absolute(path),),
        selection=Selection(repeats=repeats),
        over=Overrides(),
        failing=Failing(str(file), _ANY),
        offline=offline,
    )


def _compared(before: Path, after: Path) -> Comparison | None:
    """Both runs, paired; None where they have nothing in common, which is said."""
    from evenhand.render.comparing import compare

    try:
        return compare(before, after)
    except UsageError as error:
        tell(f"not compared: {safe_text(str(error))}")
        return None


def print_json(run: Mapping[str, Any], comparison: Mapping[str, Any] | None) -> None:
    """Prints both documents as one.

    Args:
        comparison: It and the old one; None where they have nothing in common.
    """
    say_json(as_object(RegradeDocument(run=run, comparison=comparison)))
