"""What judges said of canaries, run after run: whether the judge drifted, or the system.

A canary is the same text with the same verdict each time, so that only the judge can make a difference. It is asked
anew each time. Two answers to the same canaries are compared pair by pair, by McNemar's exact test; an error of the
judge is no answer, and its pair is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import StoreError
from evenhand.report.calibration import estimate_row
from evenhand.report.judge_checks import is_canary_check
from evenhand.stats.compare import mcnemar
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import clopper_pearson
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.canary/1"
SHOWN = 0.05
"""A difference that comes by chance in fewer than this share of cases is taken for a drift."""

FEWEST = 6
"""With fewer canaries not even a judge that is wrong on all of them would be shown to have drifted."""

Key = tuple[str, str]
"""A metric and a judge."""


@dataclass(slots=True)
class CanaryAnswers:
    """What one judge said of the canaries of one metric.

    Attributes:
        metric: The metric.
        model: The judge, as its answers in the run named it.
        right: For each canary by name, whether the judge said what people say. Errors are not in it.
        passes: The same for those that people pass, as (right, asked).
        fails: The same for those that they fail.
        errors: How many it gave no verdict on.
        left_out: How many canaries are of cases that the run doesn't have.
        raw: The judge's own pass rate in the run; None where that is not known.
    """

    metric: str
    model: str
    right: dict[str, bool] = field(default_factory=dict[str, bool])
    passes: tuple[int, int] = (0, 0)
    fails: tuple[int, int] = (0, 0)
    errors: int = 0
    left_out: int = 0
    raw: float | None = None

    @property
    def rate(self) -> Estimate | None:
        """The share of canaries that it is right on, with its exact 95 % interval; None for none."""
        asked = len(self.right)
        if not asked:
            return None
        correct = sum(self.right.values())
        return Estimate(correct / asked, *clopper_pearson(correct, asked))

    def row(self) -> dict[str, Any]:
        """It in the keys of `evenhand.canary/1`."""
        return {
            "metric": self.metric,
            "model": self.model,
            "items": len(self.right),
            "right": sum(self.right.values()),
            "rate": estimate_row(self.rate),
            "missed": self.passes[1] - self.passes[0],
            "excused": self.fails[1] - self.fails[0],
            "errors": self.errors,
            "left_out": self.left_out,
            "raw": self.raw,
        }


@dataclass(frozen=True, slots=True)
class CanaryCheck:
    """One time that judges were asked about canaries.

    Attributes:
        run: The run whose judges were asked.
        check: The id of the run that asked them.
        at: Seconds since 1970.
        digest: Of the canaries.
        answers: By metric and judge.
        calls: Calls to judges.
        cost_usd: What they cost; None where a price is not known.
    """

    run: str
    check: str
    at: float
    digest: str
    answers: Mapping[Key, CanaryAnswers]
    calls: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Drift:
    """How a judge's answers differ from those of the first check of the same canaries.

    Attributes:
        since: The first check.
        before: Its answers.
        newly_wrong: Canaries that it was right on, and is not any more.
        newly_right: Canaries that it was wrong on, and is not any more.
        pairs: Canaries with a verdict in both checks.
        p: How likely at least so one-sided a difference is without a drift.
    """

    since: CanaryCheck
    before: CanaryAnswers
    newly_wrong: int
    newly_right: int
    pairs: int
    p: float

    @property
    def enough(self) -> bool:
        """Whether there are so many canaries that a drift could be shown."""
        return self.pairs >= FEWEST

    @property
    def shown(self) -> bool:
        """Whether the judge drifted, as far as can be shown."""
        return self.p < SHOWN

    def row(self) -> dict[str, Any]:
        """It in the keys of `evenhand.canary/1`."""
        return {
            "run": self.since.run,
            "at": self.since.at,
            "model": self.before.model,
            "raw": self.before.raw,
            "newly_wrong": self.newly_wrong,
            "newly_right": self.newly_right,
            "pairs": self.pairs,
            "p": self.p,
            "drifted": self.shown,
        }


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """A check of canaries beside the earlier ones of the same canaries, the oldest first."""

    check: CanaryCheck
    earlier: Sequence[CanaryCheck]

    def drift(self, key: Key) -> Drift | None:
        """How a judge differs from the first check; None where there is none that can be compared."""
        now = self.check.answers[key]
        for check in self.earlier:
            before = counterpart(check, key)
            if before is None:
                continue
            pairs = [
                (before.right[name], now.right[name])
                for name in now.right.keys() & before.right.keys()
            ]
            if pairs:
                wrong, right = pairs.count((True, False)), pairs.count((False, True))
                return Drift(check, before, wrong, right, len(pairs), mcnemar(wrong, right))
        return None

    @property
    def drifted(self) -> bool:
        """Whether some judge is shown to have drifted."""
        drifts = [self.drift(key) for key in self.check.answers]
        return any(drift is not None and drift.shown for drift in drifts)

    @property
    def decided(self) -> bool:
        """Whether every judge gave verdicts, and enough of them where there are earlier ones to compare them with."""
        drifts = [self.drift(key) for key in self.check.answers]
        answered = all(one.right for one in self.check.answers.values())
        return answered and all(drift is None or drift.enough for drift in drifts)

    def history(self, key: Key) -> list[tuple[CanaryCheck, CanaryAnswers]]:
        """The checks of a judge, the oldest first, this one last."""
        rows = [(check, counterpart(check, key)) for check in self.earlier]
        return [
            *((check, answers) for check, answers in rows if answers is not None),
            (self.check, self.check.answers[key]),
        ]

    def document(self) -> dict[str, Any]:
        """It as `evenhand.canary/1`."""
        return {
            "schema": SCHEMA,
            "run": self.check.run,
            "check": self.check.check,
            "canaries": self.check.digest,
            "drifted": self.drifted,
            "judges": [self._row(key) for key in self.check.answers],
            "calls": self.check.calls,
            "cost_usd": self.check.cost_usd,
        }

    def _row(self, key: Key) -> dict[str, Any]:
        drift = self.drift(key)
        return {
            **self.check.answers[key].row(),
            "since": None if drift is None else drift.row(),
            "history": [
                {"run": check.run, "at": check.at, **_counts(answers)}
                for check, answers in self.history(key)
            ],
        }


def canary_check(run: RunFile) -> CanaryCheck:
    """Reads what judges said of canaries.

    Raises:
        StoreError: The run cannot be read.
    """
    record = cast("Mapping[str, Any]", run.meta.config["canaries"])
    answers: dict[Key, CanaryAnswers] = {}
    for row in cast("list[dict[str, Any]]", record["judges"]):
        raw = row["passed"] / row["judged"] if row["judged"] else None
        key = row["metric"], row["model"]
        answers[key] = CanaryAnswers(*key, left_out=row["left_out"], raw=raw)
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
        if axes["verdict"] == "pass":
            one.passes = one.passes[0] + right, one.passes[1] + 1
        else:
            one.fails = one.fails[0] + right, one.fails[1] + 1
    return CanaryCheck(
        str(record["run"]),
        run.meta.id,
        run.meta.created_at,
        str(record["digest"]),
        answers,
        calls,
        cost if priced else None,
    )


def canary_report(run: RunFile, others: Iterable[Path]) -> CanaryReport:
    """A check of canaries, and the earlier checks of the same canaries among other run files.

    Files that cannot be read, and runs that are no finished check of these canaries, are left out.

    Args:
        run: The check.
        others: Run files, its own among them or not.

    Raises:
        StoreError: The check itself cannot be read.
    """
    check = canary_check(run)
    earlier: list[CanaryCheck] = []
    for path in others:
        try:
            with RunFile.open(path) as other:
                meta = other.meta
                if not is_canary_check(meta) or meta.status != "finished" or meta.id >= check.check:
                    continue
                record = cast("Mapping[str, Any]", meta.config["canaries"])
                if record["digest"] == check.digest and meta.source == run.meta.source:
                    earlier.append(canary_check(other))
        except StoreError:
            continue
    earlier.sort(key=lambda one: one.check)
    return CanaryReport(check, earlier)


def counterpart(check: CanaryCheck, key: Key) -> CanaryAnswers | None:
    """The same judge in another check; where the metric has only one in it, that one, whatever it is called."""
    same = check.answers.get(key)
    of_metric = [one for (metric, _), one in check.answers.items() if metric == key[0]]
    return same or (of_metric[0] if len(of_metric) == 1 else None)


def _counts(answers: CanaryAnswers) -> dict[str, Any]:
    return {
        "model": answers.model,
        "items": len(answers.right),
        "right": sum(answers.right.values()),
        "raw": answers.raw,
    }
