"""What a probe is asked to do: kept in its run's file, so that `resume` continues the same probe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evenhand.cli.run_request import Asked
from evenhand.core.errors import UsageError
from evenhand.probing.plan import Probing
from evenhand.report.probe import is_probe

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta

AGAIN = "Start a new probe: answers that the cache has are not paid for twice."


@dataclass(frozen=True, slots=True)
class ProbeRequest:
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
        record = meta.settings
        if "asked" not in record:
            raise UsageError(
                f"run {meta.id} cannot be probed: what it was made from is not known",
                hint="A probe is of runs that `evenhand run` made: imported ones, and those that a program or a"
                " notebook made, don't say what their judges were asked.",
            )
        asked = Asked.again(record["asked"], meta.version)
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
        record = meta.settings
        try:
            kept = msgspec.convert(record["probe"], _Kept)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"probe {meta.id} cannot be resumed: what it was asked is damaged: {error}",
                hint=AGAIN,
            ) from error
        run = file.parent / f"{kept.run}{file.suffix}"
        if not run.is_file():
            raise UsageError(
                f"probe {meta.id} cannot be resumed: there is no run {kept.run} beside it any more",
                hint="Restore that run, or run the evals again and probe the new run.",
            )
        asked = Asked.again(record["asked"], meta.version)
        return ProbeRequest(asked, run, kept.probing, kept.at_most, kept.offline)

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
        from evenhand.probing.plan import probe_plan
        from evenhand.store.runfile import RunFile

        with RunFile.open(self.run) as run_file:
            return probe_plan(self.asked.plan(), run_file, self.probing)


@dataclass(frozen=True, slots=True)
class _Kept:
    run: str
    probing: Probing
    at_most: float
    offline: bool


def request_again(meta: RunMeta, file: Path) -> Asked | ProbeRequest:
    """What the earlier session of a run was asked, whichever sort of run it is.

    Raises:
        UsageError: The record is damaged, or of another version.
    """
    if is_probe(meta):
        return ProbeRequest.again(meta, file)
    return Asked.again(meta.settings["asked"], meta.version)
