"""Decides early whether the pass rates of a run reach their bounds: what all of its trials would have come to.

It implements `evenhand.engine.session.Decider`. Bounds are held against what was measured (see `requirements`), so
what is decided is the verdict that the whole run would have had. It is otherwise in at most 5 runs of 100.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from evenhand.analysis.gates.case_order import CaseOrder
from evenhand.core.document import as_object
from evenhand.core.errors import UsageError
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.requirement import PASSED, Requirement
from evenhand.core.run import Decided, DecidedColumn, TrialResult
from evenhand.core.wording.words import count, safe
from evenhand.stats.sequential import ShareWatch

ALPHA = 0.05
OPTION = "--stop-when-decided"


class ShareDecider:
    """Decides a run whose variants have to reach pass rates.

    Args:
        requirements: What its variants have to reach.
        seed: Of the order of its cases.

    Raises:
        UsageError: There is nothing to decide; something other than a pass rate has to be reached; or the cases depend
            on one another.
    """

    def __init__(self, plan: Plan, requirements: Sequence[Requirement], seed: int) -> None:
        self.seed = seed
        bounds = pass_rate_bounds(requirements, OPTION)
        self._order = CaseOrder(plan, seed)
        cases = cases_of(plan)
        self._columns = [
            _Column(variant, bound, len(cases[variant]))
            for variant, bound in bounds
            if variant in cases
        ]
        self._by_variant: dict[int, list[_Column]] = {}
        for column in self._columns:
            self._by_variant.setdefault(column.variant, []).append(column)
        self._word = ""

    def arranged(self, planned_trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
        """The trials in the order in which they are run."""
        return self._order.arranged(planned_trials)

    def add(self, result: TrialResult) -> None:
        """Takes in the result of a trial."""
        for trials in self._order.add(result):
            by_variant: dict[int, list[TrialResult]] = {}
            for trial in trials:
                by_variant.setdefault(trial.variant, []).append(trial)
            for variant, mine in by_variant.items():
                for column in self._by_variant.get(variant, ()):
                    column.add(mine)
            # What was decided once stays decided, whatever the trials in flight still come to.
            self._word = self._word or self._verdict()

    @property
    def decided(self) -> str:
        """What is decided, in words; empty as long as nothing is."""
        if not self._word:
            return ""
        done, of = self._order.taken_in, len(self._order.cases)
        word = "reach their bounds" if self._word == "passed" else "miss their bounds"
        return (
            f"stopped after {done:,} of {count(of, 'case')}: the pass rates {word};"
            f" running all of them would change that in at most {100 * ALPHA:g} % of such runs"
        )

    def record(self) -> Mapping[str, Any]:
        """What is decided, for the run's file."""
        return as_object(
            Decided(
                verdict=self._word or None,
                cases=self._order.taken_in,
                of=len(self._order.cases),
                seed=self.seed,
                alpha=ALPHA,
                columns=[
                    DecidedColumn(variant=column.variant, state=self._state(column))
                    for column in self._columns
                ],
            )
        )

    def _state(self, column: _Column) -> Literal["kept", "missed", "open"]:
        # One column is enough to fail, so that many chances to be wrong are corrected for; all must pass.
        if column.watch.decides("missed", len(self._columns)):
            return "missed"
        return "kept" if column.applied and column.watch.decides("kept") else "open"

    def _verdict(self) -> str:
        states = {self._state(column) for column in self._columns}
        if "missed" in states:
            return "failed"
        return "passed" if states == {"kept"} else ""


class _Column:
    """The cases of a variant against a bound. Every case counts once, as in the rate of the whole run."""

    def __init__(self, variant: int, bound: float, cases: int) -> None:
        self.variant = variant
        self._bound = bound
        self.applied = bound == 0
        """Whether what is expected applied to a case, or nothing could miss the bound."""
        self.watch = ShareWatch(bound, cases, ALPHA)

    def add(self, trials: Sequence[TrialResult]) -> None:
        """Takes in a case. One that does not apply is neither above nor below the bound."""
        outcomes = [trial.outcome for trial in trials]
        passed, errors = outcomes.count("pass"), outcomes.count("error")
        n = passed + errors + outcomes.count("fail")
        # An eval that expects nothing is none that the bound is about.
        self.applied |= n > 0 or not any(trial.outcomes for trial in trials)
        if n:
            self.watch.add(passed / n, (passed + errors) / n)
        else:
            self.watch.add(self._bound)


def pass_rate_bounds(requirements: Sequence[Requirement], option: str) -> list[tuple[int, float]]:
    """The variants with the pass rates that they have to reach.

    Args:
        option: What needs pass rates, for messages.

    Raises:
        UsageError: There is none, or something else has to be reached.
    """
    others = [one for one in requirements if one.metric != PASSED or one.bound.at_least is None]
    if others:
        names = ", ".join(safe(one.metric or "passed") for one in others)
        raise UsageError(
            f"{option} works for pass rates only, and there is a bound on something else: {names}",
            hint=f"Leave {option.rpartition(' ')[2]} out.",
        )
    bounds = [
        (variant, one.bound.at_least)
        for one in requirements
        for variant in one.variants
        if one.bound.at_least is not None
    ]
    if not bounds:
        raise UsageError(
            f"{option}: there is nothing to decide",
            hint="Say which share of trials has to pass: --at-least 0.9.",
        )
    return bounds


def cases_of(plan: Plan) -> dict[int, set[str]]:
    """By variant the ids of its cases."""
    cases: dict[int, set[str]] = {}
    for planned in plan.trials():
        cases.setdefault(planned.variant.index, set()).add(planned.case.id)
    return cases
