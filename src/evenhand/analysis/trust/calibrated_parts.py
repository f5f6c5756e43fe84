"""Which calibration of a judge holds for which evals of a run, and what has changed since it was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.analysis.trust.calibration_document import CalibrationJudge
from evenhand.analysis.trust.judgements.judged import JudgedMetric, Judgements
from evenhand.analysis.trust.trust_rules import (
    Bound,
    Evidence,
    bound_to,
    changed_since,
    evidence_of,
)
from evenhand.store.runfile import RunFile


def calibrated_parts(
    run: RunFile, metric: JudgedMetric, judged: Judgements, files: Sequence[CalibrationJudge]
) -> Iterator[tuple[JudgedMetric, CalibrationJudge | None, tuple[str, ...]]]:
    """What a judge said in the evals of each calibration of it, and what has changed since; last, in all other evals.

    Evals that share a criterion share its name: a calibration of some says nothing of the others.
    """
    rule = run.rules().get(metric.metric)
    for file in files:
        # Whatever its evals are called by now. Of fewer evals, a file may still be bound to what they were with others.
        as_many = len(file.of_evals) == len(metric.evals)
        if as_many and not _changed(metric, judged, file.bound, file.seen, rule):
            yield metric, file, ()
            return
    remaining, each = metric.evals, metric.by_eval(judged.parts.variants)
    for file in files:
        for evals, bound, evidence in _bindings(file):
            names = evals & remaining
            alone = each[next(iter(names))] if len(names) == 1 else None
            part = alone or metric.within(names, judged.parts.variants)
            remaining -= evals
            if part.items:
                yield part, file, _changed(part, judged, bound, evidence, rule)
    others = metric.within(remaining, judged.parts.variants)
    if others.items:
        yield others, None, ()


def _bindings(file: CalibrationJudge) -> Iterator[tuple[set[str], Bound, Evidence]]:
    """The evals that a calibration is of, each with what it holds for."""
    for one in file.evals:
        yield {one.eval}, one.bound, one.seen
    if not file.evals:
        yield file.of_evals, file.bound, file.seen


def _changed(
    metric: JudgedMetric, judged: Judgements, before: Bound, seen: Evidence, rule: str | None
) -> tuple[str, ...]:
    """What a calibration is bound to and is otherwise in a run; `rule` is the run's own, None where it has none."""
    bound, evidence = bound_to(metric, judged, rule or ""), evidence_of(metric, judged)
    return changed_since(before, bound, seen, evidence, with_rule=rule is not None)
