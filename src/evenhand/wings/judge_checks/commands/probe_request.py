"""What a probe is asked to do: kept in its run's file, so that `resume` continues the same probe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evenhand.cli.study import JudgeRequest, asked_of, kept_of, run_beside
from evenhand.core.record import Record
from evenhand.wings.judge_checks.plan import Probing

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta

AGAIN = "Start a new probe: answers that the cache has are not paid for twice."


class ProbeOptions(Record, frozen=True):
    """What a probe's file keeps.

    Attributes:
        run: The id of the run.
        probing: What to probe.
        at_most: The false-pass rate that is accepted.
        offline: Judges' answers come from offline.jsonl.
    """

    run: str
    probing: Probing
    at_most: float
    offline: bool


class ProbeRequest(JudgeRequest[ProbeOptions], frozen=True):
    """A probe of a run."""

    @staticmethod
    def of(
        meta: RunMeta, run: Path, probing: Probing, at_most: float, *, offline: bool
    ) -> ProbeRequest:
        """A probe of this run.

        Raises:
            UsageError: It isn't known what the run was made from.
        """
        request = asked_of(meta)
        options = ProbeOptions(run.stem, probing, at_most, offline or request.offline)
        return ProbeRequest(request, run, options)

    @staticmethod
    def again(meta: RunMeta, file: Path) -> ProbeRequest:
        """What an earlier session was asked.

        Args:
            meta: The probe's own run.
            file: Its file.

        Raises:
            UsageError: The record is damaged, or the probed run is gone.
        """
        options = kept_of(meta, "probe", ProbeOptions, f"probe {meta.id}", AGAIN)
        run = run_beside(file, options.run)
        return ProbeRequest(asked_of(meta), run, options)

    def record(self) -> Mapping[str, Any]:
        """For the run's file."""
        return {"asked": self.asked.record(), "probe": msgspec.to_builtins(self.options)}

    def plan(self) -> Plan:
        """The probe's plan.

        Raises:
            UsageError: The files have changed since the run, or nothing in it can be probed.
            ConfigError: All that is wrong with the files.
        """
        from evenhand.store.runfile import RunFile
        from evenhand.wings.judge_checks.plan import probe_plan

        with RunFile.open(self.run) as run_file:
            return probe_plan(self.asked.plan(), run_file, self.options.probing)
