"""`evenhand gate`: runs evals, and says whether they became worse than a baseline."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from msgspec.structs import replace

from evenhand.cli.completing import complete_paths
from evenhand.cli.drawing import refuse_both
from evenhand.cli.exits import FAILED, INTERRUPTED, PASSED, USAGE, code_for_gate
from evenhand.cli.gate_request import AGAIN, GateRequest
from evenhand.cli.gating import (
    Gating,
    look_at_plan,
    look_at_script,
    mixed_replies,
    read_before,
    terms_of,
)
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.notifying import notifying
from evenhand.cli.options import file_option, flag, number_option, repeatable
from evenhand.cli.replaying import ReplayRequest, replaying_options, with_replay
from evenhand.cli.run_and_report import Request, settled
from evenhand.cli.selecting import answering, asked_for, selecting, stop_when_decided
from evenhand.cli.session import Session, settings_for, spending_options
from evenhand.cli.streams import say_json, say_lines, tell
from evenhand.core.errors import ConfigError, EvenhandError, NothingSelected, StoreError, UsageError
from evenhand.core.gate_terms import GateTerms
from evenhand.core.ranges import BUDGET_USD, MARGIN
from evenhand.core.record import Record
from evenhand.core.wording.words import clip, in_one_line, near, safe, short_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenhand.analysis.gates.gate_results import Gate
    from evenhand.cli.run_request import Asked
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta
    from evenhand.engine.door import Settings


@click.command(
    cls=GroupedCommand, short_help="Run, and say whether it became worse than a baseline."
)
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@click.option(
    "--baseline",
    metavar="FILE",
    help="What to compare with, as `evenhand baseline` wrote it.  [default: as the files say]",
)
@number_option(
    "--margin",
    within=MARGIN,
    metavar="X",
    help="Accept becoming worse by this much; 0.03 is 3 points of a pass rate.  [default: as the files say]",
)
@click.option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    metavar="pass|fail",
    help="Exit with 0, or with 1, if too few cases leave it undecided.  [default: exit with 3]",
)
@repeatable(
    "--metric",
    "metrics",
    metavar="NAME",
    help="Compare only this metric; may be repeated.  [default: passed, and every metric of the baseline]",
)
@repeatable("--lower", metavar="NAME", help="A metric where lower is better; may be repeated.")
@flag(
    "--all",
    "everything",
    help="Run all trials, also those that have not changed since the baseline. The cache may still answer; with"
    " --no-cache, models and judges do.",
)
@stop_when_decided
@number_option(
    "--budget",
    within=BUDGET_USD,
    metavar="USD",
    help="Run as many cases as cost USD by the baseline's costs, and predict the others, like --sample.",
)
@click.option(
    "--draw",
    type=click.Choice(["proportional", "flips"]),
    default="proportional",
    metavar="proportional|flips",
    help="With --sample or --budget: draw from passing and failing cases alike, or more often those that came out"
    " both ways in the baseline's runs.  [default: proportional]",
)
@selecting
@answering
@flag(
    "--offline-in-ci",
    help="Allow --offline if CI is set. Models and judges then answer from a script.",
)
@replaying_options
@spending_options
@flag("--json", "as_json", help="Print one JSON document to stdout.")
@file_option(
    "--to",
    metavar="FILE",
    help="Also write the document of --json to FILE, for `evenhand comment`.",
)
@flag("-v", "--verbose", help="Print every trial with all its expectations as it finishes.")
@flag("--no-progress", "--no-progress-bar", "no_progress", help="Don't print progress.")
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
    and 5 if a metric can't be compared: a gate never passes on nothing.
    """
    from evenhand.languages.documents.project import project_for

    session = Session.of(options)
    replaying = ReplayRequest.of(options)
    request = GateRequest(
        terms=GateTerms(baseline or "", margin, undecided or "", metrics),
        lower=options["lower"],
        everything=options["everything"],
        stops=options["stop_when_decided"],
        sample=options["sample"] and int(options["sample"]),
        by_flips=options["draw"] == "flips",
        offline_in_ci=options["offline_in_ci"],
        to="" if to is None else str(to.absolute()),
    )
    with _written_whatever_comes(request), contextlib.ExitStack() as opened:
        _look_at_sample(request, options["budget"])
        run_request = asked_for(paths, {**options, "sample": None})
        project = project_for(run_request.folder).gate
        replay = opened.enter_context(replaying.opened()) if replaying else None
        if replay is not None and replaying is not None:
            run_request = with_replay(run_request, replay.header, asks=replaying.asks)
        mixed = None
        if baseline:  # what is wrong with it is said even where the evals cannot be read
            before = read_before(request)
            look_at_script(run_request.offline, request, os.environ, replay)
            mixed = mixed_replies(before, baseline, run_request.offline)
        settings = settings_for(run_request, session)
        if replay is not None and replaying is not None:
            settings = replace(settings, replay=replay, replay_asks=replaying.asks)

        def decided_by(plan: Plan) -> Gating:
            files = terms_of(plan, request.terms)
            terms = request.terms.over(files).over(project)
            origins = {
                "--undecided": request.terms.undecided,
                "the gate of the config or eval set": files.undecided,
                "the project's gate.undecided": project.undecided,
            }
            by = next((origin for origin, word in origins.items() if word), "")
            gating = Gating.of(replace(request, undecided_by=by), terms)
            if options["budget"] is not None:
                gating.spend(plan, options["budget"])
            return gating

        try:
            ended = _gated(run_request, settings, session, decided_by)
        except NothingSelected as error:
            tell(str(error))
            ended = _nothing(error.message, request.terms.over(project))
        except ConfigError as error:
            if mixed is None:
                raise
            raise mixed from error  # without --offline, keys are missing
        return _report(ended, request, session)


def gate_gone_on(file: Path, meta: RunMeta, settings: Settings, session: Session) -> int:
    """Goes on with the run of a gate that was killed or interrupted, and ends as it would have.

    Raises:
        UsageError: It isn't known what it goes by, or its baseline has changed since.
    """
    from evenhand.cli.study import asked_of

    request = GateRequest.again(meta)
    run_request = asked_of(meta)

    def decided_by(plan: Plan) -> Gating:
        del plan  # its terms were read when the run began
        gating = Gating.of(request, request.terms)
        if gating.before.header.digest != request.digest:
            raise UsageError(
                f"run {meta.id} cannot be resumed: {near(request.terms.baseline)} has changed since it began",
                hint=AGAIN,
            )
        return gating

    with _written_whatever_comes(request):
        return _report(_gated(run_request, settings, session, decided_by, file), request, session)


@contextlib.contextmanager
def _written_whatever_comes(request: GateRequest) -> Iterator[None]:
    """Sees to it that what an earlier gate left in the file says nothing of this one."""
    from evenhand.analysis.gates.gate_results import nothing
    from evenhand.core.secrets import known, shown

    to = request.file
    if to is None:
        yield
        return
    _look_at_target(to)
    name = near(request.terms.baseline) if request.terms.baseline else ""
    # First: killed before the end, the file must not say what an earlier gate came to.
    _write(to, nothing("the gate did not come to its end", 0.0, name))
    try:
        yield
    except EvenhandError as error:
        # What is written is read elsewhere: no key of the environment may be quoted in it.
        known.learn_environment(os.environ)
        _write(to, nothing(clip(safe(shown(in_one_line(str(error)))), 500), 0.0, name))
        raise


def _report(ended: _Ended, request: GateRequest, session: Session) -> int:
    """Prints a gate that came to its end, writes it, and notifies; with what it exits."""
    outcome = ended.outcome
    if request.file is not None:
        _write(request.file, outcome)
    code = _printed(ended, session)
    if outcome.run and outcome.status not in ("finished", "decided"):
        if ended.why:
            tell(ended.why)
        tell(f"next: evenhand resume {short_id(outcome.run)}")
    elif ended.file is not None and outcome.run:
        from evenhand.render.gate_next import next_step
        from evenhand.store.runfile import RunFile

        with RunFile.open(ended.file) as run_file:
            line = next_step(outcome, run_file)
        if line and not (outcome.verdict == "undecided" and ended.terms.undecided):
            tell(line)
    # A gate over what could be read must not pass where parts of its files are broken.
    code = code or (USAGE if ended.broken else code)
    if session.notify and ended.file is not None and code != INTERRUPTED:
        from evenhand.cli.notifying import document_of, notify
        from evenhand.store.runfile import RunFile

        with RunFile.open(ended.file) as run_file:
            meta, totals = run_file.meta, run_file.totals()
        document = document_of(meta, totals, verdict=outcome.verdict, exit_code=code, kind="gate")
        notify(session.notify, document)
    return code


class _Ended(Record, frozen=True, kw_only=True):
    """A gate that came to its end.

    Attributes:
        terms: What it went by.
        undecided_by: See `GateRequest`.
        signal: The signal that stopped its run; 0 for none.
        broken: Whether parts of its files are broken.
        file: Its run's; None where nothing was run.
        why: Why its run ended before all was run; empty where it didn't.
    """

    outcome: Gate
    terms: GateTerms
    undecided_by: str = ""
    signal: int = 0
    broken: bool = False
    file: Path | None = None
    why: str = ""


def _look_at_sample(request: GateRequest, budget: float | None) -> None:
    """That what is said of a part of the cases goes together.

    Raises:
        UsageError: It doesn't.
    """
    refuse_both(request.sample, budget)
    if request.by_flips and budget is None and request.sample is None:
        raise UsageError(
            "--draw flips: all cases are run", hint="Say how many to draw: --sample 200."
        )


def _nothing(why: str, terms: GateTerms) -> _Ended:
    from evenhand.analysis.gates.gate_results import nothing

    name = near(terms.baseline) if terms.baseline else ""
    return _Ended(outcome=nothing(why, terms.margin or 0.0, name), terms=terms)


def _gated(
    run_request: Asked,
    settings: Settings,
    session: Session,
    decided_by: Callable[[Plan], Gating],
    file: Path | None = None,
) -> _Ended:
    """Runs what is asked for, and compares it.

    Args:
        session: What may be spent, and how fast.
        file: The run to go on with; None for a new one.

    Raises:
        NothingSelected: The baseline has nothing in common with what is run.
    """
    from evenhand.cli.lent_keys import KeysLent

    run = partial(
        _run,
        settings=settings,
        session=session,
        decided_by=lambda plan: _with_decider(decided_by(plan), plan, run_request.selection.seed),
        file=file,
    )
    if run_request.offline:
        return run(run_request)
    with contextlib.suppress(_KeysNeededError):
        return run(KeysLent(run_request, lends=file is None))
    return run(KeysLent(run_request, lends=False))


def _with_decider(gating: Gating, plan: Plan, seed: int) -> Gating:
    if gating.request.stops or gating.request.sample is not None:
        gating.decider = gating.stopping(plan, seed)
    return gating


class _KeysNeededError(Exception):
    """Keys are missing, and not all trials can be taken from the baseline."""


def _run(
    run_request: Request,
    settings: Settings,
    session: Session,
    decided_by: Callable[[Plan], Gating],
    file: Path | None,
) -> _Ended:
    """As `_gated`; raises _KeysNeededError, and leaves no run, where keys were lent and something has to be asked."""
    from evenhand.analysis.gates.reused_trials import FromBaseline
    from evenhand.cli.lent_keys import KeysLent
    from evenhand.store.gate_verdicts import keep_gate_verdict
    from evenhand.store.remarks import delete
    from evenhand.store.runfile import RunFile

    gatings: list[Gating] = []

    def prepared(plan: Plan, settings: Settings) -> Settings:
        gating = decided_by(plan)
        request = gating.request
        look_at_script(run_request.offline, request, os.environ, settings.replay)
        look_at_plan(gating.before, gating.terms.baseline, plan)
        if mixed := mixed_replies(gating.before, request.terms.baseline, run_request.offline):
            raise mixed
        # What is only a part of a run, or is taken from another one, is no evidence, and nobody's results.
        plan.options = replace(plan.options, closing=None, outputs=())
        # Without a cache, fresh answers are wanted.
        if not request.everything and plan.options.cache:
            script = str(settings.record.get("script", ""))
            gating.taking = FromBaseline(
                gating.before,
                script,
                variants=plan.variants,
                resumed=file is not None,
                whole=lent(),
            )
        if lent() and (gating.taking is None or not gating.taking.may_have(plan.trials())):
            raise _KeysNeededError
        for line in gating.decider.hints if gating.decider else ():
            tell(line)
        gatings.append(gating)
        record = {**settings.record, **request.record()}
        return replace(settings, taking=gating.taking, decider=gating.decider, record=record)

    def lent() -> bool:
        return isinstance(run_request, KeysLent) and bool(run_request.lacking)

    finished, plan = settled(run_request, settings, file, session, prepared=prepared)
    (gating,) = gatings
    ending, broken = finished.ending, bool(plan.broken)
    if lent() and ending.status not in ("finished", "decided") and not ending.signal:
        delete(finished.path)
        raise _KeysNeededError
    with RunFile.open(finished.path) as run_file:
        outcome = gating.outcome(run_file)
    outcome = replace(outcome, baseline=near(gating.terms.baseline))
    try:
        keep_gate_verdict(finished.path, outcome.verdict)
    except StoreError as error:  # the verdict stands all the same
        tell(str(error))
    if ending.status in ("finished", "decided") and (line := _cant_fail(plan)):
        tell(line)
    return _Ended(
        outcome=outcome,
        terms=gating.terms,
        undecided_by=gating.request.undecided_by,
        signal=ending.signal,
        broken=broken,
        file=finished.path,
        why=ending.message,
    )


def _cant_fail(plan: Plan) -> str:
    """A line on cases that can't fail, and so gate nothing; empty for none."""
    from evenhand.core.wing import hook

    return cast("Callable[[Plan], str]", hook("cant_fail"))(plan)


def _look_at_target(file: Path) -> None:
    """Looks whether a gate may be written to this file.

    Raises:
        UsageError: Something else than a gate is in it.
    """
    with contextlib.suppress(OSError):  # writing it says why it cannot be
        with file.open("rb") as there:
            # A gate's schema is its first key.
            start = there.read(1000)
        if start.strip() and b'"evenhand.gate/' not in start:
            raise UsageError(
                f"--to {near(file)} is there, and is not a gate's: it was not written over",
                hint="Give --to another name, or delete that file.",
            )


def _write(file: Path, gate: Gate) -> None:
    """Writes a gate as one JSON document.

    Raises:
        UsageError: The file cannot be written.
    """
    from evenhand.core.wording.json_text import json_text
    from evenhand.render.gate import document
    from evenhand.store.replacing import written_to

    text = json_text(document(gate)) + "\n"
    try:
        with written_to(file) as place:
            place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--to {near(file)} cannot be written: {error.strerror or error}"
        ) from error


def _printed(ended: _Ended, session: Session) -> int:
    """Prints a gate; with what it exits."""
    from evenhand.core.wording.ink import Ink, takes_colors, width_of
    from evenhand.render.gate import document, lines

    gate, undecided = ended.outcome, ended.terms.undecided
    code = code_for_gate(gate, ended.signal, undecided)
    if session.as_json:
        say_json(document(gate))
    else:
        text = lines(gate, Ink(takes_colors(sys.stdout)), width_of(sys.stdout))
        say_lines([*text, f"saved as {short_id(gate.run)}"] if gate.run else text)
    if gate.verdict == "undecided" and undecided and code in (PASSED, FAILED):
        by = f", by {ended.undecided_by}" if ended.undecided_by else ""
        tell(f"undecided counts as {undecided}{by}")
    elif gate.verdict == "undecided" and undecided == "pass":
        tell(f"undecided does not count as pass here: {gate.never_passes}")
    return code
