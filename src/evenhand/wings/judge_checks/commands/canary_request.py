"""What a check of canaries is asked to do: kept in its run's file, so that `resume` continues the same check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evenhand.cli.study import JudgeRequest, asked_of, kept_of, run_beside
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta

AGAIN = "Start a new check."


class CanaryOptions(Record, frozen=True):
    """What a check's file keeps.

    Attributes:
        run: The id of the run.
        file: The file of canaries.
        offline: Judges' answers come from offline.jsonl.
        most: So many canaries of each metric at most; None for all.
    """

    run: str
    file: str
    offline: bool
    most: int | None


class CanaryRequest(JudgeRequest[CanaryOptions], frozen=True):
    """A check of a run's judges with canaries."""

    @staticmethod
    def of(
        meta: RunMeta, run: Path, file: Path, *, offline: bool, most: int | None = None
    ) -> CanaryRequest:
        """A check of this run's judges.

        Raises:
            UsageError: It isn't known what the run was made from.
        """
        request = asked_of(meta)
        options = CanaryOptions(run.stem, str(file), offline or request.offline, most)
        return CanaryRequest(request, run, options)

    @staticmethod
    def again(meta: RunMeta, check: Path) -> CanaryRequest:
        """What an earlier session was asked.

        Args:
            meta: The check's own run.
            check: Its file.

        Raises:
            UsageError: The record is damaged, or the run whose judges it asks is gone.
        """
        options = kept_of(meta, "canaries", CanaryOptions, f"check {meta.id}", AGAIN)
        run = run_beside(check, options.run)
        return CanaryRequest(asked_of(meta), run, options)

    def record(self) -> Mapping[str, Any]:
        """For the run's file. Judges are asked anew: what the cache has says nothing of today's judge."""
        options = msgspec.to_builtins(self.options)
        return {"asked": self.asked.record(), "canaries": options, "cache": False}

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
