"""Runs what is asked for to its end: progress as it goes, the judges' canaries, and the report of what it came to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from msgspec.structs import replace

from evenhand.cli.drawing import DRAWN, with_drawing
from evenhand.cli.exits import FAILED, INTERRUPTED, PASSED, USAGE, failed_code
from evenhand.cli.notifying import document_of, notify
from evenhand.cli.session import Session, exit_code
from evenhand.cli.streams import print_run, set_apart, tell
from evenhand.core.errors import UsageError

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import CallRecord, ProgressSnapshot, TrialResult
    from evenhand.engine.door import Finished, Settings
    from evenhand.render.progress import Progress
    from evenhand.store.runfile import RunFile
    from evenhand.testing import Script


SCRIPTED = " · replies scripted, no key needed"


class Request(Protocol):
    """What a run is asked to run, in whichever way it is kept."""

    @property
    def offline(self) -> bool:
        """Whether answers come from the folder's offline.jsonl."""
        ...

    @property
    def definitions(self) -> str:
        """Whose definitions of RAG metrics; empty for ours."""
        ...

    @property
    def folder(self) -> Path:
        """Where offline.jsonl is."""
        ...

    def plan(self) -> Plan:
        """The plan."""
        ...


def run_asked(
    request: Request,
    settings: Settings,
    file: Path | None,
    session: Session,
    *,
    step: Callable[[Plan, Settings], Settings] | None = None,
    report: Callable[[Finished, Session], int] | None = None,
) -> int:
    """Runs what is asked for, prints it, and says with what to exit.

    Args:
        file: The run to go on with; None for a new one.
        step: What else has to be looked at once the plan is there; None for nothing.
        report: Prints what the run came to, and returns its exit code; None for the report of a run of evals.
    """
    from evenhand.core.judge_checks import WITH_CANARIES

    steps: list[Callable[[Plan, Settings], Settings]] = []
    if settings.record.get("stop_when_decided") is not None:
        steps.append(_with_decider)
    if DRAWN in settings.record:
        steps.append(with_drawing)
    if settings.batch is not None and file is None:
        from evenhand.cli.batching import foresee

        steps.append(foresee)
    if step is not None:
        steps.append(step)
    if WITH_CANARIES in settings.record and file is None:
        steps.append(canaries().prepared)
    finished, plan = settled(request, settings, file, session, prepared=_one_by_one(steps))
    if settings.sends and WITH_CANARIES in settings.record:
        canaries().after(finished.path, session)
    if report is None:
        code = _report(finished, plan, session)
    else:
        code = _notified_of(finished, report(finished, session), session)
    for line in plan.notes:
        tell(line)
    return code


def settled(
    request: Request,
    settings: Settings,
    file: Path | None,
    session: Session,
    *,
    prepared: Callable[[Plan, Settings], Settings] | None = None,
) -> tuple[Finished, Plan]:
    """Runs what is asked for: its run, and the plan that it followed.

    Args:
        file: The run to go on with; None for a new one.
        prepared: Called with the plan and the settings before anything is paid for; returns the settings that hold.
    """
    from evenhand.engine.debugging import debuggable
    from evenhand.engine.guardian import another_may_go_on
    from evenhand.engine.process import own_process

    failed_code(os.environ)  # one that is none is said before anything is paid for
    with own_process(), debuggable(), _as_asked(request, settings) as script:
        file = _of_held_process() or file
        plan = request.plan()
        look_at_files_beside(str(plan.source))
        if prepared is not None:
            settings = prepared(plan, settings)
        outputs = (*session.outputs, *plan.options.outputs)
        _check_outputs(session, outputs, plan)
        for problem in plan.broken:
            tell(str(problem))
        settings = replace(settings, free=request.offline)
        if session.is_of_fleet:
            from evenhand.cli.fleet_options import with_fleet

            settings = with_fleet(request, plan, settings, session)
        if settings.replay is not None and settings.replay.empty and not settings.regrades:
            tell(
                f"{safe_text(settings.replay.header.name)} has no recorded calls to answer from. Clients of your "
                "own are recorded and replayed only through evenhand.recording; all others really send their requests."
            )
        source = _source(settings, offline=request.offline)
        with another_may_go_on():
            finished = settle(plan, settings, file, session, source=source)
        if script is not None and file is None and _asks_all(request, settings):
            from evenhand.cli.offline import unused_rules

            plan.notes += unused_rules(script, always=session.verbose)
        return finished, plan


def _asks_all(request: Request, settings: Settings) -> bool:
    """Whether a run leaves out nothing that its script may be for."""
    from evenhand.cli.run_request import Asked

    chosen = settings.decider is not None or settings.shard is not None or DRAWN in settings.record
    return isinstance(request, Asked) and not request.is_part and not chosen


def settle(
    plan: Plan, settings: Settings, file: Path | None, session: Session, *, source: str
) -> Finished:
    """Runs a plan, with its progress on stderr.

    Args:
        file: The run to go on with; None for a new one.
        source: Where replies come from, behind the heading; empty for models.
    """
    from evenhand.engine import door
    from evenhand.engine.debugging import giving_way
    from evenhand.engine.signals import late
    from evenhand.render.heading import heading, problem_lines

    for line in problem_lines(plan.hints):
        tell(line)
    if file is None:
        _point_to_killed(plan, settings)
    progress = _progress(not session.no_progress)
    if progress is not None:
        progress.start(heading(plan) + source)
    try:
        with (
            _as_before(),
            giving_way(progress.make_way if progress else None),
            set_apart() as stdout,
            late.waiting(),
        ):
            out = sys.stderr if session.as_json else stdout
            finished = door.run(
                plan,
                settings,
                resume=file,
                progress=_unless_debugging(progress.update) if progress else None,
                note=progress.note if progress else _note,
                resumed=_resumed,
                tell=_teller(plan, out, progress) if session.verbose else None,
            )
            late.path = finished.path
    finally:
        if progress is not None:
            progress.stop()
    # Only here: a signal that came meanwhile must not cut off what was being printed.
    late.raise_now()
    return finished


class Canaries(Protocol):
    """What the wing `judge_checks` does for `run --canaries`."""

    def record_of(
        self, count: float | None, project: int | None, *, saved: bool
    ) -> Mapping[str, object]:
        """What a run's file keeps of it; nothing where no canaries are wanted."""
        ...

    def prepared(self, plan: Plan, settings: Settings) -> Settings:
        """Looks for the canaries before anything is paid for."""
        ...

    def after(self, run: Path, session: Session) -> None:
        """Asks the judges of a run that is over."""
        ...

    def code(self, code: int, run: RunFile) -> int:
        """The run's exit code, once its judges have been asked about canaries."""
        ...


def canaries() -> Canaries:
    """What knows about canaries, imported where they are asked for."""
    from evenhand.core.wing import hook

    return cast("Canaries", hook("canaries"))


def _with_decider(plan: Plan, settings: Settings) -> Settings:
    """Settings that end the run as soon as its pass rates are decided.

    Raises:
        UsageError: There is nothing to decide, or the cases depend on one another.
    """
    from evenhand.analysis.gates.early_pass_rates import ShareDecider
    from evenhand.engine.door import requirements

    seed = int(settings.record["stop_when_decided"])
    return replace(settings, decider=ShareDecider(plan, requirements(plan, settings), seed))


def _one_by_one(
    steps: Sequence[Callable[[Plan, Settings], Settings]],
) -> Callable[[Plan, Settings], Settings]:
    def prepared(plan: Plan, settings: Settings) -> Settings:
        for step in steps:
            settings = step(plan, settings)
        return settings

    return prepared


@contextlib.contextmanager
def _as_asked(request: Request, settings: Settings) -> Iterator[Script | None]:
    """Inside, replies come from where the request has them, and RAG metrics are defined as it says.

    Yields:
        The script that answers; None where none does.
    """
    script = None
    with contextlib.ExitStack() as stack:
        if not settings.sends:
            from evenhand.cli.replaying import nothing_sent

            stack.enter_context(nothing_sent(settings))
        elif request.offline:
            from evenhand.cli.offline import offline_answers

            script = stack.enter_context(offline_answers(request.folder))
        elif settings.regrades:
            from evenhand.providers.leading import judges_alone

            stack.enter_context(judges_alone())
        if request.definitions:
            from evenhand.scorers.rag.definitions import using_definitions

            stack.enter_context(using_definitions(request.definitions))
        yield script


def _of_held_process() -> Path | None:
    """The run of the process that this one follows, as code of the user's held it; None as a rule."""
    from evenhand.engine.debugging import begin_one_by_one
    from evenhand.engine.guardian import unfinished

    path, one_by_one = unfinished()
    crumbs = Path(path)
    if one_by_one:
        begin_one_by_one()
    return crumbs.parent.parent / "runs" / f"{crumbs.stem}.db" if crumbs.name else None


def look_at_files_beside(source: str) -> None:
    """Looks at what reports correct their numbers with, if it is there.

    Args:
        source: The file or the folder that a plan was read from; the current folder where it is empty.

    Raises:
        UsageError: It is damaged.
    """
    path = Path(source or ".").absolute()
    if not any((folder / "calibration.json").exists() for folder in (path, *path.parents)):
        return  # what reads it takes long to import
    from evenhand.analysis.trust.calibration_file import look_at_calibration

    look_at_calibration(source)


def _check_outputs(session: Session, outputs: Sequence[str], plan: Plan) -> None:
    """Looks whether all that is wanted can be written, before anything is paid for."""
    if not outputs and not session.calls:
        return
    from evenhand.render.export import check_endings, has_calls
    from evenhand.render.own_files import look_for_folder, refuse_own

    variants = plan.variants
    check_endings(session.outputs, variants, "-o")
    check_endings(plan.options.outputs, variants, "outputPath")
    for name in outputs:
        refuse_own("-o", Path(name), str(plan.source), plan.config)
    for name in session.outputs:  # a config's own are beside it
        look_for_folder(Path(name).parent, f"-o {name}")
    if session.calls and not session.as_json and not any(has_calls(o, variants) for o in outputs):
        raise UsageError(
            "--calls has no effect here",
            hint="Add --json. After the run, `evenhand show -v --calls` prints them.",
        )


def _source(settings: Settings, *, offline: bool) -> str:
    """Where replies come from, behind the heading; empty for models."""
    if settings.shard is not None:
        rest = _source(replace(settings, shard=None), offline=offline)
        return f" · shard {settings.shard}{rest}"
    if settings.elsewhere is not None:
        number = settings.elsewhere.workers
        rest = _source(replace(settings, elsewhere=None), offline=offline)
        return f" · {number:,} worker{'s'[: number != 1]}{rest}"
    if settings.replay is not None:
        rest = "what is missing is asked" if settings.replay_asks else "nothing is sent"
        if settings.regrades:
            return f" · replies of {safe_text(settings.replay.header.name)}, only judges are asked"
        return f" · replayed from {safe_text(settings.replay.header.name)}, {rest}"
    return SCRIPTED if offline else ""


def safe_text(text: str) -> str:
    """Text of whatever origin, as it may be printed."""
    from evenhand.core.wording.words import safe

    return safe(text, multiline=True)


@contextlib.contextmanager
def _as_before() -> Iterator[None]:
    """Afterwards, the current folder is what it was, and so is the recursion limit, whatever user code made of them.

    The command still has to find the files that were named relative to that folder, and to print.
    """
    here, limit = Path.cwd(), sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        with contextlib.suppress(OSError):
            os.chdir(here)


def _point_to_killed(plan: Plan, settings: Settings) -> None:
    """Says how to go on with the same run where it was killed just before."""
    from evenhand.engine.door import home_of
    from evenhand.store.run_lookup import called, killed_run

    killed = killed_run(home_of(plan, settings), plan.fingerprint, settings.shard)
    if killed is not None:
        name = called(Path.cwd(), killed)
        tell(
            f"run {name} of this plan was killed before its end; this is a new run. To go on with that one, and pay for"
            f" no reply that it has: evenhand resume {name}"
        )


def _progress(show: bool) -> Progress | None:
    if not show:
        return None
    from evenhand.render.progress import Progress

    return Progress(sys.stderr, sys.stderr.isatty())


def _unless_debugging(
    show: Callable[[ProgressSnapshot], None],
) -> Callable[[ProgressSnapshot], None]:
    """Shows progress, but while a debugger has the terminal."""
    from evenhand.engine.time_limit import stands_still

    def update(now: ProgressSnapshot) -> None:
        if not stands_still():
            show(now)

    return update


def _teller(plan: Plan, out: TextIO, progress: Progress | None) -> Callable[[TrialResult], None]:
    """Prints each trial whole, above the line that says how far the run is."""
    from evenhand.cli.show import verbose_for
    from evenhand.core.wording.words import put_quietly
    from evenhand.engine.time_limit import stands_still

    verbose = verbose_for(out, plan.variants, plan.repeats)

    waiting: list[str] = []

    def tell(trial: TrialResult) -> None:
        waiting.append(verbose.text(trial))
        if stands_still():  # the terminal is a debugger's, whose own trial is told of later
            return
        if progress is not None:
            progress.make_way()
        while waiting:
            put_quietly(out, waiting.pop(0))

    return tell


def _resumed(in_doubt: Sequence[CallRecord], last_words: Sequence[str]) -> None:
    """Said before anything is run: the same code may end this session as well."""
    from evenhand.render.heading import doubt_lines

    for line in doubt_lines(in_doubt, last_words):
        tell(line)


def _note(text: str) -> None:
    from evenhand.core.wording.words import safe

    tell(f"evenhand: {safe(text)}")


def _report(finished: Finished, plan: Plan, session: Session) -> int:
    from evenhand.analysis.trust.run_verdict import verdict_of
    from evenhand.store.runfile import RunFile

    with RunFile.open(finished.path) as run_file:
        if run_file.asks_judges():
            from evenhand.analysis.trust.labels.drawing import peoples_share

            peoples_share(run_file)
    # On a terminal the progress line has said it already.
    heading_shown = sys.stdout.isatty() and sys.stderr.isatty() and not session.no_progress
    with RunFile.open(finished.path) as run_file:
        print_run(
            run_file,
            as_json=session.as_json,
            table=not session.no_table,
            with_heading=not heading_shown,
            calls=session.calls,
        )
        for note in unrecorded_client(run_file, sys.modules):
            tell(note)
        _write(run_file, (*session.outputs, *plan.options.outputs), calls=session.calls)
        word, ending = verdict_of(run_file), finished.ending
        code = exit_code(word, ending.status, ending.signal, session)
        if run_file.meta.settings.get("calibrated") == "required":
            code = canaries().code(code, run_file)
        # What could be read passed; that other parts are broken must not look like success.
        return notified(run_file, word, code or (USAGE if plan.broken else code), session)


_CLIENTS = (
    "openai", "anthropic", "google.genai", "mistralai", "cohere", "litellm", "langchain_core", "llama_index.core",
)  # fmt: skip


def unrecorded_client(run: RunFile, imported: Container[str]) -> Iterator[str]:
    """That evals import a library that asks models, and no call was recorded; nothing where one was.

    Nor where an eval ended in an error: it may have stopped before its application asked.

    Args:
        run: The run, which has just ended.
        imported: The names of the modules that are imported.
    """
    asks = [name for name in _CLIENTS if name in imported]
    if not asks or not any(one.eval and not one.model for one in run.meta.variants):
        return
    totals = run.totals()
    settled = totals.passed + totals.failed
    if settled and not (totals.errors or totals.calls or run.meta.unrecorded):
        if next(iter(run.calls()), None) is not None:
            return  # all of them ended in errors, of which the application made something
        yield (
            f"no call was recorded, though {asks[0]} is imported: what the application asked and spent is unknown."
            " print(evenhand.recording.install()) says what can be recorded"
        )


def _write(run_file: RunFile, outputs: Sequence[str], *, calls: bool) -> None:
    """Writes the results to files, each in the format that its ending says; with calls where it has room for them."""
    if not outputs:
        return
    from evenhand.cli.show import written
    from evenhand.render.export import has_calls

    for name in outputs:
        to = Path(name)
        to.parent.mkdir(parents=True, exist_ok=True)
        written(run_file, to, calls=calls and has_calls(name, run_file.meta.variants))


def _notified_of(finished: Finished, code: int, session: Session) -> int:
    from evenhand.store.runfile import RunFile

    word = {PASSED: "passed", FAILED: "failed"}.get(code, "undecided")
    with RunFile.open(finished.path) as run_file:
        return notified(run_file, word, code, session)


def notified(run_file: RunFile, word: str, code: int, session: Session) -> int:
    """Tells whoever wanted to know; not after Ctrl-C, when somebody is there and waits."""
    if session.notify and code != INTERRUPTED:
        document = document_of(run_file.meta, run_file.totals(), verdict=word, exit_code=code)
        notify(session.notify, document)
    return code
