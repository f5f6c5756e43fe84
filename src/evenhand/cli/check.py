"""`evenhand check`: everything that can be known before anything is sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_paths
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.options import flag
from evenhand.cli.selecting import asked_for, selecting
from evenhand.cli.streams import say_json, say_lines, tell
from evenhand.core.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked


@click.command(
    cls=GroupedCommand, short_help="Validate a folder and estimate calls and cost. Sends nothing."
)
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@selecting
@flag("--offline", help="Check a run with --offline, which needs no keys.")
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def check(paths: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Validate PATH and show what a run would do and cost. Nothing is sent.

    PATH is what `evenhand run` takes. Default: the current folder. All problems are shown at once, each with its file,
    line and column. For a promptfoo config, known differences from promptfoo are listed, too.
    """
    request = asked_for(paths, options)
    with ExitStack() as stack:
        if request.offline:
            from evenhand.cli.offline import offline_answers

            stack.enter_context(offline_answers(request.folder))
        _show(request, as_json=as_json)
    return 0


def _show(request: Asked, *, as_json: bool) -> None:
    """Prints what a run would do and cost, and raises a ConfigError for what is wrong."""
    from evenhand.analysis.estimates.earlier_run import precedent_of
    from evenhand.cli.lent_keys import plan_without_keys
    from evenhand.cli.run_and_report import look_at_files_beside
    from evenhand.render.command_words import typed
    from evenhand.render.estimates import estimate_lines, estimate_row
    from evenhand.render.export import check_endings
    from evenhand.render.heading import problem_lines
    from evenhand.store.run_lookup import home_for

    plan, missing_keys = plan_without_keys(request, prepare=False)
    look_at_files_beside(str(plan.source))
    check_endings(plan.options.outputs, plan.variants, "outputPath")
    if missing_keys and as_json:
        raise ConfigError(missing_keys, plan.hints)
    estimates = plan.estimate()
    precedent = None if estimates else precedent_of(plan, home_for(Path(plan.source)))
    if as_json:
        row = {**estimate_row(plan, estimates, precedent), "differences": plan.differences()}
        say_json(row)
        return
    for line in problem_lines(plan.hints, len(plan.hints)):
        tell(line)
    for line in _difference_lines(plan.differences()):
        tell(line)
    again = typed(request.record())
    lines = estimate_lines(
        plan, estimates, again, precedent, ready=not missing_keys, scripted=request.offline
    )
    say_lines(lines)
    if missing_keys:
        raise ConfigError(missing_keys)


def _difference_lines(sentences: Sequence[str]) -> Iterator[str]:
    """The first sentence of each: the rest is for those whom it concerns."""
    from evenhand.core.wording.ink import width_of
    from evenhand.core.wording.words import folded

    if sentences:
        yield "differences from promptfoo (docs/promptfoo-differences.md has the details):"
    for sentence in sentences:
        first = sentence.split(". ", 1)[0].removesuffix(".")
        yield from folded(f"{first}.", width_of(sys.stderr), "  - ", "    ")
