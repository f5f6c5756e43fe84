"""A part of a suite's cases that was drawn and run, and what the baseline says of those that were not."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evenhand.analysis.comparison.case_changes import CasePairs
from evenhand.analysis.comparison.case_values import Seen
from evenhand.core.json_shapes import is_mapping
from evenhand.core.run import RunMeta
from evenhand.stats.control_variates import Adjusted, Ran, Unit, adjusted_differences
from evenhand.stats.extremes import Extremes, certain
from evenhand.stats.paired_difference import Alone, Differences
from evenhand.stats.tallies import OpenNumber

Earlier = Callable[[str, str], Sequence[float | None]]
"""What each earlier system scored in a metric, for a case by its id."""


def nothing_earlier(metric: str, case: str) -> Sequence[float | None]:
    """No earlier system is known."""
    del metric, case
    return ()


@dataclass(frozen=True, kw_only=True)
class DrawnPart:
    """The part of a suite that was run. Its units are cases, or cases that belong together.

    Attributes:
        unit_of: The number of a case's unit; None for a case that is not in the suite.
        units: How many units the suite has.
        chances: How likely each unit that was run was to be drawn: those with the numbers 0, 1 and so on.
        earlier: What earlier systems scored.
    """

    unit_of: Callable[[str], int | None]
    units: int
    chances: Sequence[float]
    earlier: Earlier = nothing_earlier

    @property
    def whole(self) -> bool:
        """Whether all units were run: nothing is left to predict."""
        return len(self.chances) >= self.units

    @property
    def alike(self) -> bool:
        """Whether all units that were run were as likely to be drawn."""
        return len(set(self.chances)) <= 1

    def leaves_out(self, case: str) -> bool:
        """Whether a case is in the suite, and was not drawn."""
        number = self.unit_of(case)
        return number is not None and number >= len(self.chances)


def drawn_of(meta: RunMeta, mine: Seen, theirs: Seen, earlier: Earlier) -> DrawnPart | None:
    """The part of a first column's cases that a second was to run, as its run says.

    Args:
        meta: What the second's run file says of it.
        earlier: What earlier systems scored on the first's cases.

    Returns:
        None where it isn't the whole run of a sample of just these cases, or cases belong together: which of
        them were drawn together isn't known then.
    """
    of = meta.decided.get("of")
    if not meta.is_sample or of != len(mine.cases) or mine.clusters or theirs.clusters:
        return None
    if not theirs.cases or any(number not in mine.cases for number in theirs.cases):
        return None
    ids = mine.cases.ids
    places = {ids[number]: place for place, number in enumerate(theirs.cases)}
    others = (ids[number] for number in mine.cases if number not in theirs.cases)
    places |= {case: len(theirs.cases) + place for place, case in enumerate(others)}
    share = len(theirs.cases) / len(mine.cases)
    table = meta.decided.get("chances")
    known = table if is_mapping(table) else {}
    chances = [
        float(chance) if isinstance(chance := known.get(ids[number]), float) else share
        for number in theirs.cases
    ]
    return DrawnPart(unit_of=places.get, units=len(places), chances=chances, earlier=earlier)


@dataclass(frozen=True)
class Prediction:
    """A metric's differences over the whole suite.

    Attributes:
        data: The adjusted differences, one for each unit that was run.
        cases: How many cases were not run, and are predicted.
        helped: The share of the spread that the earlier runs explain, 0 to 1.
    """

    data: Extremes
    cases: int
    helped: float


def predicted(
    metric: str, mine: Seen, pairs: CasePairs, scale: OpenNumber, drawn: DrawnPart, *, rates: bool
) -> Prediction | None:
    """A metric's differences over the suite, from those of the cases that were drawn.

    Args:
        mine: The baseline's column: all of its cases.
        scale: The lowest and the highest value there can be.
        rates: Whether the values are pass rates.

    Returns:
        None where nothing can be predicted: all was run, too few were, or a case that was drawn has no value, so that
        those without one among the others are not known either. The plain differences hold then, for cases like these.
    """
    if drawn.whole:
        return None
    first, second = pairs.means()
    place_of = {number: place for place, number in enumerate(pairs.numbers)}
    members: dict[int, list[int]] = {}
    before: dict[int, OpenNumber] = {}
    for number in mine.cases:
        unit = drawn.unit_of(mine.cases.ids[number])
        mean = mine.value(metric, number).mean(scale) if unit is not None else None
        if unit is None or mean is None:
            continue
        if unit < len(drawn.chances) and number not in place_of:
            return None
        members.setdefault(unit, []).append(number)
        # What was compared: a case that was taken from the baseline differs by nothing from itself.
        place = place_of.get(number) if unit < len(drawn.chances) else None
        before[number] = mean if place is None else OpenNumber(first[0][place], first[1][place])
    suite: list[Unit] = []
    run: list[Ran] = []
    sizes: list[int] = []
    for unit, numbers in members.items():
        earlier = [drawn.earlier(metric, mine.cases.ids[number]) for number in numbers]
        suite.append(
            Unit(
                math.fsum(before[n].least for n in numbers) / len(numbers),
                math.fsum(before[n].most for n in numbers) / len(numbers),
                means_of_cases(earlier),
            )
        )
        if unit < len(drawn.chances):
            places = [place_of[number] for number in numbers]
            least, most = (math.fsum(end[p] for p in places) / len(places) for end in second)
            run.append(Ran(len(suite) - 1, least, most, drawn.chances[unit]))
            sizes.append(len(numbers))
    adjusted = adjusted_differences(suite, run, (scale.least, scale.most))
    if not adjusted.fitted:
        return None
    missing = sum(len(numbers) for unit, numbers in members.items() if unit >= len(drawn.chances))
    return Prediction(_data(adjusted, sizes, drawn, rates=rates), missing, adjusted.helped)


def weighted(
    mine: Seen, pairs: CasePairs, scale: OpenNumber, drawn: DrawnPart, *, rates: bool
) -> Extremes:
    """The plain differences of cases some of which were likelier to be drawn, each with its weight.

    Args:
        mine: The baseline's column.
        scale: The lowest and the highest value there can be.
        rates: Whether the values are pass rates.
    """
    first, second = pairs.means()
    members: dict[int, list[int]] = {}
    for place, number in enumerate(pairs.numbers):
        unit = drawn.unit_of(mine.cases.ids[number])
        if unit is not None and unit < len(drawn.chances):
            members.setdefault(unit, []).append(place)
    suite: list[Unit] = []
    run: list[Ran] = []
    for unit, places in members.items():
        ends = (*first, *second)
        means = [math.fsum(end[p] for p in places) / len(places) for end in ends]
        run.append(Ran(len(suite), means[2], means[3], drawn.chances[unit]))
        suite.append(Unit(means[0], means[1]))
    sizes = [len(places) for places in members.values()]
    adjusted = adjusted_differences(suite, run, (scale.least, scale.most))
    return _data(adjusted, sizes, drawn, rates=rates)


def _data(adjusted: Adjusted, sizes: Sequence[int], drawn: DrawnPart, *, rates: bool) -> Extremes:
    """The differences of units of so many cases, as a comparison has them."""
    weights = None if drawn.alike else adjusted.weights

    def differences(values: Sequence[float]) -> Differences:
        # A unit's cases each get its difference: it counts once, and they are all counted.
        clusters: Sequence[Sequence[float]] = (
            Alone(array("d", values))
            if max(sizes, default=1) == 1
            else [(value,) * size for value, size in zip(values, sizes, strict=True)]
        )
        return Differences(clusters, rates, 1.0, adjusted.scale, weights=weights)

    least = differences(adjusted.least)
    if adjusted.least == adjusted.most:
        return certain(least)
    return Extremes(least, differences(adjusted.most))


def means_of_cases(earlier: Sequence[Sequence[float | None]]) -> tuple[float | None, ...]:
    """What each earlier system scored on a unit: the mean over its cases that say something."""
    if len(earlier) == 1:
        return tuple(earlier[0])
    systems = max(map(len, earlier))
    means: list[float | None] = []
    for i in range(systems):
        known = [v for values in earlier if i < len(values) and (v := values[i]) is not None]
        means.append(math.fsum(known) / len(known) if known else None)
    return tuple(means)
