"""What the record of a tryout says: which labelled outputs, in which half, and what people and today's judge say.

It is kept in the tryout's own file, so that labels which come later change nothing in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import msgspec

from evenhand.core.record import Record
from evenhand.core.run import RunMeta

CHOOSING, CONFIRMING = "choosing", "confirming"
KEY = "tryout"
TODAY = "today"
"""The judge as it is: no variant has this name."""
WEIGHTED = ", weighted by labels"
"""What the name of a panel whose votes are weighted ends with: no variant's own name does."""


class TriedItem(Record, frozen=True, kw_only=True):
    """A labelled output.

    Attributes:
        index: The trial's place in the run's plan.
        case: The case's id.
        half: Whether it chooses or confirms.
        people: Whether most people pass it.
        today: Whether today's judge passes it.
        votes: Of today's judge, if it is a jury: what its members voted; see `Ballot`.
    """

    index: int
    case: str
    half: str
    people: bool
    today: bool
    votes: Mapping[str, float]

    @property
    def name(self) -> str:
        """What the output is called as a case of the tryout."""
        return f"{self.case}@{self.index}"


class TriedJudge(Record, frozen=True):
    """A judge under a metric, whose variants are tried.

    Attributes:
        metric: The metric.
        model: The judge, as its answers in the run named it.
        per_verdict_usd: What one verdict of it cost; None where that is not known.
        items: The labelled outputs, in the run's order.
    """

    metric: str
    model: str
    per_verdict_usd: float | None
    items: tuple[TriedItem, ...]


class TryoutRecord(Record, frozen=True):
    """What a tryout is of.

    Attributes:
        run: The id of the run whose labels are used.
        seed: Divides the outputs into halves.
        variants: What each variant changes; see `JudgeVariant.summary`.
        judges: Whose variants are tried.
    """

    run: str
    seed: int
    variants: tuple[Mapping[str, Any], ...]
    judges: tuple[TriedJudge, ...]

    @property
    def names(self) -> Sequence[str]:
        """The names of the variants, in their order."""
        return [str(variant["name"]) for variant in self.variants]

    def row(self) -> dict[str, Any]:
        """The record as the plan of a tryout keeps it."""
        return {KEY: cast("dict[str, Any]", msgspec.to_builtins(asdict(self)))}


def record_of(meta: RunMeta) -> TryoutRecord:
    """The record in a tryout's own file."""
    return msgspec.convert(meta.config[KEY], TryoutRecord)
