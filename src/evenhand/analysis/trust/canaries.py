"""What judges said of canaries, run after run: whether the judge drifted, or the system.

A canary is the same text with the same verdict each time, so that only the judge can make a difference. It is asked
anew each time. Two answers to the same canaries are compared pair by pair, by sign tests of what people pass and of
what they fail: a judge that grew stricter is newly wrong on the ones, and newly right on the others. An error of the
judge is no answer, and its pair is left out. Where no drift of the judge is shown, and its pass rates on the cases that
both runs have differ by more than chance, the system changed, or the judge by less than the canaries show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import UNSET, field
from msgspec.structs import replace

from evenhand.analysis.trust.agreement import rate_of
from evenhand.analysis.trust.canary_document import (
    SCHEMA,
    CanaryDocument,
    CanaryEarlier,
    CanaryJudge,
    CanarySince,
)
from evenhand.analysis.trust.trust_rules import estimate_row
from evenhand.core.document import as_object, filled
from evenhand.core.errors import StoreError
from evenhand.core.judge_checks import WITH_CANARIES, is_canary_check
from evenhand.core.record import MutableRecord, Record
from evenhand.stats.corrected_differences import corrected_difference
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import wilson, z_of
from evenhand.stats.paired_difference import FEWEST as CASES_NEEDED
from evenhand.stats.paired_difference import Differences
from evenhand.stats.paired_rates import flips_one_way
from evenhand.store.runfile import RunFile

SHOWN = 0.05
"""How likely it may be that some check of a judge that never changes is taken for a drift, however many there are."""

_POWER, _ZETA = 2.2, 1.4905432565
"""How fast the parts of later checks fall, and 1 + 1/2^2.2 + 1/3^2.2 + …"""

DriftWord = Literal["judge", "system", "none", "not decided"]

LOOKED_AT = 20
"""So many runs after a run are looked at for the one that asked its judges about canaries."""

JudgeKey = tuple[str, str]
"""A metric and a judge."""


class CanaryAnswers(MutableRecord, kw_only=True):
    """What one judge said of the canaries of one metric.

    Attributes:
        model: The judge, as its answers in the run named it.
        right: For each canary by name, whether the judge said what people say. Errors are not in it.
        people: For each of these canaries, whether people pass it.
        passes: How many of those that people pass, as (right, asked).
        fails: The same for those that they fail.
        errors: How many it gave no verdict on.
        left_out: How many canaries are of cases that the run doesn't have.
        passed: How many outputs of the run it passes.
        judged: How many it has a verdict on.
        by_case: Its pass rate in the run with its interval, each case counting once; None where the check doesn't say,
            as those of earlier versions.
        shares: By a digest of each case the share of its outputs that it passes; empty where the check doesn't say.
    """

    metric: str
    model: str
    right: dict[str, bool] = field(default_factory=dict[str, bool])
    people: dict[str, bool] = field(default_factory=dict[str, bool])
    passes: tuple[int, int] = (0, 0)
    fails: tuple[int, int] = (0, 0)
    errors: int = 0
    left_out: int = 0
    passed: int = 0
    judged: int = 0
    by_case: Estimate | None = None
    shares: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def raw(self) -> float | None:
        """The judge's own pass rate in the run; None where that is not known."""
        return None if self.pass_rate is None else self.pass_rate.value

    @property
    def pass_rate(self) -> Estimate | None:
        """The judge's own pass rate with its interval: Wilson's, where the cases of the outputs aren't known."""
        if self.by_case is not None or not self.judged:
            return self.by_case
        return Estimate(self.passed / self.judged, *wilson(self.passed, self.judged))

    @property
    def rate(self) -> Estimate | None:
        """The share of canaries that it is right on, with its exact 95 % interval; None for none."""
        return rate_of(sum(self.right.values()), len(self.right))

    def row(self, since: CanarySince | None = None) -> CanaryJudge:
        """The judge's answers in the keys of `evenhand.canary/1`, without the earlier checks."""
        return filled(
            CanaryJudge,
            self,
            items=len(self.right),
            right=sum(self.right.values()),
            rate=estimate_row(self.rate),
            missed=self.passes[1] - self.passes[0],
            excused=self.fails[1] - self.fails[0],
            since=since,
            history=UNSET,
        )


class CanaryCheck(Record, frozen=True, kw_only=True):
    """One time that judges were asked about canaries.

    Attributes:
        run: The run whose judges were asked.
        check: The id of the run that asked them.
        source: What both were made from.
        at: Seconds since 1970.
        answers: By metric and judge.
        calls: Calls to judges.
        cost_usd: What they cost; None where a price is not known.
    """

    run: str
    check: str
    source: str
    at: float
    digest: str
    answers: Mapping[JudgeKey, CanaryAnswers]
    calls: int
    cost_usd: float | None


class Flips(NamedTuple):
    """The verdicts of two checks on canaries of which people say the same.

    Attributes:
        pairs: Canaries with a verdict in both checks.
        wrong: Those that the judge was right on, and is not any more.
        right: Those that it was wrong on, and is not any more.
    """

    pairs: int = 0
    wrong: int = 0
    right: int = 0


class Drift(Record, frozen=True, kw_only=True):
    """How a judge's answers differ from those of the first check of the same canaries.

    Attributes:
        passes: On canaries that people pass.
        fails: On canaries that people fail.
        checks: How many checks have been compared with the first one until now, this one included.
        shown_before: Whether an earlier one of them showed that the judge drifted.
    """

    since: CanaryCheck
    before: CanaryAnswers
    now: CanaryAnswers
    passes: Flips
    fails: Flips = Flips()
    checks: int = 1
    shown_before: bool = False

    @property
    def pairs(self) -> int:
        """How many canaries have a verdict in both checks."""
        return self.passes.pairs + self.fails.pairs

    @property
    def newly_wrong(self) -> int:
        """How many canaries it was right on, and is not any more."""
        return self.passes.wrong + self.fails.wrong

    @property
    def newly_right(self) -> int:
        """How many canaries it was wrong on, and is not any more."""
        return self.passes.right + self.fails.right

    @property
    def newly_failed(self) -> int:
        """How many canaries it passed, and fails now, rightly or not."""
        return self.passes.wrong + self.fails.right

    @property
    def p(self) -> float:
        """How likely at least so one-sided flips are without a drift, among what people pass and what they fail."""
        return flips_one_way((side.wrong, side.right) for side in (self.passes, self.fails))

    @property
    def level(self) -> float:
        """The part of SHOWN that this check has. The parts of all checks there can be add up to it.

        Source: for such levels of a sequence of tests, Foster and Stine, "α-investing" (JRSS B 70, 2008),
            doi:10.1111/j.1467-9868.2007.00643.x. The parts fall with the power 2.2 of the check's number: seven flips
            are shown at the first one, and their sum is ζ(2.2).
        """
        return SHOWN / _ZETA / self.checks**_POWER

    @property
    def fewest(self) -> int:
        """With fewer canaries not even a judge that is wrong on all of them would be shown to have drifted."""
        # If all of n are wrong now, p is 2 / 2ⁿ; 4 / 2ⁿ where people pass some and fail others.
        sides = bool(self.passes.pairs) + bool(self.fails.pairs)
        return math.floor(sides - math.log2(self.level)) + 1

    @property
    def enough(self) -> bool:
        """Whether there are so many canaries that a drift could be shown."""
        return self.pairs >= self.fewest

    @property
    def shown(self) -> bool:
        """Whether the judge drifted, as far as can be shown; once shown, as long as its answers still differ.

        An earlier check has shown it at its own level, so that no further part of SHOWN is needed.
        """
        return self.p < (SHOWN if self.shown_before else self.level)

    @property
    def cases_known(self) -> bool:
        """Whether both checks say of which cases their pass rates are."""
        return bool(self.before.shares and self.now.shares)

    @property
    def common(self) -> list[tuple[float, float]]:
        """What the judge passed then and now of each case that both runs have, with the same texts."""
        now = self.now.shares
        return [(share, now[case]) for case, share in self.before.shares.items() if case in now]

    @property
    def same_cases(self) -> bool:
        """Whether both runs have the same cases, as far as that is known."""
        return not self.cases_known or self.before.shares.keys() == self.now.shares.keys()

    @property
    def pass_rate(self) -> Estimate | None:
        """How far the judge's pass rate of the run is from that of the first one.

        Case by case, over the cases that both have. Of two runs with the same few cases, and where a check of an
        earlier version doesn't say which they are, by Newcombe's interval.

        Returns:
            None where one of them is not known, or they have too few cases in common.
        """
        differences = [(after - before,) for before, after in self.common]
        if len(differences) >= CASES_NEEDED:
            data = Differences(differences, rates=True)
            return Estimate(data.mean or 0.0, *data.interval())
        # Rates over other cases differ whoever changed: only what both have is compared.
        if not self.same_cases:
            return None
        before, now = self.before.pass_rate, self.now.pass_rate
        return None if before is None or now is None else corrected_difference(before, now)

    @property
    def word(self) -> DriftWord:
        """Who changed, as far as can be shown."""
        if self.shown:
            return "judge"
        if not self.enough:
            return "not decided"
        if not self.moved:
            return "none"
        # So many flips are seldom without a drift, though this check's part of SHOWN is smaller.
        return "not decided" if self.p < SHOWN else "system"

    @property
    def moved(self) -> bool:
        """Whether the judge's pass rates of the two runs differ by more than chance, however many checks there are."""
        rate = self.pass_rate
        if rate is None:
            return False
        # The interval is one of 95 %; this check has only a part of the 5 % that all share.
        wider = z_of(1 - self.level) / z_of()
        return (
            not rate.value - wider * (rate.value - rate.low)
            <= 0
            <= rate.value + wider * (rate.high - rate.value)
        )

    def row(self) -> CanarySince:
        """The drift in the keys of `evenhand.canary/1`."""
        return filled(
            CanarySince,
            self,
            run=self.since.run,
            at=self.since.at,
            model=self.before.model,
            raw=self.before.raw,
            drifted=self.shown,
            pass_rate=estimate_row(self.pass_rate),
            changed=self.word,
        )


class CanaryReport(Record, frozen=True):
    """A check of canaries beside the earlier ones of the same canaries, the oldest first."""

    check: CanaryCheck
    earlier: Sequence[CanaryCheck]

    def drift(self, key: JudgeKey) -> Drift | None:
        """How a judge differs from the first check; None where there is none that can be compared."""
        history = [answers for _, answers in self.history(key)]
        for place, before in enumerate(history[:-1]):
            passes, fails = _both_flips(before, history[-1])
            if not (passes.pairs or fails.pairs):
                continue
            drift: Drift | None = None
            for checks, now in enumerate(history[place + 1 :], 1):
                passes, fails = _both_flips(before, now)
                drift = Drift(
                    since=self.history(key)[place][0],
                    before=before,
                    now=now,
                    passes=passes,
                    fails=fails,
                    checks=checks,
                    shown_before=drift is not None and (drift.shown or drift.shown_before),
                )
            return drift
        return None

    @property
    def drifted(self) -> bool:
        """Whether some judge is shown to have drifted."""
        drifts = [self.drift(key) for key in self.check.answers]
        return any(drift is not None and drift.shown for drift in drifts)

    @property
    def decided(self) -> bool:
        """Whether every judge gave verdicts, and its answers say who changed where there are earlier ones."""
        drifts = [self.drift(key) for key in self.check.answers]
        answered = all(one.right for one in self.check.answers.values())
        return answered and all(drift is None or drift.word != "not decided" for drift in drifts)

    def history(self, key: JudgeKey) -> list[tuple[CanaryCheck, CanaryAnswers]]:
        """The checks of a judge, the oldest first, this one last."""
        rows = [(check, counterpart(check, key)) for check in self.earlier]
        return [
            *((check, answers) for check, answers in rows if answers is not None),
            (self.check, self.check.answers[key]),
        ]

    def document(self) -> dict[str, Any]:
        """The report as a document of the schema `evenhand.canary/1`."""
        return as_object(
            CanaryDocument(
                schema=SCHEMA,
                run=self.check.run,
                check=self.check.check,
                canaries=self.check.digest,
                drifted=self.drifted,
                judges=[
                    replace(row, history=self._history(key))
                    for key, row in zip(self.check.answers, self.rows(), strict=True)
                ],
                calls=self.check.calls,
                cost_usd=self.check.cost_usd,
            )
        )

    def rows(self) -> list[CanaryJudge]:
        """What each judge said, without the earlier checks."""
        drifts = [self.drift(key) for key in self.check.answers]
        return [
            answers.row(None if drift is None else drift.row())
            for answers, drift in zip(self.check.answers.values(), drifts, strict=True)
        ]

    def _history(self, key: JudgeKey) -> list[CanaryEarlier]:
        return [
            filled(
                CanaryEarlier,
                answers,
                run=check.run,
                at=check.at,
                items=len(answers.right),
                right=sum(answers.right.values()),
            )
            for check, answers in self.history(key)
        ]


def _both_flips(before: CanaryAnswers, now: CanaryAnswers) -> tuple[Flips, Flips]:
    """What flipped of the canaries that people pass, and of those that they fail."""
    return _flips(before, now, passes=True), _flips(before, now, passes=False)


def _flips(before: CanaryAnswers, now: CanaryAnswers, *, passes: bool) -> Flips:
    """What flipped of the canaries that people pass, or of those that they fail."""
    pairs = [
        (before.right[name], right)
        for name, right in now.right.items()
        if name in before.right and now.people[name] is passes
    ]
    return Flips(len(pairs), pairs.count((True, False)), pairs.count((False, True)))


def canary_check(run: RunFile) -> CanaryCheck:
    """Reads what judges said of canaries.

    Raises:
        StoreError: The run cannot be read.
    """
    record: Mapping[str, Any] = run.meta.config["canaries"]
    answers: dict[JudgeKey, CanaryAnswers] = {}
    for row in record["judges"]:
        key = row["metric"], row["model"]
        answers[key] = CanaryAnswers(
            metric=key[0],
            model=key[1],
            left_out=row["left_out"],
            passed=row["passed"],
            judged=row["judged"],
            by_case=Estimate(**by_case) if (by_case := row.get("pass_rate")) else None,
            shares=row.get("cases") or {},
        )
    calls, cost, priced = 0, 0.0, True
    for trial in run.trials():
        axes = run.meta.variants[trial.variant].axes
        one = answers[str(axes["metric"]), str(axes["judge"])]
        if trial.judged is not None:
            calls += trial.judged.calls
            priced = priced and trial.judged.cost_usd is not None
            cost += trial.judged.cost_usd or 0.0
        if trial.outcome not in ("pass", "fail"):
            one.errors += 1
            continue
        right = trial.outcome == "pass"
        one.right[trial.case] = right
        one.people[trial.case] = passes = axes["verdict"] == "pass"
        if passes:
            one.passes = one.passes[0] + right, one.passes[1] + 1
        else:
            one.fails = one.fails[0] + right, one.fails[1] + 1
    return CanaryCheck(
        run=str(record["run"]),
        check=run.meta.id,
        source=run.meta.source,
        at=run.meta.created_at,
        digest=str(record["digest"]),
        answers=answers,
        calls=calls,
        cost_usd=cost if priced else None,
    )


def canary_report(run: RunFile, others: Iterable[Path]) -> CanaryReport:
    """A check of canaries, and the earlier checks of the same canaries among other run files.

    Files that cannot be read, and runs that are no finished check of these canaries, are left out.

    Args:
        others: Run files, its own among them or not.

    Raises:
        StoreError: The check itself cannot be read.
    """
    return beside_earlier(canary_check(run), finished_checks(others))


def canaries_of(run: RunFile) -> CanaryReport | None:
    """What the judges of a run said of canaries when it was over; None for a run that was not to ask them.

    Raises:
        StoreError: The run cannot be read.
    """
    if not isinstance(run.meta.settings.get(WITH_CANARIES), Mapping):
        return None
    # By name is by time, as ids begin with it.
    files = sorted(run.path.parent.glob(f"*{run.path.suffix}"))
    # Ids begin with their time: the check of a run comes right after it.
    later = (path for path in files if path.stem > run.path.stem)
    for check in finished_checks(islice(later, LOOKED_AT)):
        if check.run == run.meta.id:
            before = (path for path in files if path.stem < check.check)
            return beside_earlier(check, finished_checks(before))
    return None


def finished_checks(files: Iterable[Path]) -> list[CanaryCheck]:
    """The finished checks of canaries among run files, without those that cannot be read."""
    checks: list[CanaryCheck] = []
    for path in files:
        try:
            with RunFile.open(path) as run:
                finished = run.meta.status == "finished" and "canaries" in run.meta.config
                if finished and is_canary_check(run.meta):
                    checks.append(canary_check(run))
        except StoreError:
            continue
    return checks


def beside_earlier(check: CanaryCheck, others: Iterable[CanaryCheck]) -> CanaryReport:
    """A check beside those of the same canaries and the same evals that came before it."""
    earlier = [
        one
        for one in others
        if (one.digest, one.source) == (check.digest, check.source) and one.check < check.check
    ]
    return CanaryReport(check, sorted(earlier, key=lambda one: one.check))


def counterpart(check: CanaryCheck, key: JudgeKey) -> CanaryAnswers | None:
    """A judge's answers in another check; where the metric has only one judge there, that one's."""
    same = check.answers.get(key)
    of_metric = [one for (metric, _), one in check.answers.items() if metric == key[0]]
    return same or (of_metric[0] if len(of_metric) == 1 else None)
