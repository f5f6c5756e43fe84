"""What an audit is asked to do. A run that asks judges keeps it, so that `resume` continues the same audit."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evenhand.cli.run_request import Asked, absolute
from evenhand.cli.study import OfEvals, as_asked, asked_of, kept_of
from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.plan import Plan, Selection
from evenhand.core.record import MutableRecord, Record
from evenhand.core.wording.words import count, near
from evenhand.doors.promptfoo.overrides import Overrides
from evenhand.engine.door import waited_for
from evenhand.store.run_lookup import home_for
from evenhand.store.runfile import RunFile
from evenhand.wings import settings_of
from evenhand.wings.audit.allowing import Settings, misallowed
from evenhand.wings.audit.auditing import examined, keys_of
from evenhand.wings.audit.earlier import Earlier, earlier_runs
from evenhand.wings.audit.findings import findings_of, twins_in_files

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta
    from evenhand.wings.audit.case_audit import CaseAudit
    from evenhand.wings.audit.report import AuditReport

AGAIN = "Start a new audit: answers that the cache has are not paid for twice."


class AuditOptions(Record, frozen=True):
    """What an audit's file keeps.

    Attributes:
        at_least: The score that is asked for; None for none.
        against: Datasets that are searched for twins.
        offline: Judges' answers come from offline.jsonl.
        at: When it began, in seconds since 1970: what was run or labelled later makes no other subjects of it.
    """

    at_least: float | None = None
    against: tuple[str, ...] = ()
    offline: bool = False
    at: float | None = None


class AuditRequest(OfEvals, MutableRecord):
    """An audit of evals. Implements `evenhand.cli.run_and_report.Request`.

    Attributes:
        audits: The cases, once they are examined without judges.
        runs: How many earlier runs were read.
    """

    asked: Asked
    options: AuditOptions
    audits: list[CaseAudit] | None = None
    runs: int = 0
    audited: Plan | None = None

    @staticmethod
    def of(
        paths: tuple[str, ...],
        at_least: float | None,
        against: tuple[str, ...],
        *,
        offline: bool,
        cases: Selection | None = None,
        names: str = "",
    ) -> AuditRequest:
        """An audit of these paths; the current folder for none.

        Args:
            cases: Which cases; None for all.
            names: Of eval sets, only evals with this text in their name.
        """
        request = Asked(
            paths=tuple(absolute(path) for path in paths or (".",)),
            selection=cases or Selection(),
            over=Overrides(),
            offline=offline,
            names=names,
        )
        request.check_offline()
        return AuditRequest(request, AuditOptions(at_least, against, offline, time.time()))

    @staticmethod
    def again(meta: RunMeta) -> AuditRequest:
        """What an earlier session was asked.

        Raises:
            UsageError: The record is damaged.
        """
        options = kept_of(meta, "audit", AuditOptions, f"audit {meta.id}", AGAIN)
        return AuditRequest(asked_of(meta), options)

    def record(self) -> Mapping[str, Any]:
        """For the run's file."""
        return {"asked": self.asked.record(), "audit": msgspec.to_builtins(self.options)}

    @contextlib.contextmanager
    def ready(self, *, judges: bool) -> Iterator[None]:
        """Inside, no model needs a key that isn't asked: the subjects, and judges where they aren't either."""
        from evenhand.cli.offline import environment_kept, without_keys
        from evenhand.providers.leading import judges_alone

        keys = judges_alone() if judges and not self.offline else without_keys()
        with as_asked(self), environment_kept(), keys:
            yield

    def plan(self) -> Plan:
        """The plan that asks judges about made answers.

        Raises:
            ConfigError: All that is wrong with the files.
        """
        from evenhand.wings.audit.judging import judged_plan

        audits = self._examined(with_judges=True)
        assert self.audited is not None  # noqa: S101 (it was read to be examined)
        return judged_plan(self.audited, audits)

    def report(self, file: Path | None = None) -> AuditReport:
        """What the audit comes to.

        Args:
            file: The run that asked judges; None where none was asked.
        """
        from evenhand.wings.audit.judging import with_judges
        from evenhand.wings.audit.report import AuditReport

        audits = self._examined(with_judges=file is not None)
        run = ""
        if file is not None:
            with RunFile.open(file) as opened:
                run = opened.meta.id
                with_judges(audits, {result.index: result for result in opened.trials()})
        return AuditReport.of(
            ", ".join(
                near(path) if near(path) != "." else Path(path).name for path in self.asked.paths
            ),
            audits,
            runs=self.runs,
            at_least=self.options.at_least,
            run=run,
            more=list(twins_in_files(audits, self.options.against)),
        )

    def _examined(self, *, with_judges: bool) -> list[CaseAudit]:
        if self.audits is None:
            plan = self.audited = self.asked.plan(prepare=False)
            earlier = earlier_runs(home_for(Path(plan.source)), keys_of(plan), self.options.at)
            self.runs = earlier.runs
            settings = settings_of("audit", Settings)
            if wrong := list(misallowed("[tool.evenhand.audit]", settings.allow)):
                raise UsageError("\n".join(wrong))
            self.audits = waited_for(examined(plan, earlier, styles=with_judges))
            for audit in self.audits:
                audit.allowed = {**settings.allow, **audit.allowed}
        return self.audits


WITHIN_S = 1.0
"""Seconds that a look may take: cases that aren't reached by then are not looked at."""


def mention(plan: Plan) -> str:
    """A line on the cases of a plan that can't fail, as far as a second's look shows; empty for none.

    Only configs and prompts are looked at: evals in Python would have to be run.
    """
    if any(variant.eval and variant.where for variant in plan.variants):
        return ""
    try:
        audits = waited_for(examined(plan, Earlier(), within_s=WITHIN_S))
    except Exception:  # noqa: BLE001 (it is beside the matter: `evenhand audit` says what is wrong)
        return ""
    findings = findings_of(audits)
    cases = {
        one.case
        for one in findings
        if one.kind == "cant_fail" and not one.expectation and not one.allowed
    }
    if not cases:
        return ""
    return (
        f"{count(len(cases), 'case')} can't fail, whatever is answered: `evenhand audit` says which"
    )


def mention_of(folder: Path) -> str:
    """A line on the config of a folder; empty where there is none, or where it can't be read."""
    if not any(folder.glob("promptfooconfig.*")):
        return ""
    request = AuditRequest.of((str(folder),), None, (), offline=False)
    try:
        with request.ready(judges=False):
            return mention(request.asked.plan(prepare=False))
    except EvenhandError:
        return ""
