"""Decides whether the pass rates of a suite reach their bounds, of which only a part of the cases is run.

It implements `evenhand.engine.session.Decider`. Cases are drawn as a gate draws them, and what the baseline says of
each case predicts those that aren't run. Bounds of a whole run are held against what it came to; here nobody knows
what that would have been, so a bound is kept, or missed, where all of the interval says so, and open otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evenhand.analysis.comparison.case_values import PASSED, Seen
from evenhand.analysis.comparison.drawn_part import Earlier, means_of_cases, nothing_earlier
from evenhand.analysis.comparison.same_test import Likeness
from evenhand.analysis.gates.baseline import Baseline
from evenhand.analysis.gates.case_order import CaseOrder
from evenhand.analysis.gates.early_pass_rates import cases_of, pass_rate_bounds
from evenhand.analysis.gates.early_stopping import baseline_shares, slim, units_of
from evenhand.analysis.gates.gate_comparison import GateSides
from evenhand.core.document import as_object
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.record import Record
from evenhand.core.requirement import Requirement
from evenhand.core.run import Decided, DecidedColumn, TrialResult
from evenhand.core.wording.words import count
from evenhand.stats.control_variates import Ran, whole_rate
from evenhand.stats.paired_difference import LEVEL
from evenhand.stats.tallies import OpenNumber, Tally, counted

_SHARES = OpenNumber(0.0, 1.0)
OPTION = "--sample with --baseline"


class SampleDecider:
    """Ends a run after a part of its cases, and says whether all of them reach what they have to.

    Args:
        baseline: What predicts the others.
        requirements: What its variants have to reach.
        seed: Of the draw.
        sample: How many cases are run, in all.

    Raises:
        UsageError: There is nothing to decide; something other than a pass rate has to be reached; or the cases depend
            on one another.
    """

    def __init__(
        self,
        baseline: Baseline,
        plan: Plan,
        requirements: Sequence[Requirement],
        *,
        seed: int,
        sample: int,
    ) -> None:
        self.seed = seed
        self._bounds = pass_rate_bounds(requirements, OPTION)
        strata = {case: round(share, 1) for case, (share, _) in baseline_shares(baseline).items()}
        self._order = CaseOrder(plan, seed, option=OPTION, together=True, strata=strata)
        self._count = units_of(self._order, sample)
        self.sampled = self._count < len(self._order.units)
        self._sides = GateSides(baseline, plan.variants, metrics=(PASSED,))
        self._histories = _histories(baseline, self._sides)
        self._cases = cases_of(plan)
        self._tallies: dict[tuple[int, str], Tally] = {}
        self._columns: list[DecidedColumn] = []
        self._results: list[TrialResult] = []
        self._changed = 0

    @property
    def hint(self) -> str:
        """What to know before it runs; empty as a rule."""
        if self.sampled:
            return ""
        return (
            f"--sample: there are {count(len(self._order.cases), 'case')} in all, and all are run"
        )

    def arranged(self, planned_trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
        """The trials of the cases that were drawn."""
        return self._order.arranged(planned_trials, self._count)

    def add(self, result: TrialResult) -> None:
        """Takes in the result of a trial."""
        for trials in self._order.add(result):
            for trial in trials:
                place = trial.variant, trial.case
                self._tallies[place] = counted(self._tallies.get(place, Tally()), trial.outcome)
            self._results += map(slim, trials)
            if self.sampled and self._order.units_in == self._count:
                self._columns = [self._column(*bound) for bound in self._bounds]
                self._changed = len(set(self._other_tests()))
                self._results = []

    @property
    def decided(self) -> str:
        """What is decided, in words; empty until the last case that was drawn."""
        if not self._columns:
            return ""
        of = count(len(self._order.cases), "case")
        far = f"{self._order.taken_in:,} of {of} run, drawn at random (seed {self.seed})"
        if not self._changed:
            return far
        tests = "was a different test" if self._changed == 1 else "were different tests"
        return f"{far}; {self._changed:,} of them {tests} in the baseline, so it predicts less"

    def _other_tests(self) -> Iterator[int]:
        """The cases that were run and are asked, or checked, otherwise in the baseline."""
        theirs = self._sides.read(self._results, {})
        for i, j in self._sides.pairs:
            mine, now = self._sides.mine[i], theirs[j]
            likeness = Likeness(mine, now)
            for number in mine.cases:
                if number in now.cases and likeness.why_not(PASSED, number):
                    yield number

    def record(self) -> Mapping[str, Any]:
        """What is decided, for the run's file."""
        return as_object(
            Decided(
                verdict=self._word,
                cases=self._order.taken_in,
                of=len(self._order.cases),
                seed=self.seed,
                alpha=LEVEL,
                columns=self._columns,
            )
        )

    @property
    def _word(self) -> str | None:
        states = {column.state for column in self._columns}
        if "missed" in states:
            return "failed"
        return "passed" if states == {"kept"} else None

    def _column(self, variant: int, bound: float) -> DecidedColumn:
        """What all cases of a variant would have come to, held against a bound."""
        cases = self._cases[variant]
        own = [
            (number < self._count, members)
            for number, unit in enumerate(self._order.units)
            if (members := [case for case in unit if case in cases])
        ]
        history = self._histories.get(variant, _History())
        drawn = [(members, self._ends(variant, members)) for ran, members in own if ran]
        chance = len(drawn) / len(own) if own else 1.0
        valued = [(members, ends) for members, ends in drawn if ends is not None]
        run = [Ran(i, *ends, chance) for i, (_, ends) in enumerate(valued)]
        counting = sum(self._counts(variant, case) for members, _ in valued for case in members)
        suite: list[Sequence[float | None]]
        about = any((ends is not None) is not history.applies(members) for members, ends in drawn)
        if not about:
            others = [members for ran, members in own if not ran and history.applies(members)]
            suite = [history.of(members) for members in (*(m for m, _ in valued), *others)]
            counting += sum(history.applies([case]) for members in others for case in members)
        else:
            # To which of the others nothing applies isn't known: as many as of those that were drawn.
            suite = [()] * max(len(run), round(len(run) / chance))
            counting = max(counting, round(counting / chance))
        # One that is missed is enough to fail: each has its part of the chance to be wrong.
        rate = whole_rate(suite, run, 1 - LEVEL / len(self._bounds))
        if rate is None:
            return DecidedColumn(variant=variant, state="open")
        keeps = {end >= bound - 1e-9 for end in (rate.low, rate.high)}
        return DecidedColumn(
            variant=variant,
            state="open" if len(keeps) > 1 else "kept" if True in keeps else "missed",
            least=rate.least,
            most=rate.most,
            low=rate.low,
            high=rate.high,
            of=counting,
            about=about,
            # Without a history, the fit is the plain mean.
            predicted=rate.fitted and any(value is not None for row in suite for value in row),
        )

    def _counts(self, variant: int, case: str) -> bool:
        """Whether a case was run, and something applies to it."""
        return self._tallies.get((variant, case), Tally()).n > 0

    def _ends(self, variant: int, members: Sequence[str]) -> tuple[float, float] | None:
        """The least and the most that a unit came to; None where nothing applies to any of its cases."""
        tallies = [self._tallies.get((variant, case), Tally()) for case in members]
        counts = [tally for tally in tallies if tally.n]
        if not counts:
            return None
        least = math.fsum(tally.least for tally in counts) / len(counts)
        return least, math.fsum(tally.most for tally in counts) / len(counts)


class _History(Record, frozen=True):
    """What runs before say of a variant's cases.

    Attributes:
        baseline: The baseline's column; None where the baseline hasn't the variant.
        earlier: What earlier systems scored.
    """

    baseline: Seen | None = None
    earlier: Earlier = nothing_earlier

    def of(self, members: Sequence[str]) -> Sequence[float | None]:
        """What each earlier run came to on a unit, the baseline first."""
        return means_of_cases([(self._mean(case), *self.earlier(PASSED, case)) for case in members])

    def applies(self, members: Sequence[str]) -> bool:
        """Whether the unit counts, as far as the baseline says: one that it hasn't does."""
        return any(self._mean(case) is not None or not self._knows(case) for case in members)

    def _mean(self, case: str) -> float | None:
        values = None if self.baseline is None else self.baseline.find(PASSED, case)
        ends = None if values is None else values.mean(_SHARES)
        return None if ends is None else (ends.least + ends.most) / 2

    def _knows(self, case: str) -> bool:
        before = self.baseline
        return before is not None and before.cases.ids.find(case) in before.cases


def _histories(baseline: Baseline, sides: GateSides) -> Mapping[int, _History]:
    """By variant of the plan what the baseline says of its cases."""
    return {j: _History(sides.mine[i], baseline.earlier(i)) for i, j in sides.pairs}
