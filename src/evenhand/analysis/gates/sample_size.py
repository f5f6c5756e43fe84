"""How many of a baseline's cases a gate has to run, so that a system that didn't change passes four times in five.

How this works: one repeat of the baseline plays the run of an unchanged system, and the others are its baseline. A
part of the cases is drawn from it and compared as a gate compares it. That shows how far below its estimate the lower
limit is. The estimate itself varies by about 0; the limit stays within the margin four times in five where it is so
far from the margin as the estimate strays four times in five.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec.structs import replace

from evenhand.analysis.comparison.case_values import PASSED, Scales
from evenhand.analysis.comparison.drawn_part import DrawnPart
from evenhand.analysis.gates.baseline import Baseline, result_of
from evenhand.analysis.gates.gate_comparison import GateSides
from evenhand.analysis.gates.gate_rule import ONE_SIDED
from evenhand.analysis.trust.power_document import PowerSample
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.stats.control_variates import FEWEST
from evenhand.stats.interval import z_of
from evenhand.stats.power import POWER
from evenhand.store.encoding import written_case
from evenhand.store.groups import Groups
from evenhand.store.runfile import RunFile

_MOST = 4
"""So many repeats play the run, one after another."""
_STRAYS = 1 + z_of(2 * POWER - 1) / z_of(ONE_SIDED)
"""How many times as far as the limit is from its estimate the margin has to be."""


def sample_size(baseline: Baseline, run: RunFile, margin: float) -> PowerSample:
    """The cases that a gate has to run, once each, to pass an unchanged system four times in five.

    Args:
        baseline: Of several runs of one system, or of a run with repeats.
        run: A run of what the gate runs: its variants, and which cases belong together.
        margin: How much lower a pass rate the gate accepts, from 0 to 1.

    Returns:
        That of the variant that takes most. Without a number of cases where not even all of them are enough.

    Raises:
        UsageError: The baseline has one result for each case, or too few cases, or nothing in common with the run.
    """
    rehearsals = [*_rehearsals(baseline, run)]
    if not rehearsals:
        raise UsageError(
            "the baseline says nothing of how often a case comes out otherwise: it has one result for each",
            hint="Make it of several runs of the same system: evenhand baseline --of 3.",
        )
    most = max(len(one.units) for one in rehearsals)
    if most < FEWEST:
        raise UsageError(
            f"a gate predicts nothing from fewer than {FEWEST} cases, and the baseline has {most}",
            hint="Run all of them.",
        )
    by_variant: dict[int, list[_Rehearsal]] = {}
    for one in rehearsals:
        by_variant.setdefault(one.variant.index, []).append(one)
    least_margin, hardest = max(
        (_margin_of(each, most), place) for place, each in by_variant.items()
    )
    of = len(by_variant[hardest][0].trials)
    if least_margin > margin:
        return PowerSample(cases=None, of=of, margin=margin, least_margin=least_margin)
    share, of = max(
        (_fewest(each, margin) / len(each[0].units), len(each[0].trials))
        for each in by_variant.values()
    )
    return PowerSample(cases=math.ceil(share * of), of=of, margin=margin, least_margin=least_margin)


@dataclass(frozen=True, kw_only=True)
class _Rehearsal:
    """A repeat of the baseline in the part of a run.

    Attributes:
        sides: The other repeats.
        trials: By case the trial of this repeat.
        units: The cases, those together that belong together, in a random order.
    """

    variant: Variant
    sides: GateSides
    trials: Mapping[str, TrialResult]
    units: Sequence[Sequence[str]]
    scales: Scales

    def reach(self, count: int) -> float:
        """How far below its estimate the gate's lower limit is, with so many units run."""
        numbers = {case: number for number, unit in enumerate(self.units) for case in unit}
        every = len(self.units)
        part = DrawnPart(unit_of=numbers.get, units=every, chances=[count / every] * count)
        trials = [self.trials[case] for unit in self.units[:count] for case in unit]
        place = self.variant.index
        theirs = self.sides.read(trials, self.scales)
        for of, result in self.sides.compared(theirs, [""] * (place + 1), drawn=part):
            mean = result.compared.data.mean if of == place and result.compared else None
            if mean is not None and result.compared is not None:
                return mean.most - result.compared.data.interval(ONE_SIDED)[0]
        return 1.0


def _rehearsals(baseline: Baseline, run: RunFile) -> Iterator[_Rehearsal]:
    """Each of the last repeats as a run, in each variant that the baseline and the run have.

    The first repeat stays in the baseline: its trials say what earlier systems scored.
    """
    groups = run.groups(copies=True)
    for repeat in [one for one in sorted({t.repeat for t in baseline.trials}) if one][-_MOST:]:
        others = replace(baseline, trials=[t for t in baseline.trials if t.repeat != repeat])
        sides = GateSides(others, run.meta.variants, metrics=(PASSED,))
        for i, j in sides.pairs:
            variant, name = run.meta.variants[j], baseline.header.variants[i].name
            trials = {
                one.case: _clustered(result_of(one, place, j), variant, groups[j])
                for place, one in enumerate(baseline.trials)
                if (one.repeat, one.variant) == (repeat, name)
            }
            if trials:
                units = _units(sorted(trials), groups[j], repeat)
                yield _Rehearsal(
                    variant=variant,
                    sides=sides,
                    trials=trials,
                    units=units,
                    scales={(j, m): ends for (v, m), ends in baseline.scales.items() if v == i},
                )


def _clustered(trial: TrialResult, variant: Variant, groups: Groups) -> TrialResult:
    """The trial with what its case belongs to in the run. A baseline doesn't say."""
    trial = replace(trial, repeat=0)
    group = groups.get(written_case(trial.case)) if variant.cluster else None
    return trial if group is None else replace(trial, metadata={variant.cluster: group})


def _units(cases: Iterable[str], groups: Groups, seed: int) -> list[list[str]]:
    """The cases, those together that belong together, in an order drawn at random."""
    units: dict[int | str, list[str]] = {}
    for case in cases:
        units.setdefault(groups.get(written_case(case), case), []).append(case)
    order = list(units.values())
    random.Random(seed).shuffle(order)  # noqa: S311 (which cases play a run is no secret)
    return order


def _margin_of(rehearsals: Sequence[_Rehearsal], count: int) -> float:
    """The smallest margin with which so many units pass an unchanged system four times in five."""
    return _STRAYS * fmean(one.reach(min(count, len(one.units))) for one in rehearsals)


def _fewest(rehearsals: Sequence[_Rehearsal], margin: float) -> int:
    """The fewest units that pass it with this margin, by bisection: more of them only ever help."""
    low, high = FEWEST, len(rehearsals[0].units)
    while low < high:
        middle = (low + high) // 2
        if _margin_of(rehearsals, middle) <= margin:
            high = middle
        else:
            low = middle + 1
    return high
