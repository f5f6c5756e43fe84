"""Runs what is asked for to its end: the run, the canaries that its judges are asked about, and what both came to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from evenhand.cli.batching import foresee
from evenhand.cli.exits import FAILED, INTERRUPTED, PASSED, USAGE
from evenhand.cli.session import Session, exit_code
from evenhand.cli.settling import Request, settled
from evenhand.cli.streams import tell

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.engine.door import Finished, Settings
    from evenhand.store.runfile import RunFile


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
    if settings.batch is not None and file is None:
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


def _report(finished: Finished, plan: Plan, session: Session) -> int:
    from evenhand.analysis.trust.run_verdict import verdict_of
    from evenhand.cli.show import print_run
    from evenhand.store.runfile import RunFile

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
        _write(run_file, (*session.outputs, *plan.options.outputs), calls=session.calls)
        word, ending = verdict_of(run_file), finished.ending
        code = exit_code(word, ending.status, ending.signal, session)
        if run_file.meta.settings.get("calibrated") == "required":
            code = canaries().code(code, run_file)
        # What could be read passed; that other parts are broken must not look like success.
        return notified(run_file, word, code or (USAGE if plan.broken else code), session)


def _notified_of(finished: Finished, code: int, session: Session) -> int:
    from evenhand.store.runfile import RunFile

    word = {PASSED: "passed", FAILED: "failed"}.get(code, "undecided")
    with RunFile.open(finished.path) as run_file:
        return notified(run_file, word, code, session)


def notified(run_file: RunFile, word: str, code: int, session: Session) -> int:
    """Tells whoever wanted to know; not after Ctrl-C, when somebody is there and waits."""
    if session.notify and code != INTERRUPTED:
        from evenhand.cli.notifying import document_of, notify

        document = document_of(run_file.meta, run_file.totals(), verdict=word, exit_code=code)
        notify(session.notify, document)
    return code
