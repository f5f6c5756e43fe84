"""Reads what a tryout of judges came to from its run's file.

A panel also stands there with its votes weighted by labels. Outputs that choose have the verdict of weights that were
fitted to other cases of their half, outputs that confirm that of weights fitted to the half that chooses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from evenhand.analysis.trust.agreement import tells_apart
from evenhand.analysis.trust.judgements.judged import CascadeStages, stages_of
from evenhand.analysis.trust.jury_weights import Ballot, ballot_of, folds_of, turned, vote_table
from evenhand.core.run import TrialResult
from evenhand.stats.cascading import JudgedTwice, Limits, limits_of
from evenhand.stats.votes import cross_fitted, fitted_weights
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.tried import (
    CHOOSING,
    TODAY,
    WEIGHTED,
    JudgeTryout,
    Tried,
    TriedCascade,
    TriedItem,
    TriedJudge,
    Tryout,
    decide,
    record_of,
)


def tryout_of(run: RunFile) -> Tryout:
    """Reads what a tryout came to, as far as it has come.

    Raises:
        StoreError: The run cannot be read.
    """
    record = record_of(run.meta)
    reading = _Reading(run)
    judges = [reading.judge(judge, record.names) for judge in record.judges]
    decide(judges)
    return Tryout(
        run=record.run,
        tryout=run.meta.id,
        seed=record.seed,
        variants=record.variants,
        judges=tuple(judges),
        calls=reading.calls,
        cost_usd=reading.cost_usd if reading.priced else None,
    )


class _Reading:
    """Reads the verdicts of a tryout's run, and what they cost."""

    def __init__(self, run: RunFile) -> None:
        self.calls, self.cost_usd, self.priced = 0, 0.0, True
        self._verdicts: defaultdict[int, dict[str, bool | None]] = defaultdict(dict)
        self._ballots: defaultdict[int, dict[str, Ballot]] = defaultdict(dict)
        self._stages: defaultdict[int, dict[str, CascadeStages]] = defaultdict(dict)
        self._models: defaultdict[int, dict[str, Paid]] = defaultdict(dict)
        self._paid: defaultdict[int, list[float]] = defaultdict(list)
        self._columns: dict[tuple[str, str, str], int] = {}
        for variant in run.meta.variants:
            axes = variant.axes
            self._columns[str(axes["metric"]), str(axes["judge"]), str(axes["try"])] = variant.index
        metrics = {variant.index: str(variant.axes["metric"]) for variant in run.meta.variants}
        paid = _paid_trials(run)
        for trial in run.trials():
            self._add(trial, metrics[trial.variant], paid)

    def _add(self, trial: TrialResult, metric: str, paid: Mapping[int, Paid]) -> None:
        verdict = {"pass": True, "fail": False}.get(trial.outcome)
        self._verdicts[trial.variant][trial.case] = verdict
        if ballot := ballot_of(trial.outcomes, metric):
            self._ballots[trial.variant][trial.case] = ballot
        stages = next(filter(None, map(stages_of, trial.outcomes)), None)
        of_models = paid.get(trial.index, {})
        if stages is not None:
            self._stages[trial.variant][trial.case] = stages
            self._models[trial.variant][trial.case] = of_models
        known = [one for one in of_models.values() if one is not None]
        cost = sum(known) if of_models and len(known) == len(of_models) else None
        if verdict is not None and cost is not None:
            self._paid[trial.variant].append(cost)
        if trial.judged is not None:
            self.calls += trial.judged.calls
            self.priced = self.priced and trial.judged.cost_usd is not None
            self.cost_usd += trial.judged.cost_usd or 0.0

    def judge(self, judge: TriedJudge, names: Sequence[str]) -> JudgeTryout:
        """What one judge came to, before anything is decided."""
        verdicts = {item.index: item.today for item in judge.items}
        today = Tried(TODAY, judge.items, verdicts, judge.per_verdict_usd)
        ballots = {item.index: item.votes for item in judge.items if item.votes}
        variants = [*self._weighted(today, ballots)]
        for name in names:
            column = self._columns[judge.metric, judge.model, name]
            answers, votes = self._verdicts[column], self._ballots[column]
            costs = self._paid[column]
            one = Tried(
                name,
                judge.items,
                {item.index: answers[item.name] for item in judge.items if item.name in answers},
                sum(costs) / len(costs) if costs else None,
            )
            stages, paid = self._stages[column], self._models[column]
            if stages:
                one = cascaded(
                    one,
                    {item.index: stages[item.name] for item in judge.items if item.name in stages},
                    {item.index: paid[item.name] for item in judge.items if item.name in paid},
                )
            ballots = {item.index: votes[item.name] for item in judge.items if item.name in votes}
            variants += [one, *self._weighted(one, ballots)]
        return JudgeTryout(judge=judge, today=today, variants=variants)

    def _weighted(self, panel: Tried, ballots: Mapping[int, Ballot]) -> list[Tried]:
        """A panel with its votes weighted by labels; none where it is not of several judges."""
        items = [item for item in panel.items if panel.verdicts.get(item.index) is not None]
        items = [item for item in items if item.index in ballots]
        models, votes = vote_table([ballots[item.index] for item in items])
        if len(models) < 2:
            return []
        votes = turned(votes, [panel.verdicts[item.index] is True for item in items])
        by_item = {item.index: row for item, row in zip(items, votes, strict=True)}
        first = [item for item in items if item.half == CHOOSING]
        if not first:
            return []
        answers, passes = [by_item[item.index] for item in first], [item.people for item in first]
        own = cross_fitted(answers, passes, folds_of([item.unit for item in first]))
        weights = fitted_weights(answers, passes)
        verdicts: dict[int, bool | None] = dict.fromkeys(panel.verdicts)
        verdicts |= {item.index: weights.passes(by_item[item.index]) for item in items}
        verdicts |= {item.index: passed for item, passed in zip(first, own, strict=True)}
        return [Tried(f"{panel.name}{WEIGHTED}", panel.items, verdicts, panel.per_verdict_usd)]


def _paid_trials(run: RunFile) -> Mapping[int, Paid]:
    """What the judges of each trial cost, by model; None where that is not known.

    An answer from the cache counts as what other calls of that model cost on average in this run.
    """
    paid: defaultdict[str, list[float]] = defaultdict(list)
    calls: list[tuple[int, str, float | None]] = []
    for call in run.calls():
        if call.start.role == "judge" and call.end is not None:
            cost = None if call.end.origin == "cache" else call.end.cost_usd
            if cost is not None:
                paid[call.end.model].append(cost)
            calls.append((call.start.trial, call.end.model, cost))
    means = {model: sum(costs) / len(costs) for model, costs in paid.items()}
    costs: defaultdict[int, dict[str, float | None]] = defaultdict(dict)
    for trial, model, cost in calls:
        before, own = costs[trial].get(model, 0.0), means.get(model) if cost is None else cost
        costs[trial][model] = None if before is None or own is None else before + own
    return costs


Paid = Mapping[str, float | None]
"""What the judges of an output cost, by model."""


def cascaded(both: Tried, stages: Mapping[int, CascadeStages], paid: Mapping[int, Paid]) -> Tried:
    """The cascade: whose verdict stands on each output, and what that takes.

    Args:
        both: The verdicts of its second judge, who was asked about all.
        stages: What both said, by output.
        paid: What both cost, by output.

    Returns:
        `both` as it is where no limits can be chosen: a run of it would ask both, too.
    """
    some = next(iter(stages.values()), None)
    choosing = [one for one in both.items if one.half == CHOOSING and one.index in stages]
    if some is None or not choosing:
        return both
    tells = tells_apart(
        [
            (passed, one.people)
            for one in choosing
            if (passed := stages[one.index].first_passed) is not None
        ]
    )

    def judged(one: TriedItem) -> JudgedTwice:
        both_judges = stages[one.index]
        verdict = both.verdicts.get(one.index)
        return JudgedTwice(
            first=both_judges.first if tells else None,
            then=both_judges.then or 0.0,
            first_right=both_judges.first_passed is one.people,
            then_right=None if verdict is None else verdict is one.people,
        )

    everything = {one.index: judged(one) for one in both.items if one.index in stages}
    units: set[str] = set()
    drawn: list[JudgedTwice] = []
    for one in choosing:  # of several outputs of a case or cluster, which may be alike, one counts
        if one.unit not in units:
            units.add(one.unit)
            drawn.append(everything[one.index])
    limits = limits_of([drawn], list(everything.values()), some.risk)
    if limits is None:
        return both
    return _by_limits(both, stages, paid, everything, limits)


def _by_limits(
    both: Tried,
    stages: Mapping[int, CascadeStages],
    paid: Mapping[int, Paid],
    everything: Mapping[int, JudgedTwice],
    limits: Limits,
) -> Tried:
    verdicts = dict(both.verdicts)
    decides = {index: limits.stage(one) for index, one in everything.items()}
    for index, stage in decides.items():
        if stage != "then":
            verdicts[index] = stages[index].first_passed if stage == "first" else None
    costs = [
        cost
        for index, stage in decides.items()
        if (cost := _cost(stages[index], paid.get(index, {}), alone=stage == "first")) is not None
    ]
    words = list(decides.values())
    return replace(
        both,
        verdicts=verdicts,
        per_verdict_usd=sum(costs) / len(costs) if costs else None,
        cascade=TriedCascade(
            risk=next(iter(stages.values())).risk,
            first=limits.first,
            then=limits.then,
            decided_first=words.count("first"),
            decided_then=words.count("then"),
            people=words.count("people"),
        ),
    )


def _cost(stages: CascadeStages, paid: Paid, *, alone: bool) -> float | None:
    """What an output costs: the first judge, and the second one where the first does not decide."""
    first, then = (paid.get(model) for model in stages.judges)
    if first is None or alone:
        return first
    return None if then is None else first + then
