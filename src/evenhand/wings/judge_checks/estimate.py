"""What a probe would ask and cost, by what its run asked and paid."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import cast

from evenhand.analysis.trust.judgements.judged import (
    JudgedMetric,
    instrument_of,
    judge_of,
    judgements,
    metric_of,
)
from evenhand.core.message import Usage
from evenhand.core.plan import Plan
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.run import CallRecord, TrialResult
from evenhand.core.score import with_parts
from evenhand.core.scripted import script_answers
from evenhand.providers.cascade import CascadeJudge
from evenhand.providers.prices import Price, cost, price_by_id
from evenhand.providers.wrapped import Wrapped
from evenhand.scorers.text import value_text
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.asking import ProbeBody
from evenhand.wings.judge_checks.judge_variants import JudgeVariant
from evenhand.wings.judge_checks.tried import TriedJudge

LOOKED_AT = 50
"""So many verdicts of a judge say what one costs."""


class ProbeEstimate(Record, frozen=True):
    """About what a probe asks judges.

    Attributes:
        answers: How many answers it is about.
        least: About how many calls it makes at least: attacks on an answer of another case, which the judge may pass
            as it is, are left out.
        most: About how many calls it makes at most.
        different: How many of these are different questions: the cache answers what is asked again.
        cost_usd: About what those cost; None where the run does not know what its judges cost.
    """

    answers: int
    least: int
    most: int
    different: int
    cost_usd: float | None


def probe_estimate(run: RunFile, plan: Plan, *, cached: bool = True) -> ProbeEstimate:
    """About how many calls to judges a probe makes, and about what they cost, by what the run asked and paid.

    Args:
        cached: Whether the cache answers what is asked again.
    """
    metrics = judgements(run, verdicts_only=True).metrics
    verdicts = {key: per_verdict(run, judge) for key, judge in metrics.items()}
    answers, least, most, costs = 0, 0.0, 0.0, list[float | None]()
    texts: set[tuple[str, ...]] = set()
    different = 0.0
    questions = _Questions(run)
    for planned in plan.trials():
        body = cast("ProbeBody", planned.body)
        axes = planned.variant.axes
        calls, paid = verdicts[str(axes["metric"]), str(axes["judge"])]
        answers += 1
        most += calls
        least += calls * (body.rests_on is None)
        question = (str(axes["judge"]), *questions.of(body))
        if not cached or question not in texts:
            texts.add(question)
            different += calls
            costs.append(paid)
    known = [cost for cost in costs if cost is not None]
    # One unknown price makes the sum unknown, not smaller.
    total = sum(known) if len(known) == len(costs) else None
    return ProbeEstimate(answers, round(least), round(most), round(different), total)


class _Questions:
    """Tells the questions of a probe apart: by the text to judge, and what the judge was asked about it in the run."""

    def __init__(self, run: RunFile) -> None:
        self._run = run
        self._trials: dict[int, TrialResult | None] = {}

    def of(self, body: ProbeBody) -> tuple[str, ...]:
        """Equal for equal questions."""
        item = body.item
        if item.index not in self._trials:
            self._trials[item.index] = self._run.trial(item.index)
        trial = self._trials[item.index]
        if trial is None:
            return (body.metric, str(item.index), body.attack.kind, str(body.turn))
        answer = value_text(trial.output) if item.answer is None else item.answer
        judged = sorted(
            instrument_of(o) for o in with_parts(trial.outcomes) if o.name in item.names
        )
        return (body.metric, *judged, body.attack.make(answer, "", body.turn))


def per_verdict(run: RunFile, judge: JudgedMetric) -> tuple[float, float | None]:
    """How many calls a verdict took on average, and what it cost; None where that is not known.

    What a script answered, or the cache, costs what as many tokens do at list price.
    """
    verdicts, calls = 0, list[CallRecord | None]()
    for trial in run.at(item.index for item in judge.items[:LOOKED_AT]):
        answered = {(call.start.key, call.start.nth): call for call in run.calls(trial.index)}
        for outcome in with_parts(trial.outcomes):
            if (metric_of(outcome), judge_of(outcome)) == (judge.metric, judge.model):
                verdicts += 1
                calls += [answered.get(call) for call in outcome.rests_on]
    costs = [None if call is None else _cost_of(call) for call in calls]
    known = [cost for cost in costs if cost is not None]
    cost = sum(known) / verdicts if known and len(known) == len(costs) else None
    return max(1.0, len(calls) / verdicts), cost


def _cost_of(call: CallRecord) -> float | None:
    """What a call costs where a model answers it; None where that is not known."""
    end = call.end
    if end is None or end.cost_usd:
        return None if end is None else end.cost_usd
    price = price_by_id(call.start.provider)
    usage = Usage(end.tokens_in, end.tokens_out)
    return end.cost_usd if price is None else cost(price, usage)


def tryout_estimate(
    run: RunFile, judge: TriedJudge, variant: JudgeVariant, models: Sequence[Provider]
) -> tuple[int, float | None]:
    """About how many calls a variant takes for the labelled outputs of a judge, and what they cost.

    The cost is in US dollars, by the tokens of today's judge; None where a price or those tokens are not known.
    """
    metric = judgements(run, verdicts_only=True).metrics[judge.metric, judge.model]
    per_answer, paid = per_verdict(run, metric)
    # Today's judge may be a panel, whose calls are divided among its members.
    members = max(1, max((len(item.votes) for item in judge.items), default=1))
    one = per_answer / members
    size = len(judge.items)
    # A cascade's judges are both asked: labels are to say what each may decide.
    models = [
        part
        for model in models
        for part in ((model.first, model.then) if isinstance(model, CascadeJudge) else (model,))
    ]
    if not models:
        cost = None if paid is None else size * paid * variant.repeats
        return round(size * per_answer * variant.repeats), cost
    calls = round(size * one * len(models) * variant.repeats)
    tokens = _tokens(run, metric)
    if tokens is None:
        return calls, None
    prices = [price_of_call(model, tokens) for model in models]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return calls, None
    return calls, size * one * variant.repeats * sum(known)


def price_of_call(model: Provider, tokens: tuple[float, float]) -> float | None:
    """What one call of a model costs, in US dollars; None where its price is not known.

    Args:
        tokens: How many go in and come out.
    """
    # What wraps a model has no price; the model inside has.
    while isinstance(model, Wrapped):
        model = model.provider
    if not model.paid:
        return 0.0
    usage = Usage(round(tokens[0]), round(tokens[1]))
    price = getattr(model, "price", None)
    # Where a script answers, no model has a price of its own.
    if price is None and script_answers():
        price = price_by_id(model.id)
    return cost(price, usage) if isinstance(price, Price) else None


def _tokens(run: RunFile, judge: JudgedMetric) -> tuple[float, float] | None:
    """The tokens of one call to a judge, in and out, on average; None where they are not known."""
    ends = [
        call.end
        for item in judge.items[:LOOKED_AT]
        for call in run.calls(item.index)
        if call.start.role == "judge" and call.end is not None and not call.end.error
    ]
    counts = [
        (end.tokens_in, end.tokens_out)
        for end in ends
        if end.tokens_in is not None and end.tokens_out is not None
    ]
    if not counts:
        return None
    return fmean(one for one, _ in counts), fmean(other for _, other in counts)
