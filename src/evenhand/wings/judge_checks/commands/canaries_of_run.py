"""Canaries among what the judges of a run are asked: `run --canaries N`, or `canaries = N` in pyproject.toml.

How this works: as soon as the run is over, the same command asks its judges about canaries, with the run's prompts,
criteria and settings. They are in a run file of their own, so no number of the run can count them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.exits import NO_VERDICT, PASSED
from evenhand.cli.run_and_report import safe_text
from evenhand.cli.session import Session, study_settings
from evenhand.cli.streams import tell
from evenhand.cli.study import JudgeRequest, as_asked, judges_asked
from evenhand.core.errors import ConfigError, UsageError
from evenhand.core.json_shapes import is_mapping
from evenhand.core.judge_checks import WITH_CANARIES
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.analysis.trust.canaries import CanaryReport
    from evenhand.core.plan import Plan
    from evenhand.engine.door import Settings
    from evenhand.store.runfile import RunFile


def record_of(count: float | None, project: int | None, *, saved: bool) -> dict[str, object]:
    """What a run's file keeps of it: nothing where no canaries are wanted.

    Args:
        count: What the command says; None for nothing.
        project: What pyproject.toml says.

    Raises:
        UsageError: Canaries are wanted of a run that isn't saved.
    """
    if count and not saved:
        raise UsageError(
            "--canaries has no effect with --no-write",
            hint="A judge's answers are compared with those of earlier runs, which have to be saved.",
        )
    most = project if count is None else int(count)
    return {WITH_CANARIES: {"most": most, "named": count is not None}} if most and saved else {}


def look_for_canaries(plan: Plan, settings: Settings) -> Settings:
    """Looks for the canaries before anything is paid for. Without a file, what only a project asks for is left out.

    Raises:
        UsageError: There are none, or the file is damaged.
    """
    from evenhand.analysis.trust.calibration_file import kept_beside
    from evenhand.wings.judge_checks.canaries import NAME, read_canaries

    request: Mapping[str, Any] = settings.record[WITH_CANARIES]
    file = kept_beside(plan.source).with_name(NAME)
    if not request["named"] and not file.exists():
        tell("no canaries yet: evenhand runs canaries RUN --keep 40 makes them of a labelled run")
        return replace(
            settings, record={k: v for k, v in settings.record.items() if k != WITH_CANARIES}
        )
    read_canaries(file)
    return settings


def ask_canaries(run: Path, session: Session) -> None:
    """Asks the judges of a run that is over about canaries; nothing where that isn't wanted, or it broke off.

    What is wrong with the canaries is told, and is no error of the run.
    """
    from evenhand.store.runfile import RunFile

    with RunFile.open(run) as run_file:
        meta, spent = run_file.meta, run_file.spend().cost_usd or 0.0
    record = meta.settings.get(WITH_CANARIES)
    if not is_mapping(record) or meta.status != "finished":
        return
    from evenhand.analysis.trust.calibration_file import place_of
    from evenhand.wings.judge_checks.canaries import NAME

    most = int(record["most"])
    left = None if session.max_cost is None else max(0.0, session.max_cost - spent)
    session = replace(session, max_cost=left, verbose=False)
    file = place_of(meta).with_name(NAME).absolute()
    try:
        request = CanaryRequest.of(meta, run, offline=False, file=str(file), most=most)
        with as_asked(request):
            settings = settings_of(request, run, session)
            finished = judges_asked(request, request.plan(), settings, None, session)
    except (UsageError, ConfigError) as error:
        tell(safe_text(f"the judges were asked about no canaries: {error}"))
        return
    if finished.ending.status != "finished":
        tell(safe_text(f"the judges were not asked about all canaries: {finished.ending.message}"))


def settings_of(request: CanaryRequest, run: Path, session: Session) -> Settings:
    """How judges are asked about canaries: anew each time, and kept beside the run."""
    settings = study_settings(run.parent.parent, session, request.record())
    return replace(settings, cache=False, record={**settings.record, "cache": False})


def report_of(check: Path) -> CanaryReport:
    """A check of canaries beside the earlier ones."""
    from evenhand.analysis.trust.canaries import canary_report
    from evenhand.store.run_lookup import paths
    from evenhand.store.runfile import RunFile

    with RunFile.open(check) as run_file:
        return canary_report(run_file, paths(check.parent.parent))


def code_with_canaries(code: int, run: RunFile) -> int:
    """The run's exit code: while calibration is required, a pass counts for nothing once its judge has drifted."""
    if code != PASSED or run.meta.settings.get("calibrated") != "required":
        return code
    from evenhand.analysis.trust.canaries import canaries_of

    canaries = canaries_of(run)
    if canaries is None or not canaries.drifted:
        return code
    tell("no verdict: calibration is required, and the judge drifted: label and calibrate again")
    return NO_VERDICT


class CanariesOfRun:
    """Canaries among what a run's judges are asked. Implements `evenhand.cli.run_and_report.Canaries`."""

    record_of = staticmethod(record_of)
    prepared = staticmethod(look_for_canaries)
    after = staticmethod(ask_canaries)
    code = staticmethod(code_with_canaries)


CANARIES = CanariesOfRun()


class CanaryOptions(Record, frozen=True):
    """What a check's file keeps.

    Attributes:
        run: The id of the run.
        offline: Judges' answers come from offline.jsonl.
        most: So many canaries of each metric at most; None for all.
    """

    run: str
    file: str
    offline: bool
    most: int | None


class CanaryRequest(JudgeRequest[CanaryOptions], frozen=True):
    """A check of a run's judges with canaries."""

    kind, key, word, remedy = CanaryOptions, "canaries", "check", "Start a new check."

    def record(self) -> dict[str, Any]:
        """For the check's file. Judges are asked anew: what the cache has says nothing of today's judge."""
        return {**super().record(), "cache": False}

    def plan(self) -> Plan:
        """The check's plan.

        Raises:
            UsageError: The files have changed since the run, there are no canaries, or none of the run's cases.
            ConfigError: All that is wrong with the files.
        """
        from evenhand.store.runfile import RunFile
        from evenhand.wings.judge_checks.canaries import read_canaries
        from evenhand.wings.judge_checks.canary_plan import canary_plan

        canaries = read_canaries(Path(self.options.file))
        with RunFile.open(self.run) as run_file:
            return canary_plan(self.asked.plan(), run_file, canaries, self.options.most)
