"""What would decide an undecided result at the least cost: more cases, more repeats of each, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from evenhand.analysis.comparison.case_values import Seen
from evenhand.analysis.gates.gate_results import Advice, GateResult
from evenhand.analysis.summaries.variance_shares import TrialCost, trial_cost, variance_shares
from evenhand.stats.next_sample import least_costly
from evenhand.stats.variance_parts import CaseSides, variance_parts
from evenhand.store.runfile import RunFile


def with_advice(
    results: Iterable[GateResult],
    columns: Mapping[str, tuple[Seen, Seen]],
    run: RunFile,
    asked: int,
) -> Iterator[GateResult]:
    """The results of a gate, those that more cases would decide with what would do so at the least cost.

    Args:
        results: Each with how many more cases would decide it.
        columns: By variant the column of the baseline and that of the run.
        run: The run.
        asked: How many of its trials were run, those taken from the baseline left out.
    """
    cost: TrialCost | None = None
    for result in results:
        if result.more is None or result.verdict != "undecided":
            yield result
            continue
        cost = cost or trial_cost(run, asked)
        yield replace(result, advice=_advice(result, result.more, columns[result.variant], cost))


def _advice(result: GateResult, more: int, columns: tuple[Seen, Seen], cost: TrialCost) -> Advice:
    """What would decide a result: so many more cases, unless repeats of the run's cases do it for less."""
    sides = [*_sides(result, *columns)]
    parts = variance_parts(sides, 1.0 if result.compared and result.compared.data.rates else None)
    tries = [_mean(len(case.sides[k]) for case in sides) for k in (0, 1)] if sides else [1.0, 1.0]
    trials = more * sum(tries)
    if parts is None:
        calls, usd = cost.of(trials)
        return Advice(cases=more, calls=calls, cost_usd=usd)
    way = least_costly(parts, (len(sides) + more) / len(sides), cases=len(sides))
    if not any(way.tries) or way.trials >= trials:
        calls, usd = cost.of(trials)
        cases, again = more, (0, 0)
    else:
        calls, usd = cost.of(way.trials)
        cases, again = round(way.units * len(sides) / parts.units), way.tries
    return Advice(
        cases=cases,
        baseline_repeats=again[0],
        run_repeats=again[1],
        calls=calls,
        cost_usd=usd,
        repeated=parts.repeats is not None,
        clusters=parts.clusters is not None,
        parts=variance_shares(parts),
    )


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


def _mean(numbers: Iterable[int]) -> float:
    every = list(numbers)
    return sum(every) / len(every)
