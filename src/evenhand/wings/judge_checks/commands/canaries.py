"""`evenhand runs canaries`: keeps outputs with known verdicts, and asks a run's judges about them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.analysis.trust.calibration_file import check_place, place_of
from evenhand.analysis.trust.canaries import CanaryReport, JudgeKey
from evenhand.cli.completing import complete_runs
from evenhand.cli.exits import FAILED, NO_VERDICT, PASSED
from evenhand.cli.options import file_option, flag, number_option, repeatable
from evenhand.cli.session import Session
from evenhand.cli.streams import say_json, say_lines, tell
from evenhand.cli.study import Study, as_asked, ended, judges_asked, run_or_folder, study_options
from evenhand.cli.trusting import look_at_origin, trust_option
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import is_canary_check, refuse_judge_check
from evenhand.core.ranges import Range
from evenhand.core.wording.words import count, near, percent, safe, short_id
from evenhand.core.wording.words import count as counted
from evenhand.render.calibration_text import drift_words, rate
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.commands.canaries_of_run import (
    CanaryRequest,
    report_of,
    settings_of,
)

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta
    from evenhand.engine.door import Settings
    from evenhand.wings.judge_checks.commands.canaries_of_run import CanaryRequest

KEPT = Range(2, 10_000, whole=True)


@click.command(short_help="Ask a run's judges about outputs whose verdicts are known.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@number_option(
    "--keep",
    within=KEPT,
    metavar="N",
    help="Make N canaries for each metric of RUN's labels, half of them passes if there are as many.",
)
@repeatable(
    "--metric", "metrics", metavar="NAME", help="With --keep: only this metric; may be repeated."
)
@file_option(
    "--file", "file", help="The file of canaries.  [default: canaries.json beside the run's config]"
)
@flag("--offline", help="Answer from the folder's offline.jsonl.")
@trust_option
@study_options
def canaries(
    run: str | None,
    keep: float | None,
    metrics: tuple[str, ...],
    file: Path | None,
    offline: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Ask the judges of RUN about canaries, and say whether a judge has drifted. Default: the latest run.

    A canary is an output with a verdict that people gave. It never changes, so a different verdict means that
    the judge has changed. Canaries are no part of RUN's numbers. --keep writes them from a labelled run; commit the
    file. More of them in canaries.json are only replaced if --file names it.

    Exits with 0 if no drift is shown, 1 if a judge has drifted, and 3 if a judge gave no verdict, or there are too few
    canaries to compare.
    """
    from evenhand.wings.judge_checks.canaries import NAME

    session = Session(as_json=as_json, no_table=True, **options)
    path = run_or_folder(run)
    with RunFile.open(path) as run_file:
        meta = run_file.meta
    replaces = file is not None
    file = (file or place_of(meta).with_name(NAME)).absolute()
    if is_canary_check(meta):
        if keep is not None:
            raise UsageError(f"run {meta.id} has no labels: it asked judges about canaries")
        if meta.status == "finished":
            return report_check(path, as_json=as_json)
        look_at_origin(meta, trust=session.trust)
        request = CanaryRequest.again(meta, path)
        settings = replace(settings_of(request, path, session), record=meta.settings)
        return _checked(request, settings, path, session)
    refuse_judge_check(meta)
    if keep is not None:
        words = [
            "evenhand",
            "runs",
            "canaries",
            *([run] if run else []),
            *(["--file", near(file)] if replaces else []),
        ]
        return _kept(path, int(keep), metrics, file, replaces=replaces, following=shlex.join(words))
    if metrics:
        raise UsageError("--metric has no effect here", hint="It goes with --keep.")
    look_at_origin(meta, trust=session.trust)
    request = CanaryRequest.of(meta, path, offline=offline, file=str(file), most=None)
    return _checked(request, settings_of(request, path, session), None, session)


def _kept(
    path: Path, count: int, metrics: tuple[str, ...], file: Path, *, replaces: bool, following: str
) -> int:
    """Makes canaries of a labelled run; in the place of more of them only where the file was named."""
    from evenhand.wings.judge_checks.canaries import fewer_canaries, kept_canaries, write_canaries

    with RunFile.open(path) as run_file:
        chosen, usable = kept_canaries(run_file, count, metrics)
    for line in filter(None, (one.words(count) for one in usable)):
        tell(line)
    if not replaces and (fewer := fewer_canaries(chosen, file, count)):
        raise UsageError(
            f"{near(file)} has more canaries, and was not written over: {fewer}",
            hint=f"Label more outputs of this run, or replace the file all the same: --file {near(file)}",
        )
    if not replaces:
        check_place(path, file, "--file")
    write_canaries(chosen, file)
    passes = sum(one.verdict == "pass" for one in chosen.canaries)
    number = counted(len(chosen.canaries), "canary", "canaries")
    tell(
        f"{number} written to {near(file)} ({passes} that people pass, {len(chosen.canaries) - passes} that they fail);"
        f" commit it. next: {safe(following)}"
    )
    return 0


def _checked(
    request: CanaryRequest, settings: Settings, file: Path | None, session: Session
) -> int:
    """Asks the judges, and prints what they said.

    Args:
        file: The check to go on with; None for a new one.
    """
    with as_asked(request):
        finished = judges_asked(request, request.plan(), settings, file, session)
    return ended(finished, report_check(finished.path, as_json=session.as_json), "check")


def report_check(file: Path, *, as_json: bool) -> int:
    """Prints what judges said of canaries, and returns the exit code."""
    report = report_of(file)
    if as_json:
        say_json(report.document())
    else:
        say_lines(canary_lines(report))
    if report.drifted:
        return FAILED
    return PASSED if report.decided else NO_VERDICT


def study(meta: RunMeta, file: Path) -> Study:
    """The check of canaries that an earlier session started."""

    def came_to(file: Path, session: Session) -> int:
        return report_check(file, as_json=session.as_json)

    return Study("check", CanaryRequest.again(meta, file), came_to)


BAR = 20
"""Columns of a bar that stands for all canaries."""
MOST_LINES = 12
"""So many checks are shown, the newest ones."""


def canary_lines(report: CanaryReport) -> Iterator[str]:
    """A block of lines for each judge."""
    for key, answers in report.check.answers.items():
        yield f"{safe(answers.metric)} · judged by {safe(answers.model)}"
        yield f"  {drift_words(report.drift(key), answers)}"
        if answers.rate is not None:
            right = f"{sum(answers.right.values())} of {count(len(answers.right), 'canary', 'canaries')}"
            yield f"  right on {right}, {rate(answers.rate)}"
            missed, excused = (total - ok for ok, total in (answers.passes, answers.fails))
            yield f"  fails {missed} that people pass, passes {excused} that people fail"
        if answers.errors:
            yield f"  {count(answers.errors, 'error')}"
        if answers.left_out:
            yield f"  {answers.left_out} left out: the run has no such case"
        yield from _chart(report, key)
        yield ""


def _chart(report: CanaryReport, key: JudgeKey) -> Iterator[str]:
    rows = report.history(key)[-MOST_LINES:]
    if len(rows) < 2:
        return
    yield f"  {'date':<11} {'run':<10}  {'right':<{BAR + 8}} pass rate of the run"
    for check, answers in rows:
        total, right = len(answers.right), sum(answers.right.values())
        filled = round(BAR * right / total) if total else 0
        bar = "━" * filled + "╌" * (BAR - filled)
        date = time.strftime("%Y-%m-%d", time.gmtime(check.at))
        raw = "–" if answers.raw is None else percent(answers.raw)
        yield f"  {date:<11} {short_id(check.run):<10}  {bar} {f'{right}/{total}':<7} {raw}"
