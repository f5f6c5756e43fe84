"""What a probe would ask and cost, by what its run asked and paid."""

from __future__ import annotations

from evenhand.core.plan import Plan
from evenhand.core.run import CallEnd
from evenhand.report.judged import JudgedMetric, judge_of, judgements, metric_of
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
        asked, paid = _per_verdict(run, metrics[str(axes["metric"]), str(axes["judge"])])
        calls += sheet.size * asked
        costs.append(None if paid is None else sheet.size * paid)
    known = [cost for cost in costs if cost is not None]
    return round(calls), sum(known) if len(known) == len(costs) else None


def _per_verdict(run: RunFile, judge: JudgedMetric) -> tuple[float, float | None]:
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
