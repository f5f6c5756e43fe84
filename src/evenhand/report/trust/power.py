"""How many cases, repeats and labels a question takes, from rates or from a run that was made before."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.core.record import Record
from evenhand.report.judgements.judged import judgements
from evenhand.report.trust.calibration import calibrations
from evenhand.report.words import count, percent, safe
from evenhand.stats.power import (
    cases_needed,
    cases_with_repeats,
    detectable_exact,
    labels_needed,
)
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.power/1"
REPEATS = (1, 2, 3, 5, 10)
ALIKE = 0.5
"""How far two systems find the same cases hard where nobody has measured it. Models are between .3 and .7."""


class JudgeWorth(Record, frozen=True):
    """A judge, as far as it saves labels.

    Attributes:
        metric: The metric; empty where only numbers are known.
        rate: The pass rate that is expected.
        rho2: The share of labels that it replaces; None where nobody has labelled.
        judged: How many outputs it judged; None for as many as one likes.
        cases: Of how many cases these are; None where each is of another one.
    """

    metric: str
    rate: float
    rho2: float | None
    judged: int | None
    cases: int | None = None

    @property
    def repeated(self) -> bool:
        """Whether several of the outputs are of one case: further labels of the same case add little."""
        return self.cases is not None and self.judged is not None and self.cases < self.judged


class Pilot(Record, frozen=True):
    """What is known before a run is planned.

    Attributes:
        rate: The pass rate, from 0 to 1.
        differing: The share of cases on which two systems disagree; None where it is not known.
        within: The variance of one case's repeats; None without repeats.
        cases: How many cases there are; 0 where nobody says.
        judges: The judges whose numbers are to be corrected.
    """

    rate: float
    differing: float | None = None
    within: float | None = None
    cases: int = 0
    judges: Sequence[JudgeWorth] = ()

    @property
    def differing_or_assumed(self) -> float:
        """The share on which two systems disagree; where it is not known, as for two that are half alike."""
        if self.differing is not None:
            return self.differing
        return 2 * self.rate * (1 - self.rate) * (1 - ALIKE)


def pilot_of(run: RunFile) -> Pilot:
    """What a run says: its pass rate, how its first two columns differ, how its repeats vary, its judges.

    Raises:
        StoreError: The run cannot be read.
    """
    passed: dict[int, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for trial in run.trials():
        if trial.outcome in ("pass", "fail"):
            passed[trial.variant][trial.case].append(trial.outcome == "pass")
    columns = list(passed.values())
    every = [tries for column in columns for tries in column.values()]
    repeated = [tries for tries in every if len(tries) > 1]
    differing = None
    if len(columns) > 1:
        first, second = columns[:2]
        both = [case for case in first if case in second]
        differing = (
            math.fsum(first[case][0] is not second[case][0] for case in both) / len(both)
            if both
            else None
        )
    judged = judgements(run)
    return Pilot(
        math.fsum(map(_mean, every)) / len(every) if every else 0.5,
        differing,
        math.fsum(map(_variance, repeated)) / len(repeated) if repeated else None,
        max(map(len, columns), default=0),
        [
            JudgeWorth(
                judge.metric,
                (judge.corrected or judge.raw).value,
                judge.rho2,
                judge.verdicts.items,
                len({item.case for item in judged.metrics[judge.metric, judge.model].items}),
            )
            for judge in calibrations(run, judged)
        ],
    )


class Power(Record, frozen=True):
    """The answers.

    Attributes:
        pilot: What they rest on.
        difference: The difference of two pass rates that is to be shown, from 0 to 1.
        half_width: How far a corrected rate may be off, from 0 to 1.
    """

    pilot: Pilot
    difference: float
    half_width: float

    @property
    def differing(self) -> float:
        """The share of cases on which two systems disagree. None can differ by more than it."""
        return min(1.0, max(self.difference, self.pilot.differing_or_assumed))

    @property
    def cases(self) -> int:
        """How many cases show the difference, four times in five."""
        return math.ceil(cases_needed(self.difference, self.differing) - 1e-9)

    @property
    def could_show(self) -> float | None:
        """The smallest difference that the pilot's own cases could show; None where none is, or there are no cases."""
        if not self.pilot.cases:
            return None
        return detectable_exact(self.pilot.cases, self.pilot.differing_or_assumed)

    def repeats(self) -> list[tuple[int, int]]:
        """For numbers of repeats, the cases that show the difference; empty where nobody knows how repeats vary."""
        within = self.pilot.within
        if within is None:
            return []
        between = max(0.0, self.differing - self.difference**2 - 2 * within)
        return [
            (k, math.ceil(cases_with_repeats(self.difference, between, within, k) - 1e-9))
            for k in REPEATS
        ]

    def labels(self, judge: JudgeWorth) -> tuple[int | None, int]:
        """The labels that it takes with this judge, and without any; None where not even all of them are enough.

        Each is of another case: where cases are repeated, there are no more labels than cases.
        """
        rate, most = judge.rate, judge.cases if judge.repeated else judge.judged
        if (
            rate in (0, 1) and judge.judged
        ):  # all passed, or none: others like them may not (Laplace)
            rate = (rate * judge.judged + 1) / (judge.judged + 2)
        alone = labels_needed(self.half_width, rate)
        with_judge = labels_needed(self.half_width, rate, judge.rho2 or 0.0, most)
        return (
            None if with_judge is None else math.ceil(with_judge - 1e-9),
            math.ceil((alone or 0.0) - 1e-9),
        )

    def lines(self) -> Iterator[str]:
        """The answers in words."""
        pilot = self.pilot
        size = f"{self.difference * 100:g} points"
        known = "" if pilot.differing is not None else " (assumed)"
        yield (
            f"{count(self.cases, 'case')} show a difference of {size} four times in five, "
            f"if two variants disagree on {percent(self.differing)} of them{known}"
        )
        if pilot.cases:
            smallest = self.could_show
            yield (
                f"{count(pilot.cases, 'case')}, as the run has, could show "
                + (f"{smallest * 100:.0f} points" if smallest is not None else "no difference")
            )
        for k, cases in self.repeats():
            yield f"  with {count(k, 'repeat')}: {count(cases, 'case')}, {cases * k:,} trials"
        for judge in pilot.judges:
            yield self._label_line(judge)

    def _label_line(self, judge: JudgeWorth) -> str:
        name = f"{safe(judge.metric)}: " if judge.metric else ""
        wanted = f"±{self.half_width * 100:g} points"
        labels, alone = self.labels(judge)
        if labels is None and judge.repeated:
            return (
                f"{name}not even a label for each of {count(judge.cases or 0, 'judged case')} brings {wanted}: "
                "judge more cases"
            )
        if labels is None:
            return (
                f"{name}not even a label for each of {count(judge.judged or 0, 'judged output')} brings {wanted}: "
                "judge more outputs"
            )
        each = ", each of another case," if judge.repeated else ""
        if judge.rho2 is None:
            return (
                f"{name}{count(labels, 'label')}{each} bring {wanted}, fewer if the judge is good; "
                "30 labels tell how good it is"
            )
        return (
            f"{name}{count(labels, 'label')}{each} bring {wanted} with this judge (ρ² {judge.rho2:.2f}), "
            f"{alone:,} without it"
        )

    def document(self) -> dict[str, Any]:
        """The answers as `evenhand.power/1`."""
        pilot = self.pilot
        labels = [(judge, *self.labels(judge)) for judge in pilot.judges]
        return {
            "schema": SCHEMA,
            "rate": pilot.rate,
            "difference": self.difference,
            "differing": self.differing,
            "assumed": pilot.differing is None,
            "cases": self.cases,
            "could_show": self.could_show,
            "repeats": [
                {"repeats": k, "cases": cases, "trials": cases * k} for k, cases in self.repeats()
            ],
            "labels": [
                {
                    "metric": judge.metric,
                    "half_width": self.half_width,
                    "rate": judge.rate,
                    "rho2": judge.rho2,
                    "judged": judge.judged,
                    "judged_cases": judge.cases,
                    "labels": with_judge,
                    "without_judge": alone,
                }
                for judge, with_judge, alone in labels
            ],
        }


def _mean(tries: Sequence[bool]) -> float:
    return sum(tries) / len(tries)


def _variance(tries: Sequence[bool]) -> float:
    """Of one trial of the case, without bias."""
    return _mean(tries) * (1 - _mean(tries)) * len(tries) / (len(tries) - 1)
