"""How many cases, repeats and labels a question takes, from rates or from a run that was made before."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from statistics import fmean, variance
from typing import Any

from evenhand.analysis.summaries.clusters import Groups, clusters_among, together
from evenhand.analysis.summaries.grid import Grid, compared
from evenhand.analysis.summaries.variance_shares import (
    PartShare,
    TrialCost,
    share_of_part,
    trial_cost,
    variance_shares,
)
from evenhand.analysis.trust.calibration import calibrations
from evenhand.analysis.trust.consistency import repeat_audits
from evenhand.analysis.trust.judgements.judged import Judgements, judgements
from evenhand.analysis.trust.power_document import (
    SCHEMA,
    Change,
    PowerCorrelation,
    PowerDocument,
    PowerJudge,
    PowerLabels,
    PowerLeast,
    PowerRepeats,
    PowerSample,
    PowerWording,
)
from evenhand.core.document import as_object, filled
from evenhand.core.record import Record
from evenhand.core.score import SHARES
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.distributions import t_quantile
from evenhand.stats.extremes import Extremes
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.paired_difference import Alone, Differences
from evenhand.stats.power import (
    POWER,
    cases_needed_exact,
    chance_to_show,
    correlation,
    disagreement,
    labels_needed,
)
from evenhand.stats.tallies import worth_of
from evenhand.stats.variance_parts import CaseSides, Part, VarianceParts, judge_part, variance_parts
from evenhand.store.encoding import written_case
from evenhand.store.runfile import RunFile

REPEATS = (1, 2, 3, 5, 10)
ALIKE = 0.5
"""How far two systems find the same cases hard where nobody has measured it. Models are between .3 and .7."""


CORRELATIONS = (0.3, 0.5, 0.7)
"""Between these most pairs of models are."""

_Column = Mapping[str, Sequence[bool]]
"""By case whether each of its trials passed."""


class JudgeWorth(Record, frozen=True):
    """A judge, as far as it saves labels.

    Attributes:
        metric: The metric; empty where only numbers are known.
        rate: The pass rate that is expected.
        rho2: The share of labels that it replaces; None where nobody has labelled.
        judged: How many outputs it judged; None for as many as one likes.
        cases: Of how many cases or clusters these are; None where each is of another one.
    """

    metric: str
    rate: float
    rho2: float | None
    judged: int | None
    cases: int | None = None

    @property
    def repeated(self) -> bool:
        """Whether several of the outputs are of one case or cluster: further labels of the same one add little."""
        return self.cases is not None and self.judged is not None and self.cases < self.judged


class Pilot(Record, frozen=True, kw_only=True):
    """What is known before a run is planned.

    Attributes:
        rate: The pass rate, from 0 to 1.
        differing: The share of cases on which two systems disagree; None where it is not known.
        within: The variance of one case's repeats; None without repeats.
        cases: How many cases there are; 0 where nobody says.
        judges: The judges whose numbers are to be corrected.
        alike: The correlation of the two systems' verdicts, or the most that it can be; None where nothing is known.
        alike_range: The ends of its interval, the lower end first.
        measured: Whether two systems were measured, and not one that another would be compared with.
        repeats: How often each case was repeated.
        effect: How many times the variance of the mean is that of as many independent cases. At least 1.
        clusters: How many clusters the cases are in; 0 where each stands alone.
        pair: How the first two columns differ, as a comparison has it; None for one column.
        spread: The parts of the variance of a unit's pass rate, or of its difference; None where nobody knows.
        deciding: The judges, by metric and model, whose verdict is that of the trial.
        cost: What a trial takes; None where there is no run.
        again: How the judges' verdicts on the same output vary.
        wording: What other wordings do; None where no run has one.
        sample: What a gate has to run against a baseline; None where there is none.
        eval: The eval that it is about, the first of several; empty where there is one.
    """

    rate: float
    differing: float | None = None
    within: float | None = None
    cases: int = 0
    judges: Sequence[JudgeWorth] = ()
    alike: float | None = None
    alike_range: tuple[float, float] | None = None
    measured: bool = False
    repeats: float = 1.0
    effect: float = 1.0
    clusters: int = 0
    pair: Extremes | None = None
    spread: VarianceParts | None = None
    deciding: Collection[tuple[str, str]] = ()
    cost: TrialCost | None = None
    again: Sequence[PowerJudge] = ()
    wording: PowerWording | None = None
    sample: PowerSample | None = None
    eval: str = ""

    @property
    def parts(self) -> list[PartShare]:
        """What the uncertainty comes from; empty where nobody knows.

        A judge has a share where its verdict is the trial's, and the wording where one variant was measured.
        """
        spread = self.spread
        if spread is None or not spread.measured:
            return []
        shares = variance_shares(spread)
        own = spread.measured * spread.members / math.fsum(1 / tries for tries in spread.tries)
        for judge in self.again:
            if (judge.metric, judge.model) in self.deciding:
                part = Part(judge.variance, judge.low, judge.high)
                shares.append(share_of_part("judge", part, own))
        if self.wording is not None and not self.measured:
            part = Part(self.wording.variance, self.wording.low, self.wording.high)
            shares.append(share_of_part("wording", part, spread.measured / spread.units))
        return shares

    @property
    def alike_or_assumed(self) -> float:
        """The correlation that answers rest on: as measured, or ALIKE, but no more than repeats of one system have."""
        if self.measured and self.alike is not None:
            return self.alike
        return ALIKE if self.alike is None else min(ALIKE, self.alike)


def pilot_of(run: RunFile) -> Pilot:
    """What a run says: its pass rate, how its first two columns differ, how its repeats vary, its judges.

    Columns of different evals ask different things: of several evals, it is about the first.

    Raises:
        StoreError: The run cannot be read.
    """
    passed: dict[int, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    judged = judgements(run)
    verdicts = {
        key: {item.index: item.passed for item in metric.items}
        for key, metric in judged.metrics.items()
    }
    others: set[tuple[str, str]] = set()
    run_anew: Counter[int] = Counter()
    for trial in run.trials():
        run_anew[trial.variant] += not trial.taken
        if trial.outcome in ("pass", "fail"):
            good = trial.outcome == "pass"
            passed[trial.variant][written_case(trial.case)].append(good)
            others |= {key for key, each in verdicts.items() if each.get(trial.index) is not good}
    evals = [variant.eval for variant in run.meta.variants]
    first = next((evals[column] for column in passed), "")
    passed = {column: cases for column, cases in passed.items() if evals[column] == first}
    columns = list(passed.values())
    both = [case for case in columns[0] if case in columns[1]] if len(columns) > 1 else []
    if not both:  # columns of different cases: it is about the one that has most
        passed = dict(sorted(passed.items(), key=lambda column: -len(column[1])))
        columns = list(passed.values())
    every = [tries for column in columns for tries in column.values()]
    repeated = [tries for tries in every if len(tries) > 1]
    rate = math.fsum(map(_mean, every)) / len(every) if every else 0.5
    groups = run.groups(copies=True)[next(iter(passed), 0)] if run.meta.variants else {}
    known = (
        _of_two(columns[0], columns[1], both, groups) if both else _of_one(columns, rate, groups)
    )
    shares = {case: _mean(tries) for case, tries in columns[0].items()} if columns else {}
    if both:
        shares = {case: _mean(columns[1][case]) - shares[case] for case in both}
    clusters = clusters_among(shares, groups)
    return Pilot(
        rate=rate,
        differing=known.differing,
        within=math.fsum(map(_variance, repeated)) / len(repeated) if repeated else None,
        cases=max(map(len, columns), default=0),
        judges=[
            JudgeWorth(
                judge.metric,
                (judge.corrected or judge.raw).value,
                judge.rho2,
                judge.verdicts.items,
                len({item.unit for item in judged.metrics[judge.metric, judge.model].items}),
            )
            for judge in calibrations(run, judged)
        ],
        alike=known.alike,
        alike_range=known.ends,
        measured=bool(both),
        repeats=worth_of(map(len, every if both or not columns else columns[0].values())),
        effect=_effect(shares, groups),
        clusters=clusters if clusters < len(shares) else 0,
        pair=compared(Grid(run), *list(passed)[:2]) if both else None,
        spread=_spread(columns[: 2 if both else 1], groups),
        deciding=verdicts.keys() - others,
        cost=trial_cost(
            run, {column: run_anew[column] for column in [*passed][: 2 if both else 1]}
        ),
        again=_again(run, judged),
        eval=first if len(set(evals)) > 1 else "",
    )


def _spread(columns: Sequence[_Column], groups: Groups) -> VarianceParts | None:
    """The parts of the variance of a column's pass rates, or of the differences of two."""
    sides = [
        CaseSides(tuple(list(map(float, column[case])) for column in columns), groups.get(case))
        for case in (columns[0] if columns else ())
        if all(case in column for column in columns)
    ]
    return variance_parts(sides, 1.0)


def _again(run: RunFile, judged: Judgements) -> list[PowerJudge]:
    """How the verdicts of judges vary that were asked the same question again in the run."""
    judges: list[PowerJudge] = []
    for (metric, model), audit in repeat_audits(run, judged.metrics).items():
        if audit.estimate is not None:
            value, low, high = judge_part(
                (audit.estimate.value, audit.estimate.low, audit.estimate.high)
            )
            judges.append(
                PowerJudge(
                    metric=metric, model=model, variance=value, low=low, high=high,
                    outputs=audit.items,
                )
            )  # fmt: skip
    return judges


class _Likeness(Record, frozen=True):
    """How alike two systems' verdicts are, and the share of cases on which they disagree."""

    differing: float | None = None
    alike: float | None = None
    ends: tuple[float, float] | None = None


def _of_two(first: _Column, second: _Column, cases: Sequence[str], groups: Groups) -> _Likeness:
    """Of two columns: over all pairs of a trial of the one and a trial of the other, case by case.

    Source: such a mean over all pairs is a U-statistic (Hoeffding, Ann. Math. Stat. 19 (1948),
        doi:10.1214/aoms/1177730196): it has no bias, and less variance than one pair of each case.
    """
    pairs = [(case, _disagree(first[case], second[case])) for case in cases]
    mean = mean_on_scale(((fmean(each), 1) for each in together(pairs, groups)), SHARES)
    if mean is None:
        return _Likeness()
    differing, low, high = mean
    one, two = (fmean(_mean(column[case]) for case in cases) for column in (first, second))
    # The more they disagree, the less they correlate: the ends change places.
    alike, least, most = (correlation(one, two, share) for share in (differing, high, low))
    ends = None if least is None or most is None else (least, most)
    return _Likeness(differing, alike, ends)


def _of_one(columns: Sequence[_Column], rate: float, groups: Groups) -> _Likeness:
    """Of one column with repeats: as alike as repeats of a case are, another system can be at most."""
    pairs = [
        (case, 2 * _variance(tries))
        for column in columns[:1]
        for case, tries in column.items()
        if len(tries) > 1
    ]
    # Of two repeats that differ, two times the variance is 1; of more it is less, so a half is no end.
    mean = mean_on_scale(((fmean(each), 1) for each in together(pairs, groups)), SHARES)
    if mean is None:
        return _Likeness()
    alike, least, most = (correlation(rate, rate, share) for share in (mean[0], mean[2], mean[1]))
    return _Likeness(None, alike, None if least is None or most is None else (least, most))


def _disagree(first: Sequence[bool], second: Sequence[bool]) -> float:
    """The share of all pairs of a trial of the one and a trial of the other that differ."""
    one, two = _mean(first), _mean(second)
    return one * (1 - two) + two * (1 - one)


def _effect(values: Mapping[str, float], groups: Groups) -> float:
    """The variance of the mean over clusters, over that of the mean over as many independent cases; at least 1."""
    clusters = [fmean(each) for each in together(values.items(), groups)]
    if len(clusters) < 2 or len(clusters) == len(values):
        return 1.0
    single, whole = variance(values.values()), variance(clusters)
    return max(1.0, whole / len(clusters) / (single / len(values))) if single > 0 else 1.0


class Power(Record, frozen=True):
    """The answers.

    Attributes:
        difference: The difference of two pass rates that is to be shown, from 0 to 1.
        half_width: How far a corrected rate may be off, from 0 to 1.
    """

    pilot: Pilot
    difference: float
    half_width: float

    @property
    def differing(self) -> float:
        """The share of cases on which two systems disagree, in the direction in which that is more."""
        return max(change.differing for change in self.changes())

    @property
    def cases(self) -> int:
        """How many cases show the difference, four times in five, whether it is a drop or a rise."""
        return max(change.cases for change in self.changes())

    @property
    def cases_range(self) -> tuple[int, int] | None:
        """How many cases show the difference at both ends of the correlation's interval; None where not measured."""
        ends, pilot = self.pilot.alike_range, self.pilot
        if ends is None:
            return None
        least, most = (end if pilot.measured else min(ALIKE, end) for end in ends)
        return max(c.cases for c in self.changes(most)), max(c.cases for c in self.changes(least))

    @property
    def effect(self) -> float:
        """How many times as many cases it takes as of independent ones, as some belong together; 1 where none do."""
        if not self.pilot.clusters:
            return 1.0
        return max(
            c.cases / cases_needed_exact(self.difference, c.differing) for c in self.changes()
        )

    def changes(self, alike: float | None = None) -> list[Change]:
        """A drop and a rise by the difference, as far as there can be either, with the cases that show it.

        Args:
            alike: The correlation of the two systems' verdicts; without it, what the pilot says.
        """
        rate = self.pilot.rate
        rates = [to for to in (rate - self.difference, rate + self.difference) if 0 <= to <= 1]
        return [self._change(to, alike) for to in rates or [max(0.0, rate - self.difference)]]

    def _change(self, to: float, alike: float | None) -> Change:
        differing, pilot = self._share(self.difference, to, alike), self.pilot
        if not pilot.clusters:
            return Change(to, differing, cases_needed_exact(self.difference, differing))
        units = self._spread(self.difference, differing).needed(self.difference) or 1
        return Change(to, differing, math.ceil(units * pilot.cases / pilot.clusters - 1e-9))

    def _spread(self, difference: float, differing: float, repeats: float = 1.0) -> Differences:
        """Differences of the pilot's clusters that vary as they would if so many cases differed."""
        pilot = self.pilot
        of_case = pilot.effect * (differing - difference**2)
        less = self._less(difference, differing, repeats)
        of_unit = of_case * less * pilot.clusters / pilot.cases
        far = math.sqrt(min(1.0, max(0.0, of_unit)))
        values = array("d", (far if i % 2 else -far for i in range(pilot.clusters)))
        # Clusters are on a scale, as their means are anywhere between its ends.
        return Differences(Alone(values), True, scale=(-1.0, 1.0))

    def _share(self, difference: float, to: float, alike: float | None = None) -> float:
        """On which share of cases two systems disagree whose pass rates differ by so much."""
        pilot = self.pilot
        if alike is None and pilot.alike is None and pilot.differing is not None:
            return min(1.0, max(difference, pilot.differing))
        share = disagreement(pilot.rate, to, pilot.alike_or_assumed if alike is None else alike)
        return max(difference, share)

    @property
    def could_show(self) -> float | None:
        """The smallest difference that the pilot's own cases could show; None where none is, or there are no cases.

        Of two columns it is the number below the run's table.
        """
        pilot = self.pilot
        if pilot.pair is not None:
            return pilot.pair.smallest()
        if not pilot.cases:
            return None
        low, high = 0.0, max(pilot.rate, 1 - pilot.rate)
        if not self._shows(high):
            return None
        # A bisection: 20 halvings are finer than a millionth of a point.
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if self._shows(middle) else (middle, high)
        return high

    def _shows(self, difference: float) -> bool:
        """Whether the pilot's cases and repeats show a difference four times in five, be it a drop or a rise."""
        pilot = self.pilot
        rates = (pilot.rate - difference, pilot.rate + difference)
        # A rounding error may put the only possible rate just beyond 0 or 1.
        shares = [self._share(difference, to) for to in rates if -1e-9 <= to <= 1 + 1e-9]
        if pilot.clusters:
            ends = [self._spread(difference, share, pilot.repeats).smallest() for share in shares]
            return all(end is not None and end <= difference for end in ends)
        return all(
            chance_to_show(
                int(pilot.cases / self._less(difference, share, pilot.repeats)), difference, share
            )
            >= POWER
            for share in shares
        )

    def _less(self, difference: float, differing: float, repeats: float) -> float:
        """How many times fewer cases it takes with so many repeats: by the variances of a case's difference."""
        within = self.pilot.within
        whole = self.pilot.effect * (differing - difference**2)
        if within is None or whole <= 0:
            return 1.0
        # By chance the repeats of a case may vary more than cases do: no variance is below 0.
        between = max(0.0, whole - 2 * within)
        return (between + (whole - between) / repeats) / whole

    def repeats(self) -> list[tuple[int, int]]:
        """For numbers of repeats, the cases that show the difference; empty where nobody knows how repeats vary."""
        if self.pilot.within is None:
            return []
        less = {k: self._less(self.difference, self.differing, k) for k in REPEATS}
        cases = (_students(self.cases * less[k]) if k > 1 else self.cases for k in REPEATS)
        # What Student's quantile adds is no reason for more cases than fewer repeats take.
        return list(zip(REPEATS, accumulate(cases, min), strict=True))

    def least(self) -> PowerLeast | None:
        """The cheapest of these ways, in calls of two variants; None where there is no run.

        With as many trials, more cases always say more than more repeats.
        """
        cost = self.pilot.cost
        if cost is None:
            return None
        ways = [(k * cases, k, cases) for k, cases in self.repeats() or [(1, self.cases)]]
        trials, repeats, cases = min(ways)
        calls, usd = cost.of(2 * trials)
        return PowerLeast(
            cases=cases,
            more=max(0, cases - self.pilot.cases),
            repeats=repeats,
            calls=calls,
            cost_usd=usd,
        )

    def labels(self, judge: JudgeWorth) -> tuple[int | None, int]:
        """The labels that it takes with this judge, and without any; None where not even all of them are enough.

        Each is of another case or cluster: where several outputs are of one, there are no more labels than those.
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

    @property
    def rests_on_correlation(self) -> bool:
        """Whether the answers rest on how alike two systems are."""
        return self.pilot.alike is not None or self.pilot.differing is None

    def by_correlation(self) -> list[tuple[float, int]]:
        """For correlations of two systems' verdicts, the cases that show the difference."""
        if not self.rests_on_correlation:
            return []
        return [(r, max(change.cases for change in self.changes(r))) for r in CORRELATIONS]

    def document(self) -> dict[str, Any]:
        """The answers as `evenhand.power/1`."""
        pilot = self.pilot
        labels = [(judge, *self.labels(judge)) for judge in pilot.judges]
        return as_object(
            filled(
                PowerDocument,
                self,
                schema=SCHEMA,
                eval=pilot.eval or None,
                rate=pilot.rate,
                assumed=pilot.differing is None,
                alike=pilot.alike_or_assumed if self.rests_on_correlation else None,
                cases_low=(self.cases_range or (None, None))[0],
                cases_high=(self.cases_range or (None, None))[1],
                changes=self.changes(),
                by_correlation=[
                    PowerCorrelation(alike=alike, cases=cases)
                    for alike, cases in self.by_correlation()
                ],
                least=self.least(),
                parts=pilot.parts,
                sides=2 if pilot.measured else 1,
                judges=list(pilot.again),
                wording=pilot.wording,
                repeats=[
                    PowerRepeats(repeats=k, cases=cases, trials=cases * k)
                    for k, cases in self.repeats()
                ],
                labels=[
                    filled(
                        PowerLabels,
                        judge,
                        half_width=self.half_width,
                        judged_cases=judge.cases,
                        labels=with_judge,
                        without_judge=alone,
                    )
                    for judge, with_judge, alone in labels
                ],
                sample=pilot.sample,
            )
        )


def _students(cases: float) -> int:
    """As many cases as it takes where the variance is that which was seen, as `compare` has it of repeats."""
    free = max(1, math.ceil(cases) - 1)
    return math.ceil(cases * (t_quantile(CONFIDENCE, free) / z_of(CONFIDENCE)) ** 2 - 1e-9)


def _mean(tries: Sequence[bool]) -> float:
    return sum(tries) / len(tries)


def _variance(tries: Sequence[bool]) -> float:
    """Of one trial of the case, without bias."""
    return _mean(tries) * (1 - _mean(tries)) * len(tries) / (len(tries) - 1)
