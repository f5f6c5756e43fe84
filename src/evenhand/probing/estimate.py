"""What a probe would ask and cost, by what its run asked and paid."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from evenhand.core.message import Usage
from evenhand.core.plan import Plan
from evenhand.core.provider import Provider
from evenhand.core.run import CallEnd
from evenhand.probing.judge_variants import JudgeVariant
from evenhand.providers.prices import Price, cost
from evenhand.providers.wrapped import Wrapped
from evenhand.report.judged import JudgedMetric, judge_of, judgements, metric_of
from evenhand.report.tryout_record import TriedJudge
from evenhand.store.runfile import RunFile

LOOKED_AT = 50
"""So many verdicts of a judge say what one costs."""


def estimated_cost(run: RunFile, plan: Plan) -> tuple[int, float | None]:
    """About how many calls to judges a probe makes, and about what they cost, by what the run asked and paid.

    The cost is in US dollars; None where the run does not know what its judges cost. What the cache answers costs
    nothing, and is counted all the same.

    Args:
        run: The run that is probed.
        plan: The probe's plan.
    """
    metrics = judgements(run, verdicts_only=True).metrics
    calls, costs = 0.0, list[float | None]()
    for sheet in plan.sheets:
        axes = sheet.variants[0].axes
        asked, paid = per_verdict(run, metrics[str(axes["metric"]), str(axes["judge"])])
        calls += sheet.size * asked
        costs.append(None if paid is None else sheet.size * paid)
    known = [cost for cost in costs if cost is not None]
    return round(calls), sum(known) if len(known) == len(costs) else None


def per_verdict(run: RunFile, judge: JudgedMetric) -> tuple[float, float | None]:
    """How many calls a verdict took on average, and what it cost; None where that is not known."""
    verdicts, ends = 0, list[CallEnd | None]()
    for trial in run.at(item.index for item in judge.items[:LOOKED_AT]):
        answered = {(call.start.key, call.start.nth): call.end for call in run.calls(trial.index)}
        for outcome in trial.outcomes:
            if (metric_of(outcome), judge_of(outcome)) == (judge.metric, judge.model):
                verdicts += 1
                ends += [answered.get(call) for call in outcome.rests_on]
    costs = [None if end is None else end.cost_usd for end in ends]
    known = [cost for cost in costs if cost is not None]
    cost = sum(known) / verdicts if known and len(known) == len(costs) else None
    return max(1.0, len(ends) / verdicts), cost


def tryout_estimate(
    run: RunFile, judge: TriedJudge, variant: JudgeVariant, models: Sequence[Provider]
) -> tuple[int, float | None]:
    """About how many calls a variant takes for the labelled outputs of a judge, and what they cost.

    The cost is in US dollars, by the tokens of today's judge; None where a price or those tokens are not known.
    """
    metric = judgements(run, verdicts_only=True).metrics[judge.metric, judge.model]
    asked, paid = per_verdict(run, metric)
    members = max(1, max((len(item.votes) for item in judge.items), default=1))
    one = asked / members
    size = len(judge.items)
    if not models:
        cost = None if paid is None else size * paid * variant.repeats
        return round(size * asked * variant.repeats), cost
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
    while isinstance(model, Wrapped):
        model = model.provider
    if not model.paid:
        return 0.0
    usage = Usage(round(tokens[0]), round(tokens[1]))
    price = getattr(model, "price", None)
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
