"""Runs what is asked for: progress as it goes, and what it came to at the end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from evenhand.cli.exits import failed_code
from evenhand.cli.files_beside import look_at_files_beside
from evenhand.cli.fleet_options import with_fleet
from evenhand.cli.replaying import nothing_sent
from evenhand.cli.session import Session
from evenhand.cli.streams import set_apart, tell
from evenhand.scorers.rag.definitions import OURS, using_definitions

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import CallRecord, ProgressSnapshot, TrialResult
    from evenhand.engine.door import Finished, Settings
    from evenhand.render.progress import Progress


SCRIPTED = " · replies replayed, no key needed"


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
    from evenhand.cli.offline import offline_answers
    from evenhand.engine.debugging import debuggable
    from evenhand.engine.door import has_answers
    from evenhand.engine.guardian import another_may_go_on
    from evenhand.engine.process import own_process
    from evenhand.providers.http import prepare
    from evenhand.providers.leading import judges_alone

    failed_code(os.environ)  # one that is none is said before anything is paid for
    offline = contextlib.nullcontext()
    if not settings.sends:
        offline = nothing_sent(settings)
    elif request.offline:
        offline = offline_answers(request.folder)
    elif settings.regrades:
        offline = judges_alone()
    with own_process(), debuggable(), offline, using_definitions(request.definitions or OURS):
        file = _of_held_process() or file
        plan = request.plan()
        look_at_files_beside(str(plan.source))
        asks = settings.sends and not request.offline and any(one.paid for one in plan.providers)
        # Opening connections early hides their latency; for nothing where the cache has all answers.
        if asks and not has_answers(plan, settings):
            prepare()
        if prepared is not None:
            settings = prepared(plan, settings)
        outputs = (*session.outputs, *plan.options.outputs)
        _check_outputs(session, outputs, plan)
        for problem in plan.broken:
            tell(str(problem))
        settings = with_fleet(request, plan, replace(settings, free=request.offline), session)
        if settings.replay is not None and settings.replay.empty and not settings.regrades:
            tell(
                f"{safe_text(settings.replay.header.name)} has no recorded calls to answer from. A client of your own "
                "is recorded, and replayed, only through evenhand.recording: any other sends what it is told to."
            )
        source = _source(settings, offline=request.offline)
        with another_may_go_on():
            return settle(plan, settings, file, session, source=source), plan


def _of_held_process() -> Path | None:
    """The run of the process that this one follows, as code of the user's held it; None as a rule."""
    from evenhand.engine.debugging import begin_one_by_one
    from evenhand.engine.guardian import unfinished

    path, one_by_one = unfinished()
    crumbs = Path(path)
    if one_by_one:
        begin_one_by_one()
    return crumbs.parent.parent / "runs" / f"{crumbs.stem}.db" if crumbs.name else None


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
            return f" · outputs of {safe_text(settings.replay.header.name)}, only judges are asked"
        return f" · replayed from {safe_text(settings.replay.header.name)}, {rest}"
    return SCRIPTED if offline else ""


def _check_outputs(session: Session, outputs: Sequence[str], plan: Plan) -> None:
    """Looks whether all that is wanted can be written, before anything is paid for.

    Raises:
        UsageError: A file has an ending that names no format, or is one that the plan was read from; or calls are
            wanted and no format has room for them.
    """
    if not outputs and not session.calls:
        return
    from evenhand.core.errors import UsageError
    from evenhand.render.export import check_endings, has_calls
    from evenhand.render.own_files import look_for_folder, refuse_own

    variants = plan.variants
    check_endings(outputs, variants)
    for name in outputs:
        refuse_own("-o", Path(name), str(plan.source), plan.config)
    for name in session.outputs:  # a config's own are beside it
        look_for_folder(Path(name).parent, f"-o {name}")
    if session.calls and not session.as_json and not any(has_calls(o, variants) for o in outputs):
        raise UsageError(
            "--calls says nothing here",
            hint="Add --json. After the run, `evenhand show -v --calls` prints them.",
        )


def safe_text(text: str) -> str:
    """Text of whatever origin, as it may be printed."""
    from evenhand.core.wording.words import safe

    return safe(text, multiline=True)


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
    from evenhand.store.catalogue import called, killed_run

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
