"""Decides a gate early: as soon as its cases show that nothing, or something, became worse by more than is accepted.

It implements `evenhand.engine.session.Decider`. Each metric of each variant is watched case by case, in an order drawn
beforehand, at a level of 1.25 %; where nothing is decided before the last case, what all of them say is tested at
3.75 %. So looking after every case costs next to no power, and no more than 5 % of gates are wrong either way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from evenhand.analysis.comparison.case_tests import same_test
from evenhand.analysis.comparison.case_values import (
    LOWER,
    PASSED,
    CaseIds,
    Seen,
    Values,
    read_trials,
)
from evenhand.analysis.comparison.comparison_sides import matched_variants
from evenhand.analysis.gates.baseline import Baseline
from evenhand.analysis.gates.case_order import CaseOrder
from evenhand.analysis.gates.gate_results import GateResult, GateVerdict, Stopping
from evenhand.analysis.summaries.rates import known_scale
from evenhand.core.document import as_object
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.record import MutableRecord
from evenhand.core.run import Decided, TrialResult
from evenhand.core.wording.words import clip, count, safe
from evenhand.stats.sequential import MarginWatch
from evenhand.stats.tallies import OpenNumber

BETS = 0.0125
"""The level of what is said before all cases are there."""
LAST = 0.0375
"""The level of what is said of all of them, where nothing was said before."""
FEW = 200
"""With fewer cases, little is saved."""


class GateDecider:
    """Decides a gate.

    Args:
        baseline: What is compared with.
        plan: What is run.
        margin: How much worse is accepted, in the metrics' unit.
        metrics: What is compared; with none, all that the baseline has.
        lower: The metrics of which less is better, where their bounds do not say so.
        seed: Of the order of the cases.

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
    ) -> None:
        self._order = CaseOrder(plan, seed)
        self.seed = seed
        pairs, _, _ = matched_variants(baseline.variants, plan.variants)
        self._planned = frozenset(self._order.cases)
        results = map(expecting, baseline.results())
        trials = [trial for trial in results if trial.case in self._planned]
        columns = {i for i, _ in pairs}
        self._mine = read_trials(trials, columns, metrics, ids=CaseIds(), scales=baseline.scales)
        self._metrics = metrics
        self._counted: set[str] = set()
        self._watched = [
            _watched(metric, i, j, self._mine[i], margin, less=metric in lower)
            for i, j in pairs
            for metric in _with_values(self._mine[i])
        ]
        self._places = {j for _, j in pairs}
        self._word: GateVerdict | None = None

    @property
    def hint(self) -> str:
        """Why stopping early can save little or nothing, in words; empty where there is nothing to say."""
        of = len(self._order.cases)
        held = list(dict.fromkeys(one.metric for one in self._watched if one.watch is None))
        if held:
            names = ", ".join(clip(safe(name), 40) for name in held[:3])
            more = f" and {len(held) - 3:,} more" if len(held) > 3 else ""
            return (
                f"stopping early: {names}{more} can only be decided by all cases, as the scale is not known;"
                f" `--metric {PASSED}` leaves it out"
            )
        if of < FEW:
            return f"stopping early: {count(of, 'case')} leave little to save: only a large drop shows before the end"
        return ""

    def arranged(self, planned_trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
        """The trials in the order in which they are run."""
        return self._order.arranged(planned_trials)

    def add(self, result: TrialResult) -> None:
        """Takes in the result of a trial."""
        for trials in self._order.add(result):
            theirs = read_trials(
                map(expecting, trials), self._places, self._metrics, ids=CaseIds(), scales={}
            )
            case = trials[0].case
            # Copies say nothing new: counted again, they would make it look surer than it is.
            if case in self._order.copies:
                continue
            self._counted.add(case)
            for one in self._watched:
                mine, now = self._mine[one.first], theirs[one.second]
                before, after = mine.find(one.metric, case), now.find(one.metric, case)
                if before is not None and after is not None and _alike(mine, now, case):
                    one.add(before, after)
            # What was decided once stays decided, whatever the trials in flight still come to.
            self._word = self._word or self._verdict()

    @property
    def decided(self) -> str:
        """What is decided, in words; empty as long as nothing is."""
        if self._word is None:
            return ""
        done, of = self._order.taken_in, len(self._order.cases)
        return f"stopped after {done:,} of {count(of, 'case')}: {self._word}"

    def record(self) -> Mapping[str, Any]:
        """What is decided, for the run's file."""
        return as_object(
            Decided(
                verdict=self._word,
                cases=self._order.taken_in,
                of=len(self._order.cases),
                seed=self.seed,
                alpha=BETS,
            )
        )

    def stopping(self, *, stopped: bool) -> Stopping:
        """What became of it, for the report.

        Args:
            stopped: Whether the run ended before its last case.
        """
        return Stopping(
            stopped=stopped,
            cases=self._order.taken_in,
            of=len(self._order.cases),
            seed=self.seed,
            open=tuple(dict.fromkeys(one.metric for one in self._watched if one.watch is None)),
        )

    def counts(self, case: str) -> bool:
        """Whether a case was looked at, or is none of the plan's."""
        return case in self._counted or case not in self._planned

    def judged(self, result: GateResult, first: int, second: int) -> GateResult:
        """A result of the cases so far with its verdict, and with limits that hold however often one looked.

        Args:
            result: What was compared of these cases.
            first: The baseline's variant.
            second: The plan's.
        """
        places = (result.metric, first, second)
        one = next(
            (w for w in self._watched if (w.metric, w.first, w.second) == places and w.watch), None
        )
        if one is None or one.watch is None or result.compared is None:
            return result
        low, high = (end * one.reach for end in one.watch.interval())
        verdict: GateVerdict = "undecided"
        if one.decides("worse", len(self._watched)):
            verdict = "worse"
        elif one.decides("not worse"):
            verdict = "better" if low > 0 else "not worse"
        # The watch has everything turned so that more is better: turned back for the report.
        if one.lower:
            low, high = -high, -low
        compared = replace(result.compared, low=low, high=high)
        at_worst = -one.watch.at_worst() * one.reach
        return replace(result, verdict=verdict, compared=compared, at_worst=at_worst)

    def _verdict(self) -> GateVerdict | None:
        if any(one.decides("worse", len(self._watched)) for one in self._watched):
            return "worse"
        if self._watched and all(one.decides("not worse") for one in self._watched):
            return "not worse"
        return None


class _Watched(MutableRecord, kw_only=True):
    """A metric of a pair of variants.

    Attributes:
        first: The baseline's variant.
        second: The plan's.
        metric: Its name.
        lower: Whether less of it is better.
        scale: The lowest and the highest value there can be.
        watch: Its cases; None where nothing can be said before all of them are there.
    """

    first: int
    second: int
    metric: str
    lower: bool
    scale: OpenNumber | None
    watch: MarginWatch | None

    @property
    def reach(self) -> float:
        """How far apart two values can be."""
        return self.scale.most - self.scale.least if self.scale else 0.0

    def add(self, before: Values, after: Values) -> None:
        """Takes in a case that both have."""
        one, two = before.mean(self.scale), after.mean(self.scale)
        if self.watch is None or one is None or two is None:
            return
        least, most = (two.least - one.most) / self.reach, (two.most - one.least) / self.reach
        if self.lower:
            least, most = -most, -least
        if least < -1 or most > 1:  # off the scale that was declared: it is not known after all
            self.watch = None
            return
        self.watch.add(least, most)

    def decides(self, word: Literal["not worse", "worse"], of: int = 1) -> bool:
        """Whether this is shown; see `MarginWatch.decides`."""
        return self.watch is not None and self.watch.decides(word, of)


def _alike(mine: Seen, theirs: Seen, case: str) -> bool:
    """Whether a case says and is asked the same in both, as far as one case shows it: others decide nothing early."""
    places = (side.cases.place_of(side.cases.ids.number(case)) for side in (mine, theirs))
    one, two = places
    return same_test(mine.tests, one, theirs.tests, two)


def expecting(trial: TrialResult) -> TrialResult:
    """A trial of which nothing was expected has not passed: nothing applied to it."""
    if trial.outcome == "pass" and not trial.outcomes:
        return replace(trial, outcome="not_applicable", score=None)
    return trial


def _with_values(column: Seen) -> list[str]:
    return [
        name for name in column.metrics if any(column.value(name, case).n for case in column.cases)
    ]


def _watched(
    metric: str, first: int, second: int, mine: Seen, margin: float, *, less: bool
) -> _Watched:
    values = list(mine.metrics[metric].values())
    declared = (0.0, 1.0) if metric == PASSED else mine.scales.get(metric)
    known = known_scale(declared, min(values), max(values)) if values else declared
    scale = OpenNumber(*known) if known and metric not in LOWER else None
    lower = less or metric in LOWER | mine.lower or mine.bounded.get(metric) == {"most"}
    one = _Watched(first=first, second=second, metric=metric, lower=lower, scale=scale, watch=None)
    # Without a margin nothing can be shown to stay within it, and beyond the scale everything does.
    if 0 < margin < one.reach:
        one.watch = MarginWatch(margin / one.reach, BETS)
    return one
