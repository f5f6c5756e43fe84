"""Runs with a report and an exit code of their own, which `resume` and `retry` end with as well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.judge_asking import ended
from evenhand.cli.session import Session
from evenhand.cli.settling import Request
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.cli.probe_request import ProbeRequest
    from evenhand.core.run import RunMeta
    from evenhand.engine.door import Finished


class SpecialRun(Record, frozen=True):
    """A probe, a check of canaries, a tryout, or a skill's evals.

    Attributes:
        name: What it is called in messages.
        request: What it was asked.
        came_to: Prints what its file has come to, and returns the exit code of that.
    """

    name: str
    request: Request
    came_to: Callable[[Path, Session], int]

    def report(self, finished: Finished, session: Session) -> int:
        """Prints what it came to, and returns the exit code, which says if it stopped early."""
        return ended(finished, self.came_to(finished.path, session), self.name)


def special_run(meta: RunMeta, file: Path) -> SpecialRun | None:
    """What an earlier session started; None for a run of evals.

    Raises:
        UsageError: The record is damaged, of another version, or needs a run that is gone.
    """
    from evenhand.analysis.trust.judgements.judge_checks import is_canary_check, is_probe, is_tryout
    from evenhand.cli.canary_request import CanaryRequest
    from evenhand.cli.probe_request import ProbeRequest
    from evenhand.cli.skill_request import SkillRequest, is_skill
    from evenhand.cli.tryout_request import TryoutRequest

    if is_probe(meta):
        return _probe(ProbeRequest.again(meta, file))
    if is_canary_check(meta):
        return SpecialRun("check", CanaryRequest.again(meta, file), _check)
    if is_tryout(meta):
        return SpecialRun("tryout", TryoutRequest.again(meta, file), _tryout)
    if is_skill(meta):
        return SpecialRun("run of the skill", SkillRequest.again(meta), _skill)
    return None


def _probe(request: ProbeRequest) -> SpecialRun:
    def came_to(file: Path, session: Session) -> int:
        from evenhand.cli.probe import report_probe

        return report_probe(file, request.at_most, as_json=session.as_json)

    return SpecialRun("probe", request, came_to)


def _check(file: Path, session: Session) -> int:
    from evenhand.cli.canaries import report_check

    return report_check(file, as_json=session.as_json)


def _tryout(file: Path, session: Session) -> int:
    from evenhand.cli.tryout import report_tryout

    return report_tryout(file, as_json=session.as_json)


def _skill(file: Path, session: Session) -> int:
    from evenhand.cli.skill import report_skill

    return report_skill(file, as_json=session.as_json)
