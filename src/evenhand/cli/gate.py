"""`evenhand gate`: runs evals, and says whether they became worse than a baseline."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_paths
from evenhand.cli.exits import FAILED, INTERRUPTED, PASSED, USAGE, code_for_gate
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.notifying import notifying
from evenhand.cli.numbers import Number
from evenhand.cli.replaying import ReplayRequest, replaying_options, with_replay
from evenhand.cli.selecting import answering, asked_for, selecting, stop_when_decided
from evenhand.cli.session import Session, settings_for, spending_options
from evenhand.cli.settling import safe_text, settled
from evenhand.cli.streams import printing, tell
from evenhand.core.gate_terms import GateTerms
from evenhand.core.ranges import MARGIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.cli.run_request import Asked
    from evenhand.core.plan import Plan
    from evenhand.engine.door import Settings
    from evenhand.report.gates.baseline import Baseline
    from evenhand.report.gates.gate_deciding import GateDecider
    from evenhand.report.gates.gate_results import Gate
    from evenhand.report.gates.taking import FromBaseline
    from evenhand.store.recordings import Recordings
    from evenhand.store.runfile import RunFile


@click.command(
    cls=GroupedCommand, short_help="Run, and say whether it became worse than a baseline."
)
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@click.option(
    "--baseline",
    metavar="FILE",
    help="What to compare with, as `evenhand baseline` wrote it.  [default: as the files say]",
)
@click.option(
    "--margin",
    type=Number(MARGIN),
    metavar="X",
    help="Accept becoming worse by this much; 0.03 is 3 points of a pass rate.  [default: as the files say]",
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
@stop_when_decided
@selecting
@answering
@click.option(
    "--offline-in-ci",
    is_flag=True,
    help="Allow --offline where CI is set.",
)
@replaying_options
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
@notifying
def gate(
    paths: tuple[str, ...],
    baseline: str | None,
    margin: float | None,
    undecided: str | None,
    metrics: tuple[str, ...],
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
    from evenhand.report.gates.gate_results import nothing
    from evenhand.report.words import clip, in_one_line, near, safe, short_id

    session = Session.of(options)
    request = ReplayRequest.of(options)
    terms = GateTerms(baseline or "", margin, undecided or "", metrics)
    name = near(baseline) if baseline else ""
    if to is not None:  # what an earlier gate left there says nothing of this one
        _look_at_target(to)
        _write(to, nothing("the gate did not come to its end", 0.0, name))
    try:
        asked = asked_for(paths, options)
        project = project_for(asked.folder).gate
        with contextlib.ExitStack() as opened:
            replay = opened.enter_context(request.opened()) if request else None
            ended = _gated(asked, session, terms, project, options, replay, request)
    except EvenhandError as error:
        if to is not None:
            known.learn_environment(os.environ)
            _write(to, nothing(clip(safe(shown(in_one_line(str(error)))), 500), 0.0, name))
        raise
    outcome = ended.outcome
    if to is not None:
        _write(to, outcome)
    code = _printed(outcome, session, ended.terms.undecided, ended.signal)
    if outcome.run and outcome.verdict in ("worse", "undecided", "nothing"):
        tell(f"next: evenhand show {short_id(outcome.run)} --where status:fail,error")
    code = code or (USAGE if ended.broken else code)
    if session.notify and ended.file is not None and code != INTERRUPTED:
        from evenhand.cli.notifying import document_of, notify
        from evenhand.store.runfile import RunFile

        with RunFile.open(ended.file) as run_file:
            meta, totals = run_file.meta, run_file.totals()
        document = document_of(meta, totals, verdict=outcome.verdict, exit_code=code, kind="gate")
        notify(session.notify, document)
    return code


@dataclass(frozen=True, slots=True)
class _Ended:
    """A gate that came to its end.

    Attributes:
        outcome: What it came to.
        terms: What it went by.
        signal: The signal that stopped its run; 0 for none.
        broken: Whether parts of its files are broken.
        file: Its run's; None where nothing was run.
    """

    outcome: Gate
    terms: GateTerms
    signal: int = 0
    broken: bool = False
    file: Path | None = None


def _gated(
    asked: Asked,
    session: Session,
    said: GateTerms,
    project: GateTerms,
    options: Mapping[str, Any],
    replay: Recordings | None = None,
    request: ReplayRequest | None = None,
) -> _Ended:
    """Runs what is asked for, and compares it.

    Args:
        asked: What is run.
        session: What may be spent, and how fast.
        said: What the command line says of the gate.
        project: What the project does.
        options: The command's other options.
        replay: The recordings that answer it; None to ask.
        request: How they are to be used.
    """
    from evenhand.core.errors import NothingSelected
    from evenhand.report.gates.baseline_file import read_baseline
    from evenhand.report.gates.gate_results import nothing
    from evenhand.report.gates.taking import FromBaseline
    from evenhand.report.words import near
    from evenhand.store.runfile import RunFile

    gatings: list[_Gating] = []
    if replay is not None and request is not None:
        asked = with_replay(asked, replay.header, asks=request.asks)
    in_ci: bool = options["offline_in_ci"]
    if said.baseline:  # what is wrong with it is said even where the evals cannot be read
        before = read_baseline(Path(said.baseline))
        _look_at_script(before, said.baseline, asked, offline_in_ci=in_ci, env=os.environ)

    def prepared(plan: Plan, settings: Settings) -> Settings:
        gating = _Gating.of(said.over(_terms_of(plan, said)).over(project), options["lower"])
        file = gating.terms.baseline
        _look_at_script(gating.before, file, asked, offline_in_ci=in_ci, env=os.environ)
        _look_at_plan(gating, plan)
        # What is only a part of a run, or is taken from another one, is no evidence, and nobody's results.
        plan.options = replace(plan.options, closing=None, outputs=())
        # Without a cache, fresh answers are wanted.
        if not options["everything"] and plan.options.cache:
            gating.taking = FromBaseline(gating.before, str(settings.record.get("script", "")))
        if options["stop_when_decided"]:
            gating.decider = gating.stopping(plan, asked.selection.seed)
            if gating.decider.hint:
                tell(gating.decider.hint)
        gatings.append(gating)
        return replace(settings, taking=gating.taking, decider=gating.decider)

    settings = settings_for(asked, session, gate=True)
    if replay is not None and request is not None:
        settings = replace(settings, replay=replay, replay_asks=request.asks)
    try:
        finished, plan = settled(asked, settings, None, session, prepared=prepared)
    except NothingSelected as error:
        tell(safe_text(str(error)))
        terms = gatings[0].terms if gatings else said.over(project)
        name = near(terms.baseline) if terms.baseline else ""
        return _Ended(nothing(error.message, terms.margin or 0.0, name), terms)
    (gating,) = gatings
    with RunFile.open(finished.path) as run_file:
        outcome = gating.outcome(run_file)
    outcome = replace(outcome, baseline=near(gating.terms.baseline))
    return _Ended(outcome, gating.terms, finished.ending.signal, bool(plan.broken), finished.path)


def _look_at_target(file: Path) -> None:
    """Looks whether a gate may be written to this file.

    Raises:
        UsageError: Something else than a gate is in it.
    """
    from evenhand.core.errors import UsageError

    with contextlib.suppress(OSError):  # writing it says why it cannot be
        with file.open("rb") as there:
            start = there.read(1000)
        if start.strip() and b'"evenhand.gate/' not in start:
            raise UsageError(
                f"--to {file} is there, and is not a gate's: it was not written over",
                hint="Give --to another name, or delete that file.",
            )


def _write(file: Path, gate: Gate) -> None:
    """Writes a gate as one JSON document.

    Raises:
        UsageError: The file cannot be written.
    """
    from evenhand.core.errors import UsageError
    from evenhand.report.document import json_text
    from evenhand.report.gates.gate_text import document

    try:
        file.write_text(json_text(document(gate)) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--to {file} cannot be written: {error.strerror or error}") from error


def _terms_of(plan: Plan, said: GateTerms) -> GateTerms:
    """What the eval sets or the config of a plan say of their gate.

    Raises:
        UsageError: They say different things, and the command line does not settle it.
    """
    from evenhand.core.errors import UsageError

    terms = list(dict.fromkeys(said.over(one) for one in plan.options.gates))
    if len(terms) > 1:
        files = ", ".join(safe_text(one.baseline) or "none" for one in terms)
        raise UsageError(
            f"the eval sets here have different gates: baselines {files}",
            hint="Gate each file by itself, or give --baseline and --margin.",
        )
    return terms[0] if terms else GateTerms()


@dataclass(slots=True)
class _Gating:
    """A gate before and after its run.

    Attributes:
        terms: What it goes by; it has a baseline and a margin.
        before: The baseline.
        lower: The metrics of which less is better.
        taking: Takes trials from the baseline; None where everything is run.
        decider: Stops the run; None where it runs to its end.
    """

    terms: GateTerms
    before: Baseline
    lower: tuple[str, ...]
    taking: FromBaseline | None = None
    decider: GateDecider | None = None

    @staticmethod
    def of(terms: GateTerms, lower: tuple[str, ...]) -> _Gating:
        """A gate by these terms.

        Raises:
            UsageError: They lack something, or the baseline lacks a metric, or cannot be read.
        """
        from evenhand.core.errors import UsageError
        from evenhand.report.gates.baseline_file import read_baseline
        from evenhand.report.gates.gating import look_at

        if not terms.baseline:
            raise UsageError(
                "there is no baseline to compare with",
                hint="Name one: --baseline FILE. `evenhand baseline RUN --to FILE` makes it of a run that you accept.",
            )
        if terms.margin is None:
            raise UsageError(
                "there is no margin",
                hint="Say how much worse you accept: --margin 0.03 is 3 points of a pass rate.",
            )
        before = read_baseline(Path(terms.baseline))
        look_at(before, terms.margin, terms.metrics, lower)
        return _Gating(terms, before, lower)

    @property
    def margin(self) -> float:
        """How much worse is accepted."""
        return self.terms.margin or 0.0

    def stopping(self, plan: Plan, seed: int) -> GateDecider:
        """What stops the run as soon as it is decided."""
        from evenhand.report.gates.gate_deciding import GateDecider

        metrics = self.terms.metrics
        return GateDecider(
            self.before, plan, self.margin, metrics=metrics, lower=self.lower, seed=seed
        )

    def outcome(self, run: RunFile) -> Gate:
        """What the run came to, with the reasons for which trials were not taken."""
        from evenhand.report.gates.gating import gate as gated

        outcome = gated(
            self.before,
            run,
            self.margin,
            metrics=self.terms.metrics,
            lower=self.lower,
            decider=self.decider,
        )
        if self.taking is None:
            return outcome
        return replace(outcome, notes=(*self.taking.notes(outcome.asked), *outcome.notes))


def _look_at_script(
    baseline: Baseline, file: str, asked: Asked, *, offline_in_ci: bool, env: Mapping[str, str]
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


def _look_at_plan(gating: _Gating, plan: Plan) -> None:
    """That a baseline has something in common with a plan, before anything is paid for.

    Raises:
        NothingSelected: It has not.
    """
    from evenhand.core.errors import NothingSelected
    from evenhand.report.comparison.comparison_sides import matched_variants

    baseline, file = gating.before, gating.terms.baseline
    pairs, _, _ = matched_variants(baseline.variants, plan.variants)
    known = {trial.case for trial in baseline.trials}
    if pairs and any(planned.case.id in known for planned in plan.trials()):
        return
    raise NothingSelected(
        f"{file} is of something else: it has no {'case' if pairs else 'variant'} in common with {plan.title}",
        hint=f"It was made of {baseline.header.title!r}. Nothing was sent."
        + ("" if pairs else " Give each prompt a label that stays: variants are matched by it."),
    )


def _printed(gate: Gate, session: Session, undecided: str | None, signal: int = 0) -> int:
    """Prints a gate; with what it exits."""
    from evenhand.report.gates.gate_text import document, lines
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
