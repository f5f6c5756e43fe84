"""The plan that asks a run's judges about canaries: a sheet for each metric and judge, a column for each verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.analysis.comparison.case_tests import case_digest
from evenhand.analysis.comparison.same_test import chosen_by
from evenhand.analysis.trust.judgements.judged import JudgedMetric, judge_of, judgements, metric_of
from evenhand.analysis.trust.judgements.raw_rates import raw_rate
from evenhand.analysis.trust.trust_rules import estimate_row
from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.expect import all_pass
from evenhand.core.plan import Plan, PlannedTrial, Row, Sheet, Slot
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.score import with_parts
from evenhand.core.variant import Variant
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.asking import ProbeBody, judge_holds
from evenhand.wings.judge_checks.attacks import CONTROLS
from evenhand.wings.judge_checks.canaries import Canaries, Canary
from evenhand.wings.judge_checks.items import ProbeItem
from evenhand.wings.judge_checks.plan import options_of, refuse_changed, row_in_place, trials_at

VERDICTS = ("pass", "fail")


class _JudgeSheet(Record, frozen=True):
    """The canaries of one judge under one metric, each with the trial of the run that it is asked in."""

    run: Path
    judge: JudgedMetric
    rows: Sequence[tuple[Canary, ProbeItem, PlannedTrial]]
    variants: Mapping[str, Variant]

    def walked(self) -> Iterator[Row]:
        """A row for each canary."""
        for canary, item, planned in self.rows:
            rule = all_pass if canary.verdict == "pass" else judge_holds
            slots = partial(self._slots, canary, item, planned)
            yield row_in_place(planned, name_of(canary), slots, rule)

    def _slots(
        self, canary: Canary, item: ProbeItem, planned: PlannedTrial, _case: Case, _first: int
    ) -> list[Slot]:
        body = ProbeBody(
            run=self.run,
            planned=planned,
            item=item,
            attack=CONTROLS[0],
            metric=self.judge.metric,
            turn=0,
        )
        return [Slot(variant=self.variants[canary.verdict], body=body)]


def canary_plan(plan: Plan, run: RunFile, every: Canaries, most: int | None = None) -> Plan:
    """The plan that asks a run's judges about canaries.

    A canary is asked in a trial of its case. Those whose case the run doesn't have are left out.

    Args:
        plan: What the run was made from, as its files are now.
        most: Only so many of each metric; None for all. They are compared with whatever was asked of the same file.

    Raises:
        UsageError: The files have changed since, or no canary is of a case and a metric of the run.
    """
    refuse_changed(plan, run)
    meta, canaries = run.meta, every if most is None else every.at_most(most)
    judged = judgements(run, verdicts_only=True)
    items = _items(run, canaries)
    planned_trials = trials_at(plan, {item.index for item in items.values()})
    # Of cases that were chosen by their outcome, as many pass as chance brings: they are compared with no others.
    chosen = meta.id if chosen_by(meta) else ""
    names = {trial.case: chosen + case_digest(trial) for trial in run.trials()}
    sheets: list[_JudgeSheet] = []
    for key, judge in judged.metrics.items():
        rows = [
            (canary, replace(items[key, canary.case], answer=canary.output))
            for canary in canaries.canaries
            if canary.metric == judge.metric and (key, canary.case) in items
        ]
        if rows:
            first = sum(len(sheet.variants) for sheet in sheets)
            sheets.append(
                _JudgeSheet(
                    run.path,
                    judge,
                    [(canary, item, planned_trials[item.index]) for canary, item in rows],
                    _variants(judge, [canary for canary, _ in rows], first),
                )
            )
    if not sheets:
        raise UsageError(
            f"run {meta.id} has no case and no judged metric of the canaries",
            hint="Make canaries of a labelled run of these evals: evenhand runs canaries RUN --keep 40.",
        )
    about = {
        "run": meta.id,
        "digest": every.digest,
        "judges": [_about(meta, sheet, canaries, names) for sheet in sheets],
    }
    return Plan(
        title=f"canaries of {meta.title}",
        sheets=[
            Sheet(
                variants=tuple(sheet.variants.values()),
                rows=sheet.walked,
                case_count=len(sheet.rows),
                size=len(sheet.rows),
                providers=lambda: plan.providers,
            )
            for sheet in sheets
        ],
        identify=lambda: digest("canaries", plan.fingerprint, meta.id, encode(about)),
        record=lambda: {"canaries": about},
        source=plan.source,
        options=options_of(plan.options),
    )


CASES_KEPT = 1000
"""So many cases of a run are kept with what the judge said of them, for the comparison with later runs."""


def name_of(canary: Canary) -> str:
    """The name of a canary as a case: the same in all runs, and of no other one."""
    return f"{canary.case}@{digest(canary.metric, canary.output)[:8]}"


def _items(run: RunFile, canaries: Canaries) -> dict[tuple[tuple[str, str], str], ProbeItem]:
    """For each judge and case of a canary the first trial in which it gave a verdict."""
    cases = {canary.case for canary in canaries.canaries}
    items: dict[tuple[tuple[str, str], str], ProbeItem] = {}
    for trial in run.trials():
        if trial.case not in cases:
            continue
        names: dict[tuple[str, str], set[str]] = {}
        for outcome in with_parts(trial.outcomes):
            if judge_of(outcome):
                names.setdefault((metric_of(outcome), judge_of(outcome)), set()).add(outcome.name)
        for key, of_judge in names.items():
            items.setdefault((key, trial.case), ProbeItem(trial.index, frozenset(of_judge)))
    return items


def _about(
    meta: RunMeta, sheet: _JudgeSheet, canaries: Canaries, names: Mapping[str, str]
) -> dict[str, Any]:
    """What is kept of a judge: how many canaries it isn't asked about, and its own pass rate in the run.

    Args:
        meta: What the run's file says of it.
        canaries: All of them.
        names: What each case of the run says, as a digest.
    """
    judge = sheet.judge
    of_metric = sum(canary.metric == judge.metric for canary in canaries.canaries)
    return {
        "metric": judge.metric,
        "model": judge.model,
        "left_out": of_metric - len(sheet.rows),
        "passed": judge.passed,
        "judged": len(judge.items),
        "pass_rate": estimate_row(raw_rate(meta, judge.items)) if judge.items else None,
        "cases": _shares(judge, names),
    }


def _shares(judge: JudgedMetric, names: Mapping[str, str]) -> dict[str, float]:
    """By what a case says the share of its outputs that the judge passes; of many cases the same ones in all runs."""
    counts: dict[str, list[int]] = {}
    for item in judge.items:
        passed = counts.setdefault(names[item.case], [0, 0])
        passed[0] += item.passed
        passed[1] += 1
    return {
        name: round(counts[name][0] / counts[name][1], 6) for name in sorted(counts)[:CASES_KEPT]
    }


def _variants(judge: JudgedMetric, canaries: Sequence[Canary], first: int) -> dict[str, Variant]:
    """A column for those that people pass, and one for those that they fail."""
    verdicts = [verdict for verdict in VERDICTS if any(c.verdict == verdict for c in canaries)]
    return {
        verdict: Variant(
            first + place,
            f"{judge.metric}: people {verdict} it",
            judge.model,
            axes={"metric": judge.metric, "judge": judge.model, "verdict": verdict},
        )
        for place, verdict in enumerate(verdicts)
    }
