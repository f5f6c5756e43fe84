"""What a tryout is asked to do: kept in its run's file, so that `resume` continues the same tryout."""

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
    from evenhand.wings.judge_checks.tryout_plan import Lineup

AGAIN = "Start a new tryout: answers that the cache has are not paid for twice."


class TryoutOptions(Record, frozen=True, kw_only=True):
    """What a tryout's file keeps.

    Attributes:
        run: The id of the run.
        tried: The variants, as they were named on the command line.
        base: The folder that their paths start from.
        seed: Divides the labelled outputs into halves.
        metrics: Which metrics; empty for all with labels.
        offline: Judges' answers come from offline.jsonl.
    """

    run: str
    tried: tuple[str, ...]
    base: str
    seed: int
    metrics: tuple[str, ...]
    offline: bool


class TryoutRequest(JudgeRequest[TryoutOptions], frozen=True):
    """A tryout of variants of a run's judges."""

    @staticmethod
    def of(
        meta: RunMeta,
        run: Path,
        tried: tuple[str, ...],
        seed: int,
        metrics: tuple[str, ...],
        *,
        offline: bool,
    ) -> TryoutRequest:
        """A tryout of this run's judges.

        Raises:
            UsageError: It isn't known what the run was made from.
        """
        request = asked_of(meta)
        options = TryoutOptions(
            run=run.stem,
            tried=tried,
            base=str(Path.cwd()),
            seed=seed,
            metrics=metrics,
            offline=offline or request.offline,
        )
        return TryoutRequest(request, run, options)

    @staticmethod
    def again(meta: RunMeta, tryout: Path) -> TryoutRequest:
        """What an earlier session was asked.

        Args:
            meta: The tryout's own run.
            tryout: Its file.

        Raises:
            UsageError: The record is damaged, or the run whose judges it tries is gone.
        """
        options = kept_of(meta, "tryout", TryoutOptions, f"tryout {meta.id}", AGAIN)
        run = run_beside(tryout, options.run)
        return TryoutRequest(asked_of(meta), run, options)

    def record(self) -> Mapping[str, Any]:
        """For the run's file. Variants are named, not copied: their models' settings may hold keys."""
        return {"asked": self.asked.record(), "tryout": msgspec.to_builtins(self.options)}

    def lineup(self) -> Lineup:
        """The variants, each with its models.

        Raises:
            ConfigError: All that is wrong with the files that hold them.
            UsageError: What is wrong with those on the command line.
        """
        from evenhand.wings.judge_checks.judge_variants import read_variants

        variants = read_variants(self.options.tried, Path(self.options.base))
        return [(one, [model.provider() for model in one.models]) for one in variants]

    def plan(self) -> Plan:
        """The tryout's plan.

        Raises:
            UsageError: The files have changed since the run, nothing is labelled, or a variant is wrong.
            ConfigError: All that is wrong with the files.
        """
        from evenhand.store.runfile import RunFile
        from evenhand.wings.judge_checks.tryout_plan import tryout_plan

        lineup, options = self.lineup(), self.options
        with RunFile.open(self.run) as run_file:
            return tryout_plan(self.asked.plan(), run_file, lineup, options.seed, options.metrics)
