"""What a tryout is asked to do: kept in its run's file, so that `resume` continues the same tryout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.probe_request import asked_of, run_beside
from evenhand.cli.run_request import Asked
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta
    from evenhand.probing.tryout_plan import Lineup


class TryoutRequest(Record, frozen=True):
    """A tryout of variants of a run's judges.

    Attributes:
        asked: What the run was asked to run.
        run: The run's file.
        tried: The variants, as they were named on the command line.
        base: The folder that their paths start from.
        seed: Divides the labelled outputs into halves.
        metrics: Which metrics; empty for all with labels.
        offline: Judges' answers come from offline.jsonl.
    """

    asked: Asked
    run: Path
    tried: tuple[str, ...]
    base: Path
    seed: int
    metrics: tuple[str, ...]
    offline: bool

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
        asked = asked_of(meta)
        return TryoutRequest(asked, run, tried, Path.cwd(), seed, metrics, offline or asked.offline)

    @staticmethod
    def again(meta: RunMeta, tryout: Path) -> TryoutRequest:
        """What an earlier session was asked.

        Args:
            meta: The tryout's own run.
            tryout: Its file.

        Raises:
            UsageError: The run whose judges it tries is gone.
        """
        kept = meta.settings["tryout"]
        return TryoutRequest(
            asked_of(meta),
            run_beside(tryout, str(kept["run"])),
            tuple(kept["tried"]),
            Path(kept["base"]),
            int(kept["seed"]),
            tuple(kept["metrics"]),
            bool(kept["offline"]),
        )

    @property
    def folder(self) -> Path:
        """Where offline.jsonl is."""
        return self.asked.folder

    @property
    def definitions(self) -> str:
        """Whose definitions of RAG metrics; empty for ours."""
        return self.asked.definitions

    def record(self) -> Mapping[str, Any]:
        """For the run's file. Variants are named, not copied: their models' settings may hold keys."""
        kept = {
            "run": self.run.stem,
            "tried": list(self.tried),
            "base": str(self.base),
            "seed": self.seed,
            "metrics": list(self.metrics),
            "offline": self.offline,
        }
        return {"asked": self.asked.record(), "tryout": kept}

    def lineup(self) -> Lineup:
        """The variants, each with its models.

        Raises:
            ConfigError: All that is wrong with the files that hold them.
            UsageError: What is wrong with those on the command line.
        """
        from evenhand.probing.judge_variants import read_variants

        variants = read_variants(self.tried, self.base)
        return [(one, [model.provider() for model in one.models]) for one in variants]

    def plan(self) -> Plan:
        """The tryout's plan.

        Raises:
            UsageError: The files have changed since the run, nothing is labelled, or a variant is wrong.
            ConfigError: All that is wrong with the files.
        """
        from evenhand.probing.tryout_plan import tryout_plan
        from evenhand.store.runfile import RunFile

        lineup = self.lineup()
        with RunFile.open(self.run) as run_file:
            return tryout_plan(self.asked.plan(), run_file, lineup, self.seed, self.metrics)
