"""What a check of canaries is asked to do: kept in its run's file, so that `resume` continues the same check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.run_request import Asked
from evenhand.cli.study import asked_of, kept_of, run_beside
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta

AGAIN = "Start a new check."


class CanaryRequest(Record, frozen=True):
    """A check of a run's judges with canaries.

    Attributes:
        asked: What the run was asked to run.
        run: The run's file.
        file: The file of canaries.
        offline: Judges' answers come from offline.jsonl.
        most: So many canaries of each metric at most; None for all.
    """

    asked: Asked
    run: Path
    file: Path
    offline: bool
    most: int | None = None

    @staticmethod
    def of(
        meta: RunMeta, run: Path, file: Path, *, offline: bool, most: int | None = None
    ) -> CanaryRequest:
        """A check of this run's judges.

        Raises:
            UsageError: It isn't known what the run was made from.
        """
        asked = asked_of(meta)
        return CanaryRequest(asked, run, file, offline or asked.offline, most)

    @staticmethod
    def again(meta: RunMeta, check: Path) -> CanaryRequest:
        """What an earlier session was asked.

        Args:
            meta: The check's own run.
            check: Its file.

        Raises:
            UsageError: The record is damaged, or the run whose judges it asks is gone.
        """
        kept = kept_of(meta, "canaries", _Kept, f"check {meta.id}", AGAIN)
        run = run_beside(check, kept.run)
        return CanaryRequest(asked_of(meta), run, Path(kept.file), kept.offline, kept.most)

    @property
    def folder(self) -> Path:
        """Where offline.jsonl is."""
        return self.asked.folder

    @property
    def definitions(self) -> str:
        """Whose definitions of RAG metrics; empty for ours."""
        return self.asked.definitions

    def record(self) -> Mapping[str, Any]:
        """For the run's file. Judges are asked anew: what the cache has says nothing of today's judge."""
        kept = _Kept(self.run.stem, str(self.file), self.offline, self.most)
        return {"asked": self.asked.record(), "canaries": asdict(kept), "cache": False}

    def plan(self) -> Plan:
        """The check's plan.

        Raises:
            UsageError: The files have changed since the run, there are no canaries, or none of the run's cases.
            ConfigError: All that is wrong with the files.
        """
        from evenhand.store.runfile import RunFile
        from evenhand.wings.judge_checks.canaries import read_canaries
        from evenhand.wings.judge_checks.canary_plan import canary_plan

        canaries = read_canaries(self.file)
        with RunFile.open(self.run) as run_file:
            return canary_plan(self.asked.plan(), run_file, canaries, self.most)


class _Kept(Record, frozen=True):
    run: str
    file: str
    offline: bool
    most: int | None
