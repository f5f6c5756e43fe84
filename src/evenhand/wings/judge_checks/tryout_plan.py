"""The plan of a tryout: a sheet for each judge with labels, its labelled outputs for cases, variants for columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from evenhand.analysis.trust.judgements.judged import JudgedMetric, judge_of, judgements, metric_of
from evenhand.analysis.trust.jury_weights import ballot_of
from evenhand.analysis.trust.labels.peoples_verdicts import peoples_verdicts
from evenhand.analysis.trust.labels.what_next import label_hint
from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial, state_of
from evenhand.core.plan import Plan, PlannedTrial, Row, Sheet, Slot
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.score import Outcome, Verdict, with_parts
from evenhand.core.variant import Variant
from evenhand.engine.trial import LiveTrial
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.asking import AskedAgain
from evenhand.wings.judge_checks.estimate import per_verdict
from evenhand.wings.judge_checks.judge_variants import JudgeVariant
from evenhand.wings.judge_checks.other_judge import asked_of_variant
from evenhand.wings.judge_checks.plan import (
    options_of,
    refuse_changed,
    refuse_unknown,
    row_in_place,
    trials_at,
)
from evenhand.wings.judge_checks.tried import (
    CHOOSING,
    CONFIRMING,
    TriedItem,
    TriedJudge,
    TryoutRecord,
)

Lineup = Sequence[tuple[JudgeVariant, Sequence[Provider]]]
"""The variants, each with the models that it names."""


class TryBody(Record, frozen=True):
    """Asks a variant of a judge about one labelled output."""

    question: AskedAgain
    variant: JudgeVariant
    models: Sequence[Provider]

    async def __call__(self, trial: Trial) -> object:
        live = cast("LiveTrial", trial)
        expectations = await self.question.expectations(live)
        for expectation in expectations:
            live.expect(asked_of_variant(expectation, self.variant, self.models, trial, live.vars))
        return expectations[0].value


class _JudgeSheet(Record, frozen=True, kw_only=True):
    """The labelled outputs of one judge under one metric."""

    run: Path
    judge: TriedJudge
    planned_trials: Mapping[int, PlannedTrial]
    names: Mapping[int, frozenset[str]]
    lineup: Lineup
    variants: Sequence[Variant]

    def walked(self) -> Iterator[Row]:
        """A row for each output."""
        for item in self.judge.items:
            planned = self.planned_trials[item.index]
            yield row_in_place(
                planned,
                item.name,
                partial(self._slots, planned),
                judges_verdict,
                shows_thoughts=planned.shows_thoughts,
            )

    def _slots(self, planned: PlannedTrial, _case: Case, _first: int) -> list[Slot]:
        same = AskedAgain(
            self.run,
            planned,
            self.judge.metric,
            self.names[planned.index],
            lambda expected: expected,
        )
        return [
            Slot(variant=column, body=TryBody(same, variant, models))
            for column, (variant, models) in zip(self.variants, self.lineup, strict=True)
        ]


def tryout_plan(
    plan: Plan, run: RunFile, lineup: Lineup, seed: int, metrics: Sequence[str] = ()
) -> Plan:
    """The plan that asks variants of a run's judges about its labelled outputs.

    Args:
        plan: What the run was made from, as its files are now.
        seed: Divides the outputs into halves.
        metrics: Which metrics; empty for all with labels.

    Raises:
        UsageError: The files have changed since, a metric is not known, or nothing is labelled.
    """
    refuse_changed(plan, run)
    judges = labelled_judges(run, seed, metrics)
    planned_trials = trials_at(plan, {item.index for judge in judges for item in judge.items})
    sheets: list[_JudgeSheet] = []
    for judge in judges:
        first = len(sheets) * len(lineup)
        columns = [
            Variant(
                first + place,
                f"{judge.metric}: {variant.name}" if len(judges) > 1 else variant.name,
                judge.model,
                axes={"metric": judge.metric, "judge": judge.model, "try": variant.name},
            )
            for place, (variant, _) in enumerate(lineup)
        ]
        sheets.append(
            _JudgeSheet(
                run=run.path,
                judge=judge,
                planned_trials=planned_trials,
                names=_names(run, judge),
                lineup=lineup,
                variants=columns,
            )
        )
    summaries = tuple(variant.summary() for variant, _ in lineup)
    record = TryoutRecord(run.meta.id, seed, summaries, tuple(judges))
    settings = [[encode(model.config) for model in variant.models] for variant, _ in lineup]
    providers = [*plan.providers, *(model for _, models in lineup for model in models)]
    return Plan(
        title=f"tryout of {run.meta.title}",
        sheets=[
            Sheet(
                variants=sheet.variants,
                rows=sheet.walked,
                case_count=len(sheet.judge.items),
                size=len(sheet.judge.items) * len(lineup),
                providers=lambda: providers,
            )
            for sheet in sheets
        ],
        identify=lambda: digest(
            "tryout", plan.fingerprint, encode(record.row()), *(b for s in settings for b in s)
        ),
        record=record.row,
        source=plan.source,
        options=options_of(plan.options),
    )


def labelled_judges(run: RunFile, seed: int, metrics: Sequence[str] = ()) -> list[TriedJudge]:
    """The judges of a run that have labels, with the labelled outputs in two halves.

    Raises:
        UsageError: A metric is not known, or nothing is labelled.
    """
    judged = judgements(run, verdicts_only=True)
    refuse_unknown(metrics, judged.names())
    chosen = [one for one in judged.metrics.values() if not metrics or one.metric in metrics]
    judges = [judge for one in chosen if (judge := _tried(run, one, seed)).items]
    if not judges:
        raise UsageError(
            f"run {run.meta.id}: nobody has labelled a random draw of what its judges judged",
            hint=label_hint(run),
        )
    return judges


def _tried(run: RunFile, metric: JudgedMetric, seed: int) -> TriedJudge:
    people = {item.index: (item, ok) for item, ok in peoples_verdicts(run, metric).items()}
    units: dict[str, bool] = {}
    for item, ok in people.values():
        units[item.unit] = units.get(item.unit, True) and ok
    halves = halves_of(units, metric.metric, seed)
    items = tuple(
        TriedItem(
            index=trial.index,
            case=trial.case,
            cluster=people[trial.index][0].cluster,
            half=halves[people[trial.index][0].unit],
            people=people[trial.index][1],
            today=people[trial.index][0].passed,
            votes=ballot_of(trial.outcomes, metric.metric, metric.model),
        )
        for trial in run.at(sorted(people))
    )
    cost = None if run.meta.is_scripted else per_verdict(run, metric)[1]
    return TriedJudge(metric.metric, metric.model, cost, items)


def halves_of(cases: Mapping[str, bool], metric: str, seed: int) -> dict[str, str]:
    """The half of each case, or cluster: with as many good ones in each as can be, and otherwise by a hash of its id.

    Args:
        cases: Whether people pass all labelled outputs of a case.
    """
    order = sorted(cases, key=lambda case: (cases[case], digest(str(seed), metric, case)))
    return {case: CONFIRMING if place % 2 else CHOOSING for place, case in enumerate(order)}


def _names(run: RunFile, judge: TriedJudge) -> dict[int, frozenset[str]]:
    """Of each output the names of its judged expectations."""
    key = judge.metric, judge.model
    return {
        trial.index: frozenset(
            o.name for o in with_parts(trial.outcomes) if (metric_of(o), judge_of(o)) == key
        )
        for trial in run.at(item.index for item in judge.items)
    }


def judges_verdict(outcomes: Sequence[Outcome]) -> Verdict:
    """The rule of a tryout: the judge's verdict, whatever weight it has in the evals."""
    state = state_of(outcomes)
    reason = next((o.reason for o in outcomes if o.outcome == state), "")
    score = {"pass": 1.0, "fail": 0.0}.get(state)
    return Verdict(state, score, reason)
