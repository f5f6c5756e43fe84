"""What a probe is asked to do: kept in its run's file, so that `resume` continues the same probe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.run_request import Asked
from evenhand.cli.study import asked_of, kept_of, run_beside
from evenhand.core.record import Record
from evenhand.wings.judge_checks.plan import Probing

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta

AGAIN = "Start a new probe: answers that the cache has are not paid for twice."


class ProbeRequest(Record, frozen=True):
    """A probe of a run.

    Attributes:
        asked: What the run was asked to run.
        run: The run's file.
        probing: What to probe.
        at_most: The false-pass rate that is accepted.
        offline: Judges' answers come from offline.jsonl.
    """

    asked: Asked
    run: Path
    probing: Probing
    at_most: float
    offline: bool

    @staticmethod
    def of(
        meta: RunMeta, run: Path, probing: Probing, at_most: float, *, offline: bool
    ) -> ProbeRequest:
        """A probe of this run.

        Raises:
            UsageError: It isn't known what the run was made from.
        """
        asked = asked_of(meta)
        return ProbeRequest(asked, run, probing, at_most, offline or asked.offline)

    @staticmethod
    def again(meta: RunMeta, file: Path) -> ProbeRequest:
        """What an earlier session was asked.

        Args:
            meta: The probe's own run.
            file: Its file.

        Raises:
            UsageError: The record is damaged, or the probed run is gone.
        """
        kept = kept_of(meta, "probe", _Kept, f"probe {meta.id}", AGAIN)
        run = run_beside(file, kept.run)
        return ProbeRequest(asked_of(meta), run, kept.probing, kept.at_most, kept.offline)

    @property
    def folder(self) -> Path:
        """Where offline.jsonl is."""
        return self.asked.folder

    @property
    def definitions(self) -> str:
        """Whose definitions of RAG metrics; empty for ours."""
        return self.asked.definitions

    def record(self) -> Mapping[str, Any]:
        """For the run's file."""
        kept = _Kept(self.run.stem, self.probing, self.at_most, self.offline)
        return {"asked": self.asked.record(), "probe": asdict(kept)}

    def plan(self) -> Plan:
        """The probe's plan.

        Raises:
            UsageError: The files have changed since the run, or nothing in it can be probed.
            ConfigError: All that is wrong with the files.
        """
        from evenhand.store.runfile import RunFile
        from evenhand.wings.judge_checks.plan import probe_plan

        with RunFile.open(self.run) as run_file:
            return probe_plan(self.asked.plan(), run_file, self.probing)


class _Kept(Record, frozen=True):
    run: str
    probing: Probing
    at_most: float
    offline: bool
