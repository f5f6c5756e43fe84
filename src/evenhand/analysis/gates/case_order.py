"""An order of a plan's cases that is drawn before anything is known of them, and their results in that order.

How this works: cases that belong together, and copies, are one unit; every other case is one by itself. A unit's
place is a hash of the seed and the id of its first case. So the order depends on nothing else, and the same seed gives
the same order in the next session, and in the next run, of which the cache may have answers. With strata, the units of
each are spread evenly over the whole order, so that its first 50, or any other number, are a sample of all strata in
proportion. A unit is complete when all its trials are there, in all variants and repeats; it is handed on when all
before it have been.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from hashlib import blake2b

from evenhand.core.case import copy_key_of
from evenhand.core.errors import UsageError
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.run import TrialResult
from evenhand.core.wording.words import clip, safe
from evenhand.store.groups import cluster_in

_HALF_OF_64 = 0.5


class CaseOrder:
    """The cases of a plan in an order of their own.

    Args:
        plan: It. It is walked once; each of its trials takes some memory from then on.
        option: What asked for it, for messages.
        together: Whether cases that belong together, and copies, are one unit. If not, each case is one.
        strata: For a case what it is like; the first case of a unit speaks for it. Cases that aren't in it are alike.
        clusters: For a variant what says which of its cases belong together, instead of what it says itself.
        sizes: For a case how likely it is to come early, as a multiple of what others are; 1 where it isn't in it.

    Raises:
        UsageError: A case comes after another one, as in a conversation: these have no order but their own. Or cases
            belong together where each has to be a unit.
    """

    def __init__(
        self,
        plan: Plan,
        seed: int,
        *,
        option: str = "--stop-when-decided",
        together: bool = False,
        strata: Mapping[str, Hashable] | None = None,
        sizes: Mapping[str, float] | None = None,
        clusters: Mapping[int, str] | None = None,
    ) -> None:
        self._seed = seed
        missing: dict[str, int] = {}
        of_trials: list[str] = []
        contents: dict[str, str] = {}
        groups = _Groups()
        for planned in plan.trials():
            case = planned.case.id
            key = (clusters or {}).get(planned.variant.index) or planned.variant.cluster
            if key and not together:
                raise UsageError(
                    f"{option}: cases of one {clip(safe(key), 60)} belong together,"
                    " and cases have to be independent of one another",
                    hint=f"Leave {option} out.",
                )
            if case not in contents:
                contents[case] = copy_key_of(planned.case, planned.test)
            if together:
                # Cases of several sets may have one id: they belong to what any of these says.
                cluster = cluster_in(key, planned.case.vars, planned.case.metadata) if key else ""
                content = "" if cluster else copy_key_of(planned.case, planned.test)
                groups.join(case, f"{key}={cluster}" if cluster else content and f"={content}")
            of_trials.append(case)
            missing[case] = missing.get(case, 0) + 1
            # Only trials of the case itself may come before it: other cases are run in another order.
            if any(of_trials[earlier] != case for earlier in planned.after):
                raise UsageError(
                    f"{option}: case {clip(safe(str(planned.case)), 60)} goes on where another one ended,"
                    " and cases have to be independent of one another",
                    hint=f"Leave {option} out.",
                )
        units: dict[str, list[str]] = {}
        for case in missing:
            units.setdefault(groups.of(case), []).append(case)
        self._sizes = sizes or {}
        place = (
            self._even_places(units.values(), strata) if strata else self._places(units.values())
        )
        self.units = tuple(
            tuple(unit) for unit in sorted(units.values(), key=lambda u: place[u[0]])
        )
        """The ids of the cases of each unit, in this order."""
        self.cases = tuple(case for unit in self.units for case in unit)
        """The ids of all cases, in this order."""
        firsts: set[str] = set()
        self.copies = frozenset(
            case
            for case in self.cases
            if contents[case] and (contents[case] in firsts or firsts.add(contents[case]))
        )
        """Those that say the same as one before them, in this order: the first of them counts for all."""
        self.units_in = 0
        """How many units were handed on."""
        self.taken_in = 0
        """How many cases were."""
        self._number = {case: number for number, unit in enumerate(self.units) for case in unit}
        self._missing = [sum(missing[case] for case in unit) for unit in self.units]
        self._waiting: dict[int, list[TrialResult]] = {}

    def unit_of(self, case: str) -> int | None:
        """The place in this order of a case's unit; None where the plan doesn't have it."""
        return self._number.get(case)

    def chances(self, count: int) -> list[float]:
        """How likely each of the first `count` units was to be among them, above 0 and at most 1.

        Source: for sizes that differ, of sequential Poisson sampling: Ohlsson, J. Off. Stat. 14 (1998), 149–162.
        """
        of = len(self.units)
        if not self._sizes or count >= of:
            return [min(1.0, count / of)] * min(count, of)
        sizes = [self._size(unit) for unit in self.units]
        certain: set[int] = set()
        while True:
            total = math.fsum(size for i, size in enumerate(sizes) if i not in certain)
            left = count - len(certain)
            # A unit that would be drawn more than once is drawn for certain, and leaves the rest to the others.
            more = {i for i, size in enumerate(sizes) if i not in certain and left * size >= total}
            if not more:
                return [1.0 if i in certain else left * sizes[i] / total for i in range(count)]
            certain |= more

    def arranged(
        self, planned_trials: Iterable[PlannedTrial], count: int | None = None
    ) -> Iterator[PlannedTrial]:
        """Trials in the order of their units; those of one unit as the plan has them.

        Args:
            planned_trials: They.
            count: Only those of the first so many units; None for all.
        """
        by_unit: dict[int, list[PlannedTrial]] = {}
        for planned in planned_trials:
            by_unit.setdefault(self._number[planned.case.id], []).append(planned)
        for number in sorted(by_unit):
            if count is None or number < count:
                yield from by_unit[number]

    def add(self, result: TrialResult) -> Iterator[list[TrialResult]]:
        """Takes in a result, in whatever order they come, and hands on the results of units that are complete now."""
        number = self._number[result.case]
        self._waiting.setdefault(number, []).append(result)
        self._missing[number] -= 1
        # One result can complete several: those that waited for this unit.
        while self.units_in < len(self.units) and not self._missing[self.units_in]:
            results = self._waiting.pop(self.units_in)
            self.taken_in += len(self.units[self.units_in])
            self.units_in += 1
            yield results

    def _size(self, unit: tuple[str, ...] | list[str]) -> float:
        return sum(self._sizes.get(case, 1.0) for case in unit) / len(unit)

    def _places(self, units: Iterable[list[str]]) -> dict[str, tuple[float, bytes]]:
        """By the first case of each unit its place: a hash, or where sizes differ a random number over its size."""
        if not self._sizes:
            return {unit[0]: (0.0, self._hash(unit[0])) for unit in units}
        return {
            unit[0]: (_share(self._hash(unit[0])) / self._size(unit), self._hash(unit[0]))
            for unit in units
        }

    def _even_places(
        self, units: Iterable[list[str]], strata: Mapping[str, Hashable]
    ) -> dict[str, tuple[float, bytes]]:
        """By the first case of each unit its place, such that each stratum is spread evenly over the order."""
        by_stratum: dict[Hashable, list[str]] = {}
        for unit in units:
            by_stratum.setdefault(strata.get(unit[0]), []).append(unit[0])
        places: dict[str, tuple[float, bytes]] = {}
        for stratum, firsts in by_stratum.items():
            firsts.sort(key=self._hash)
            # A start of its own for each stratum: every unit is nearly as likely to be among the first so many.
            start = _share(self._hash(f"stratum {stratum!r}"))
            for rank, first in enumerate(firsts):
                places[first] = (rank + start) / len(firsts), self._hash(first)
        return places

    def _hash(self, text: str) -> bytes:
        return blake2b(f"{self._seed}\0{text}".encode(errors="surrogatepass")).digest()


class _Groups:
    """Cases that belong together: directly, or by way of others."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._parent: dict[str, str] = {}

    def join(self, case: str, name: str) -> None:
        """Puts a case with those that have this name; an empty one says nothing."""
        mine = self.of(case)
        if name:
            other = self.of(self._first.setdefault(name, case))
            # The earlier case of the plan speaks for both.
            self._parent[mine] = other

    def of(self, case: str) -> str:
        """The case that speaks for this one and those that it belongs to."""
        self._parent.setdefault(case, case)
        while self._parent[case] != case:
            self._parent[case] = self._parent[self._parent[case]]
            case = self._parent[case]
        return case


def _share(hashed: bytes) -> float:
    """A hash as a number above 0 and below 1."""
    return (int.from_bytes(hashed[:8]) + _HALF_OF_64) / 2**64
