"""Deals a plan out to shards.

How this works: a plan is dealt out in units, one to each shard in turn. A unit is a case with all its variants and
repeats. Where trials come after those of another case (the turns of a conversation), the units that these belong to
are one. So what is compared, and what waits for something else, is never torn apart. Every shard walks the whole plan
to find its part, and all of them find the same parts.
"""

from __future__ import annotations

from array import array

from evenhand.core.errors import NothingSelected
from evenhand.core.plan import Plan
from evenhand.core.shard import Shard


class Part:
    """The places in the plan that a shard has."""

    def __init__(self, plan: Plan, shard: Shard) -> None:
        self.shard = shard
        self._units, self._owners, self.cases = _dealt(plan, shard)
        self.size = sum(1 for unit in self._units if self._owners[unit])

    def __contains__(self, index: int) -> bool:
        return bool(self._owners[self._units[index]])


def _dealt(plan: Plan, shard: Shard) -> tuple[array[int], bytearray, int]:
    """The unit of each trial, whether each unit is the shard's, and how many cases are; raises UsageError."""
    units, joined = array("I"), dict[int, int]()
    near: dict[str, int] = {}  # the units of the cases of a row: with repeats they come again
    count, repeated, last, once = 0, False, "", plan.repeats == 1

    def root(unit: int) -> int:
        while unit in joined:
            unit = joined[unit]
        return unit

    for planned in plan.trials():
        case = planned.case.id
        if case != last and ((repeated and not planned.repeat) or once):
            near.clear()
        last, repeated = case, planned.repeat > 0
        unit = near.get(case)
        if unit is None:
            unit = near[case] = count
            count += 1
        units.append(unit)
        for other in planned.after:
            # The earlier unit is the root, so it has its shard before those that are joined to it ask for theirs.
            first, second = sorted((root(units[other]), root(unit)))
            if first != second:
                joined[second] = first
    owners, turn, cases = bytearray(count), 0, 0
    for unit in range(count):
        if unit in joined:
            owners[unit] = owners[root(unit)]
        else:
            owners[unit] = turn % shard.count == shard.number - 1
            turn += 1
        cases += owners[unit]
    return units, owners, cases


def look_at_part(plan: Plan, part: Part) -> None:
    """Refuses a shard without a trial, before there is a run.

    Raises:
        NothingSelected: There are more shards than cases.
    """
    if not part.size:
        raise NothingSelected(
            f"shard {part.shard} has no case: {plan.title} has {plan.case_count:,}",
            hint="Make no more shards than there are cases; the others have all trials.",
        )
