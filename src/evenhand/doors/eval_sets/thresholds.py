"""The bounds that a project sets for metrics, for expectations that have none of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import field

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.traits import label_of, traits_of
from evenhand.scorers.metric import Metric, own_metric

Bounds = tuple[float | None, float | None]
"""What a number has to reach, and what it may not pass."""


class Thresholds(Record, frozen=True):
    """Bounds by the names of metrics, as reports have them: `faithfulness`, `nDCG@10`, `rating:clarity`."""

    by_name: Mapping[str, float] = field(default_factory=dict[str, float])

    def bounds(self, scorer: object, metric: str = "") -> Bounds:
        """The bounds for what a scorer measures; none where the project says nothing of it.

        Args:
            metric: The name under which the number is counted; it goes before the scorer's own.
        """
        if not self.by_name or isinstance(scorer, type):
            return None, None
        traits = traits_of(scorer)
        if traits.gives != "number":
            return None, None
        own = label_of(scorer)  # `rating clarity` is written `rating:clarity`, too
        for name in (metric, own, own.replace(" ", ":")):
            if name in self.by_name:
                best = "low" if traits.lower_is_better else _best(own)
                value = self.by_name[name]
                return (None, value) if best == "low" else (value, None)
        return None, None

    def of(self, metrics: Iterable[Metric]) -> tuple[dict[str, float], dict[str, float]]:
        """The least and the most of these metrics, by name, as far as the project says them."""
        there = {one.name: one.best for one in metrics if one.name in self.by_name}
        least = {name: self.by_name[name] for name, best in there.items() if best != "low"}
        most = {name: self.by_name[name] for name, best in there.items() if best == "low"}
        return least, most


def _best(name: str) -> str:
    try:
        known = own_metric(name)
    except UsageError:
        known = None
    # One of the user's own says itself that less is better.
    return "high" if known is None else known.best
