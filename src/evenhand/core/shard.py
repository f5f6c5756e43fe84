"""A part of a plan that one of several processes runs: `1/3` is the first of three. `core.shard_part` deals it out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evenhand.core.errors import UsageError
from evenhand.core.record import Record

MOST = 10_000
"""More shards than this nobody has."""


class Shard(Record, frozen=True):
    """One of so many parts.

    Attributes:
        number: Which, from 1.
        count: Of how many.
    """

    number: int
    count: int

    @staticmethod
    def of(text: str) -> Shard:
        """A shard as it is written: `2/8`.

        Raises:
            UsageError: It says no shard.
        """
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text)
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= count <= MOST:
            raise UsageError(
                f"'{text}' is not a shard",
                hint=f"Write 1/3, 2/3 and 3/3 for the three parts of a run; {MOST:,} parts at most.",
            )
        return Shard(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class Sharded(Record, frozen=True):
    """What a run file says of a run that is a shard.

    Attributes:
        trials: How many trials the whole plan has.
    """

    shard: Shard
    trials: int
    cases: int

    def record(self) -> dict[str, Any]:
        """For the run's settings."""
        return {"shard": str(self.shard), "trials": self.trials, "cases": self.cases}

    @staticmethod
    def of(settings: Mapping[str, Any]) -> Sharded | None:
        """What the settings of a run say; None for a run that is whole."""
        value = settings.get("shard")
        if not isinstance(value, Mapping):
            return None
        return Sharded(Shard.of(str(value["shard"])), int(value["trials"]), int(value["cases"]))
