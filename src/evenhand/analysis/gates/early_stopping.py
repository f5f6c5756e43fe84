"""Runs a gate's cases in an order drawn beforehand, and ends it with a part of them, or as soon as it is decided.

It implements `evenhand.engine.session.Decider`. What was run is compared as a whole run is; the cases that were not run
are predicted from the baseline and from earlier runs (`control_variates`). Where it is to end as soon as it is decided,
that is looked at after each tenth of the cases, at levels that come to 5 % together (`look_levels`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import UNSET

from evenhand.analysis.comparison.case_values import PASSED, Seen
from evenhand.analysis.comparison.drawn_part import DrawnPart
from evenhand.analysis.gates.baseline import Baseline
from evenhand.analysis.gates.case_order import CaseOrder
from evenhand.analysis.gates.gate_comparison import GateSides, expecting, judged
from evenhand.analysis.gates.gate_results import GateResult, GateVerdict, Stopping
from evenhand.analysis.summaries.rates import known_scale
from evenhand.core.document import as_object
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.run import Decided, TrialResult
from evenhand.core.score import Scale
from evenhand.core.wording.words import clip, count, safe
from evenhand.stats.looks import look_levels
from evenhand.stats.paired_difference import FEWEST, LEVEL
from evenhand.store.measured import LOWER

LOOKS = 10
"""So often it is looked at, at most."""
FEW = 100
"""With fewer cases, little is saved by looking early."""
LEAST_CHANCE = 0.25
"""How likely a case is to be drawn at the least, as a multiple of what it would be were all alike."""


class GateDecider:
    """Decides a gate.

    Args:
        margin: How much worse is accepted, in the metrics' unit.
        metrics: What is compared; with none, all that the baseline has.
        lower: The metrics of which less is better, where their bounds do not say so.
        seed: Of the order of the cases.
        sample: Run so many cases, and predict the others; None for all.
        stops: Whether it ends as soon as it is decided.
        by_flips: Whether cases that came out both ways in earlier runs are likelier to be drawn.

    Raises:
        UsageError: The cases depend on one another.
    """

    def __init__(
        self,
        baseline: Baseline,
        plan: Plan,
        margin: float,
        *,
        metrics: Sequence[str] = (),
        lower: Collection[str] = (),
        seed: int = 0,
        sample: int | None = None,
        stops: bool = True,
        by_flips: bool = False,
    ) -> None:
        self._sides = GateSides(baseline, plan.variants, metrics=metrics, lower=lower)
        shares = baseline_shares(baseline)
        option = "--sample" if sample is not None else "--stop-when-decided"
        self._order = CaseOrder(
            plan,
            seed,
            option=option,
            together=True,
            strata=None
            if by_flips
            else {case: round(share[0], 1) for case, share in shares.items()},
            sizes=_sizes(shares) if by_flips else None,
            clusters=self._sides.clusters,
        )
        self.seed = seed
        self.by_flips = by_flips
        self._margin = margin
        self._stops = stops
        self._names = [str(variant) for variant in plan.variants]
        self._sample = sample
        self._count = units_of(self._order, sample)
        self.sampled = self._count < len(self._order.units)
        self._looks = _looks(self._count) if stops else [self._count]
        levels = look_levels([n / self._count for n in self._looks], LEVEL)
        self._levels = dict(zip(self._looks, levels, strict=True))
        self._held = _held(self._sides, margin, metrics)
        self._results: list[TrialResult] = []
        self._word: GateVerdict | None = None
        self._decided_at: int | None = None
        self._cases_then = 0

    @property
    def hints(self) -> list[str]:
        """What to know before it runs: why running less can save little or nothing, a line each."""
        of = len(self._order.cases)
        if self._sample is not None and not self.sampled:
            return [
                f"a sample of {self._sample:,}: there are {count(of, 'case')} in all, and all are run"
            ]
        if not self._stops:
            return []
        if self._held:
            names = ", ".join(clip(safe(name), 40) for name in self._held[:3])
            more = f" and {len(self._held) - 3:,} more" if len(self._held) > 3 else ""
            what = "can only be decided by all cases, as the scale is not known"
            return [f"stopping early: {names}{more} {what}; `--metric {PASSED}` leaves it out"]
        if of < FEW:
            return [
                f"stopping early: {count(of, 'case')} leave little to save: only a large drop shows before the end"
            ]
        return []

    def arranged(self, planned_trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
        """The trials in the order in which they are run; of a sample no others."""
        return self._order.arranged(planned_trials, self._count)

    def add(self, result: TrialResult) -> None:
        """Takes in the result of a trial."""
        for trials in self._order.add(result):
            # What was decided once stays decided, whatever the trials in flight still come to.
            if self._decided_at is not None:
                continue
            self._results += map(slim, trials)
            units = self._order.units_in
            if units in self._levels and (self._stops or units == self._count):
                self._look(units)

    def _look(self, units: int) -> None:
        """Compares what is there, and ends the run where that decides it, or nothing more is to be run."""
        word = self._verdict(units) if self._stops else None
        if word is None and not (self.sampled and units == self._count):
            return
        self._word, self._decided_at = word, units
        self._cases_then = self._order.taken_in
        self._results = []

    def _verdict(self, units: int) -> GateVerdict | None:
        drawn = self._part(units)
        scales = {
            (j, metric): scale
            for i, j in self._sides.pairs
            for metric, scale in self._sides.mine[i].scales.items()
        }
        theirs = self._sides.read(self._results, scales)
        compared = self._sides.compared(theirs, self._names, drawn=drawn)
        results = list(judged([one for _, one in compared], self._margin, self._levels[units]))
        early = [one for one in results if not self._holds(one)]
        if any(one.verdict == "worse" for one in early):
            return "worse"
        if results and len(early) == len(results):
            words = {one.verdict for one in early}
            return "not worse" if words <= {"not worse", "better"} else None
        return None

    def _holds(self, result: GateResult) -> bool:
        """Whether nothing is said of this metric before the last case."""
        compared = result.compared
        if compared is not None and compared.data.unscaled and result.metric not in self._held:
            self._held.append(result.metric)  # a value off the scale that was declared
        return result.metric in self._held

    @property
    def decided(self) -> str:
        """What is decided, in words; empty as long as nothing is."""
        if self._decided_at is None:
            return ""
        far = f"stopped after {self._cases_then:,} of {count(len(self._order.cases), 'case')}"
        far += f": {self._word}" if self._word else ", as many as were to be run"
        if not self.by_flips:
            return far
        # Neither counts nor intervals of the run itself weight them.
        return f"{far}. More of those that came out both ways before were drawn: its rates are not those of all cases"

    def record(self) -> Mapping[str, Any]:
        """What is decided, for the run's file."""
        return as_object(
            Decided(
                verdict=self._word,
                cases=self._order.taken_in if self._decided_at is None else self._cases_then,
                of=len(self._order.cases),
                seed=self.seed,
                alpha=LEVEL,
                chances=self._chances() if self.by_flips else UNSET,
            )
        )

    def _chances(self) -> dict[str, float]:
        """How likely each case that was run was to be drawn, by its id."""
        units = self._order.units_in if self._decided_at is None else self._decided_at
        return {
            case: round(chance, 6)
            for unit, chance in zip(self._order.units, self._order.chances(units), strict=False)
            for case in unit
        }

    def stopping(self, *, stopped: bool) -> Stopping:
        """What became of it, for the report.

        Args:
            stopped: Whether the run ended before its last case.
        """
        return Stopping(
            stopped=stopped,
            cases=self._cases_then if stopped else self._order.taken_in,
            of=len(self._order.cases),
            seed=self.seed,
            open=tuple(self._held),
            sampled=self.sampled,
            looks=len(self._looks) if self._stops else 0,
        )

    def counts(self, case: str) -> bool:
        """Whether a case was looked at, or is none of the plan's."""
        unit = self._order.unit_of(case)
        return unit is None or self._decided_at is None or unit < self._decided_at

    @property
    def drawn(self) -> DrawnPart:
        """The part of the cases that the verdict rests on."""
        return self._part(self._decided_at or self._order.units_in)

    def _part(self, units: int) -> DrawnPart:
        order = self._order
        return DrawnPart(
            unit_of=order.unit_of, units=len(order.units), chances=order.chances(units)
        )

    def level(self, *, run_whole: bool) -> float:
        """The level at which the run is judged that was looked at so far.

        Args:
            run_whole: Whether it came to its end without being decided.
        """
        if self._decided_at is None or run_whole:
            return self._levels[self._count]
        return self._levels[self._decided_at]

    def level_of(self, units: int) -> float:
        """The level of the last look at a run of so many units, which is looked at as this one is."""
        looks = _looks(units) if self._stops else [units]
        return look_levels([n / units for n in looks], LEVEL)[-1]


def slim(trial: TrialResult) -> TrialResult:
    """A trial without its texts: what a comparison reads of it."""
    outcomes = tuple(replace(one, reason="") for one in trial.outcomes)
    return replace(trial, output=None, reason="", outcomes=outcomes)


def _looks(units: int) -> list[int]:
    """After how many units it is looked at: after each tenth, where that is no less than FEWEST."""
    looks = {math.ceil(units * k / LOOKS) for k in range(1, LOOKS)}
    return [*sorted(n for n in looks if FEWEST <= n < units), units]


def units_of(order: CaseOrder, sample: int | None) -> int:
    """How many units make up so many cases."""
    if sample is None:
        return len(order.units)
    cases = 0
    for number, unit in enumerate(order.units, 1):
        cases += len(unit)
        if cases >= sample:
            return number
    return len(order.units)


def baseline_shares(baseline: Baseline) -> dict[str, tuple[float, int]]:
    """For each case of the baseline the share of its trials that passed, in all variants, and how many there are."""
    outcomes: dict[str, list[bool]] = {}
    for trial in map(expecting, baseline.results()):
        if trial.outcome in ("pass", "fail"):
            outcomes.setdefault(trial.case, []).append(trial.outcome == "pass")
    return {case: (sum(each) / len(each), len(each)) for case, each in outcomes.items()}


def _sizes(shares: Mapping[str, tuple[float, int]]) -> dict[str, float]:
    """How likely each case is to be drawn, as a multiple of what it would be were all alike; at least LEAST_CHANCE.

    Cases that came out both ways are likelier, as the deviation of their outcome is larger.

    Source: the allocation of Neyman, J. R. Stat. Soc. 97 (1934), 558–625, with a floor.
    """
    if not shares:
        return {}
    deviations: dict[str, float] = {}
    for case, (share, n) in shares.items():
        smoothed = (share * n + 0.5) / (n + 1)
        deviations[case] = math.sqrt(smoothed * (1 - smoothed))
    mean = math.fsum(deviations.values()) / len(deviations)
    return {
        case: LEAST_CHANCE + (1 - LEAST_CHANCE) * deviation / mean
        for case, deviation in deviations.items()
    }


def _held(sides: GateSides, margin: float, metrics: Sequence[str]) -> list[str]:
    """The metrics of which nothing is said before the last case: nobody knows their scale, or the margin is none."""
    held: dict[str, None] = {}
    for column in sides.mine.values():
        for metric in metrics or column.metrics:
            if metric in column.metrics and not 0 < margin < _reach(column, metric):
                held[metric] = None
    return list(held)


def _reach(column: Seen, metric: str) -> float:
    """How far apart two values of a metric can be; 0 where nobody knows."""
    if metric == PASSED:
        return 1.0
    values = list(column.metrics[metric].values())
    declared = column.scales.get(metric)
    scale: Scale | None = known_scale(declared, min(values), max(values)) if values else declared
    return scale[1] - scale[0] if scale and metric not in LOWER else 0.0
