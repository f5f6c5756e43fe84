"""What would decide an undecided result at the least cost: more cases, more repeats of each, or both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from evenhand.analysis.comparison.case_values import Seen
from evenhand.analysis.gates.gate_results import Advice, GateResult
from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.summaries.variance_shares import (
    PartShare,
    TrialCost,
    share_of_part,
    trial_cost,
    variance_shares,
)
from evenhand.analysis.trust.consistency import repeat_audits
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.core.score import SHARES
from evenhand.stats.variance_parts import (
    CaseSides,
    Part,
    VarianceParts,
    judge_part,
    least_costly,
    variance_parts,
)
from evenhand.store.runfile import RunFile


def with_advice(
    results: Iterable[GateResult],
    columns: Mapping[str, tuple[Seen, Seen]],
    run: RunFile,
) -> Iterator[GateResult]:
    """The results of a gate, those that more cases would decide with what would do so at the least cost.

    Args:
        results: Each with how many more cases would decide it.
        columns: By variant the column of the baseline and that of the run.
    """
    about: _About | None = None
    for result in results:
        if result.more is None or result.verdict != "undecided":
            yield result
            continue
        # Nothing of the run is read again where everything is decided.
        about = about or _About(_costs(run), _judges(run))
        yield replace(result, advice=_advice(result, result.more, columns[result.variant], about))


class _About(NamedTuple):
    """What a trial takes with those of the other variants, and by metric how a judge's verdicts on one output vary."""

    costs: Mapping[str, TrialCost]
    judges: Mapping[str, Part]


def _costs(run: RunFile) -> dict[str, TrialCost]:
    """By variant, of a trial of each variant of its eval: a further case is asked of all of them.

    Trials taken from the baseline asked nothing.
    """
    run_anew = Counter(trial.variant for trial in run.trials() if not trial.taken)
    variants = run.meta.variants
    alone = [trial_cost(run, {j: run_anew[j]}) for j in range(len(variants))]
    evals: dict[str, TrialCost] = {}
    for variant, cost in zip(variants, alone, strict=True):
        evals[variant.eval] = _both(evals.get(variant.eval, NO_CALLS), cost)
    return {
        name: evals[variant.eval]
        for name, variant in zip(column_names(variants), variants, strict=True)
    }


NO_CALLS = TrialCost(0.0, 0.0)


def _both(one: TrialCost, two: TrialCost) -> TrialCost:
    """Of two trials together; what asked nothing has no price that isn't known."""
    prices = [cost.usd for cost in (one, two) if cost.calls]
    known = [usd for usd in prices if usd is not None]
    return TrialCost(one.calls + two.calls, math.fsum(known) if len(known) == len(prices) else None)


def _judges(run: RunFile) -> dict[str, Part]:
    """By metric, of those that one judge judges and was asked about the same output more than once."""
    metrics = judgements(run).metrics
    often = Counter(metric for metric, _ in metrics)
    return {
        metric: judge_part((one.value, one.low, one.high))
        for (metric, _), audit in repeat_audits(run, metrics).items()
        if often[metric] == 1 and (one := audit.estimate) is not None
    }


def _advice(result: GateResult, more: int, columns: tuple[Seen, Seen], about: _About) -> Advice:
    """What would decide a result: so many more cases, or clusters of them, unless repeats do it for less."""
    sides, cost = [*_sides(result, *columns)], about.costs[result.variant]
    belongs = [case.cluster for case in sides]
    units = belongs.count(None) + len(set(belongs) - {None})
    clusters = units < len(sides)
    # A further cluster has as many cases as these have.
    members = len(sides) / units if clusters else 1
    # The baseline has those that were left out.
    had = 0 if result.compared is None else result.compared.predicted
    if more * members <= had:
        # Only the run has to ask for them.
        cases = math.ceil(more * members)
        calls, usd = cost.of(cases * fmean(len(case.sides[1]) for case in sides))
        return Advice(cases=cases, calls=calls, cost_usd=usd, of_sample=True)
    parts = variance_parts(sides, _reach(result))
    tries = [fmean(len(case.sides[k]) for case in sides) for k in (0, 1)] if sides else [1.0, 1.0]
    trials = more * members * sum(tries) - had * tries[0]
    if parts is None:
        calls, usd = cost.of(trials)
        # Cases may be too few to say what their repeats save, and repeated all the same.
        repeated = any(len(side) > 1 for case in sides for side in case.sides)
        return Advice(cases=more, calls=calls, cost_usd=usd, repeated=repeated, clusters=clusters)
    way = least_costly(parts, (units + more) / units, cases=len(sides))
    if not any(way.tries) or way.trials >= trials:
        calls, usd = cost.of(trials)
        cases, again = more, (0, 0)
    else:
        calls, usd = cost.of(way.trials)
        cases, again = way.units, way.tries
    return Advice(
        cases=cases,
        baseline_repeats=again[0],
        run_repeats=again[1],
        calls=calls,
        cost_usd=usd,
        repeated=parts.repeats is not None,
        clusters=clusters,
        parts=[*variance_shares(parts), *_judge(result, sides, parts, about.judges)],
    )


def _reach(result: GateResult) -> float | None:
    """How far apart two scores of a trial can be; None where nobody knows."""
    if result.compared is None:
        return None
    data = result.compared.data.least
    return 1.0 if data.rates else data.scale[1] if data.scale and data.scaled else None


def _judge(
    result: GateResult,
    sides: Iterable[CaseSides],
    parts: VarianceParts,
    judges: Mapping[str, Part],
) -> Iterator[PartShare]:
    """The judge's share, where the metric is its verdict and both sides have the same judge."""
    part = judges.get(result.metric)
    compared = result.compared
    if part is None or not parts.measured or compared is None or compared.judges is not None:
        return
    if all(value in SHARES for case in sides for values in case.sides for value in values):
        own = parts.measured * parts.members / sum(1 / tries for tries in parts.tries)
        yield share_of_part("judge", part, own)


def _sides(result: GateResult, mine: Seen, theirs: Seen) -> Iterator[CaseSides]:
    """The cases that were compared and have a value on both sides."""
    compared = result.compared
    unlike = set[str]().union(*compared.unlike.values()) if compared is not None else set[str]()
    belongs = theirs.clusters | mine.clusters
    for number in mine.cases:
        if number not in theirs.cases or mine.cases.name(number) in unlike:
            continue
        one = mine.value(result.metric, number).values
        two = theirs.value(result.metric, number).values
        if one and two:
            yield CaseSides((one, two), belongs.get(number))
