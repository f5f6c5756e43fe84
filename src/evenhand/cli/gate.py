"""`evenhand gate`: runs evals, and says whether they became worse than a baseline."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_paths
from evenhand.cli.exits import FAILED, PASSED, USAGE, code_for_gate
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.numbers import Number
from evenhand.cli.selecting import answering, asked_for, selecting
from evenhand.cli.session import Session, settings_for, spending_options
from evenhand.cli.settling import safe_text, settled
from evenhand.cli.streams import printing, tell
from evenhand.core.ranges import MARGIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.cli.run_request import Asked
    from evenhand.core.plan import Plan
    from evenhand.documents.project import ProjectGate
    from evenhand.report.baseline import Baseline
    from evenhand.report.gate_results import Gate


@click.command(
    cls=GroupedCommand, short_help="Run, and say whether it became worse than a baseline."
)
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@click.option(
    "--baseline",
    metavar="FILE",
    help="What to compare with, as `evenhand baseline` wrote it.  [default: as pyproject.toml says]",
)
@click.option(
    "--margin",
    type=Number(MARGIN),
    metavar="X",
    help="Accept becoming worse by this much; 0.03 is 3 points of a pass rate.  [default: as pyproject.toml says]",
)
@click.option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    metavar="pass|fail",
    help="Exit with 0, or with 1, if it is undecided.  [default: exit with 3]",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Compare only this metric; may be repeated.  [default: passed, and every metric of the baseline]",
)
@click.option(
    "--lower",
    multiple=True,
    metavar="NAME",
    help="A metric where lower is better; may be repeated.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Run all trials, also those of which nothing has changed since the baseline.",
)
@selecting
@answering
@click.option(
    "--offline-in-ci",
    is_flag=True,
    help="Allow --offline where CI is set.",
)
@spending_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.option(
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write that document to FILE: `evenhand comment` reads it.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print every trial with all its expectations as it finishes.",
)
@click.option(
    "--no-progress",
    "--no-progress-bar",
    "no_progress",
    is_flag=True,
    help="Don't print progress.",
)
def gate(
    paths: tuple[str, ...],
    baseline: str | None,
    to: Path | None,
    **options: Any,
) -> int:
    """Run evals as `evenhand run` does, compare them with a baseline case by case, and say whether they became worse.

    PATH is what `evenhand run` takes. Default: the current folder.

    Exits with 0 if nothing became worse by more than the margin, 1 if something did, 3 if the cases don't decide it,
    and 5 if nothing was compared: a gate never passes on nothing.
    """
    from evenhand.core.errors import EvenhandError
    from evenhand.core.secrets import known, shown
    from evenhand.documents.project import project_for
    from evenhand.report.gate_results import nothing
    from evenhand.report.words import clip, near, safe, short_id

    session = Session.of(options)
    name = near(baseline) if baseline else ""
    if (
        to is not None
    ):  # what an earlier gate left there says nothing of this one, whatever becomes of it
        _write(to, nothing("the gate did not come to its end", 0.0, name))
    try:
        asked = asked_for(paths, options)
        project = project_for(asked.folder).gate
        file = baseline or project.baseline
        name = near(file) if file else ""
        outcome, signal, broken = _gated(asked, session, file, project, options)
    except EvenhandError as error:
        if to is not None:
            known.learn_environment(os.environ)
            _write(to, nothing(clip(safe(shown(str(error))), 500), 0.0, name))
        raise
    outcome = replace(outcome, baseline=name)
    if to is not None:
        _write(to, outcome)
    code = _printed(outcome, session, options["undecided"] or project.undecided, signal)
    if outcome.run and outcome.verdict in ("worse", "undecided", "nothing"):
        tell(f"next: evenhand show {short_id(outcome.run)} --where status:fail,error")
    return code or (USAGE if broken else code)


def _gated(
    asked: Asked,
    session: Session,
    file: str | None,
    project: ProjectGate,
    options: Mapping[str, Any],
) -> tuple[Gate, int, bool]:
    """What the gate came to, the signal that stopped its run, and whether parts of its files are broken."""
    from evenhand.core.errors import NothingSelected, UsageError
    from evenhand.report.baseline_file import read_baseline
    from evenhand.report.gate_results import nothing
    from evenhand.report.gating import gate as gated
    from evenhand.report.gating import look_at
    from evenhand.report.taking import FromBaseline
    from evenhand.store.runfile import RunFile

    given: float | None = options["margin"]
    margin = project.margin if given is None else given
    metrics, lower = options["metrics"], options["lower"]
    if not file:
        raise UsageError(
            "there is no baseline to compare with",
            hint="Name one: --baseline FILE. `evenhand baseline RUN --to FILE` makes it of a run that you accept.",
        )
    if margin is None:
        raise UsageError(
            "there is no margin",
            hint="Say how much worse you accept: --margin 0.03 is 3 points of a pass rate.",
        )
    before = read_baseline(Path(file))
    look_at(before, margin, metrics, lower)
    _look_at_script(before, asked, file, offline_in_ci=options["offline_in_ci"], env=os.environ)

    def prepared(plan: Plan) -> None:
        _look_at_plan(before, plan, file)
        # What is only a part of a run, or is taken from another one, is no evidence, and nobody's results.
        plan.options = replace(plan.options, closing=None, outputs=())

    settings = settings_for(asked, session, gate=True)
    script = str(settings.record.get("script", ""))
    taking = None if options["everything"] else FromBaseline(before, script)
    settings = replace(settings, taking=taking)
    try:
        finished, plan = settled(asked, settings, None, session, prepared=prepared)
    except NothingSelected as error:
        tell(safe_text(str(error)))
        return nothing(error.message, margin), 0, False
    with RunFile.open(finished.path) as run_file:
        outcome = gated(before, run_file, margin, metrics=metrics, lower=lower)
    if taking is not None:
        outcome = replace(outcome, notes=(*taking.notes(outcome.asked), *outcome.notes))
    return outcome, finished.ending.signal, bool(plan.broken)


def _write(file: Path, gate: Gate) -> None:
    """Writes a gate as one JSON document.

    Raises:
        UsageError: The file cannot be written.
    """
    from evenhand.core.errors import UsageError
    from evenhand.report.document import json_text
    from evenhand.report.gate_text import document

    try:
        file.write_text(json_text(document(gate)) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--to {file} cannot be written: {error.strerror or error}") from error


def _look_at_script(
    baseline: Baseline, asked: Asked, file: str, *, offline_in_ci: bool, env: Mapping[str, str]
) -> None:
    """That scripted replies are only compared with scripted ones, and never by accident.

    Raises:
        UsageError: They would be.
    """
    from evenhand.core.errors import UsageError

    in_ci = env.get("CI", "").lower() not in ("", "0", "false", "no")
    if asked.offline and in_ci and not offline_in_ci:
        raise UsageError(
            "--offline: a gate in CI would ask no model, and only test its own script",
            hint="Leave --offline out. If it is meant (an example, say), add --offline-in-ci.",
        )
    if asked.offline != baseline.header.offline:
        which = ("a model", "scripted") if asked.offline else ("scripted", "a model")
        raise UsageError(
            f"{file} is of something else: its replies are {_of(which[0])}, and these would be {_of(which[1])}",
            hint="Make the baseline of a run of the same kind.",
        )


def _of(source: str) -> str:
    return source if source == "scripted" else "a model's"


def _look_at_plan(baseline: Baseline, plan: Plan, file: str) -> None:
    """That a baseline has something in common with a plan, before anything is paid for.

    Raises:
        NothingSelected: It has not.
    """
    from evenhand.core.errors import NothingSelected
    from evenhand.report.comparison_sides import matched_variants

    pairs, _, _ = matched_variants(baseline.variants, plan.variants)
    known = {trial.case for trial in baseline.trials}
    if pairs and any(step.case.id in known for step in plan.steps()):
        return
    raise NothingSelected(
        f"{file} is of something else: it has no {'case' if pairs else 'variant'} in common with {plan.title}",
        hint=f"It was made of {baseline.header.title!r}. Nothing was sent."
        + ("" if pairs else " Give each prompt a label that stays: variants are matched by it."),
    )


def _printed(gate: Gate, session: Session, undecided: str | None, signal: int = 0) -> int:
    """Prints a gate; with what it exits."""
    from evenhand.report.gate_text import document, lines
    from evenhand.report.ink import Ink
    from evenhand.report.words import put

    code = code_for_gate(gate, signal, undecided or "")
    with printing():
        if session.as_json:
            from evenhand.report.document import json_text, writer

            writer(sys.stdout)(json_text(document(gate)) + "\n")
        else:
            coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            put(sys.stdout, "".join(f"{line}\n" for line in lines(gate, Ink(coloured))))
    if gate.verdict == "undecided" and undecided and code in (PASSED, FAILED):
        tell(f"undecided counts as {undecided}, by --undecided or the project's gate.undecided")
    elif gate.verdict == "undecided" and undecided == "pass":
        why = "the run did not finish" if gate.status != "finished" else "errors could turn it"
        tell(f"undecided does not count as pass here: {why}")
    return code
