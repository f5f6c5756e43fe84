"""What a gate goes by: kept in its run's file, so that `resume` ends with the same verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evenhand.core.errors import UsageError
from evenhand.core.gate_terms import GateTerms
from evenhand.core.malformed import shape_fault
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta

AGAIN = "Run the gate again: answers that the cache has are not paid for twice."


class GateRequest(Record, frozen=True, kw_only=True):
    """A gate as it was asked for.

    Attributes:
        terms: What it goes by. Once it runs, they have a baseline, with its whole path, and a margin.
        lower: The metrics of which less is better.
        everything: Run all trials, also those of which nothing has changed.
        stops: End the run as soon as it is decided.
        sample: Run so many cases, and predict the others; None for all.
        by_flips: Draw cases that came out both ways in earlier runs more often.
        offline_in_ci: Scripted replies are allowed where CI is set.
        to: The file that the result is written to as well; empty for none.
        digest: The baseline's, once it has been read.
        undecided_by: What says what *undecided* counts as; empty where nothing does.
    """

    terms: GateTerms
    lower: tuple[str, ...] = ()
    everything: bool = False
    stops: bool = False
    sample: int | None = None
    by_flips: bool = False
    offline_in_ci: bool = False
    to: str = ""
    digest: str = ""
    undecided_by: str = ""

    @staticmethod
    def again(meta: RunMeta) -> GateRequest:
        """What an earlier session was asked.

        Raises:
            UsageError: It isn't known, or the record is damaged.
        """
        record = meta.settings.get("gate")
        if not isinstance(record, Mapping):
            raise UsageError(
                f"run {meta.id} is a gate's that Evenhand {meta.version or 'of an earlier version'} started: what it"
                " went by isn't known",
                hint=AGAIN,
            )
        try:
            return msgspec.convert(record, GateRequest)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"run {meta.id} cannot be resumed: what its gate uses is damaged: {shape_fault(error)}",
                hint=AGAIN,
            ) from error

    @property
    def file(self) -> Path | None:
        """The file that the result is written to."""
        return Path(self.to) if self.to else None

    def record(self) -> Mapping[str, Any]:
        """For the run's file."""
        return {"gate": msgspec.to_builtins(self)}
