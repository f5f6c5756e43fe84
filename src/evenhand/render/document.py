"""A run as one JSON document, `evenhand.run/1`: what `--json` prints and `export` writes.

Trials are written one at a time, so a run of any size passes through in flat memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

import msgspec
from msgspec import UNSET

from evenhand.analysis.summaries.classification import classification_rows
from evenhand.analysis.summaries.decisions import Decisions
from evenhand.analysis.summaries.marks import marked
from evenhand.analysis.summaries.metrics import described, summary_rows
from evenhand.analysis.summaries.preferences import preferences
from evenhand.analysis.summaries.rates import (
    Mean,
    Rate,
    Repeats,
    latencies,
    rates,
    repeats,
    scores,
    share_row,
)
from evenhand.analysis.summaries.share_rows import share_of
from evenhand.analysis.summaries.skill_discovery import trigger_rates
from evenhand.analysis.summaries.slices import slice_rows
from evenhand.analysis.trust.beside_people import every_label
from evenhand.analysis.trust.canaries import canaries_of
from evenhand.analysis.trust.judged_document import judged_rows
from evenhand.analysis.trust.requirements import requirement_rows
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.document import as_object, filled
from evenhand.core.requirement import share_required
from evenhand.core.run import Decided, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.json_text import json_text, writer
from evenhand.engine.replay.summary import replay_row
from evenhand.render.findings import low_confidence
from evenhand.render.run_document import (
    RunConfiguration,
    RunFlaky,
    RunHead,
    RunIdentity,
    RunLabel,
    RunMean,
    RunPreference,
    RunRates,
    RunSide,
    RunTries,
    RunTriggers,
)
from evenhand.render.run_warnings import warnings
from evenhand.render.standings import standing_rows
from evenhand.render.trial_document import RunError, RunOutcome, RunTrial
from evenhand.render.trial_steps import bounded_steps, call_rows
from evenhand.store.labels.label import Label, by_name
from evenhand.store.runfile import RunFile


def document(run: RunFile) -> dict[str, Any]:
    """The whole document, in memory; `write_document` writes it as it goes."""
    stepped, variants = run.stepped(), run.meta.variants
    rows = [trial_row(one, variants, **bounded_steps(run, one, stepped)) for one in run.trials()]
    return {**document_head(run), "trials": [as_object(row) for row in rows]}


def write_document(run: RunFile, out: TextIO, *, calls: bool = False) -> int:
    """Writes the document; how many trials there were. `calls`: each trial with its model calls."""
    line = writer(out)
    document = document_head(run)
    labels = ",".join(f"\n{json_text(label)}" for label in document.pop("labels"))
    # Without the closing brace, because the trials are still to come.
    line(f'{json_text(document)[:-1]},"labels":[{labels}],"trials":[')
    count = 0
    stepped = run.stepped()
    for trial in run.trials():
        parts = bounded_steps(run, trial, stepped)
        if calls:
            parts["calls"] = call_rows(run, trial)
        row = trial_row(trial, run.meta.variants, **parts)
        line(("," if count else "") + "\n" + json_text(row))
        count += 1
    line("\n]}\n")
    return count


def trial_row(
    trial: TrialResult, variants: Sequence[Variant], labels: Sequence[Label] = (), **parts: Any
) -> RunTrial:
    """One trial, in the keys of the document.

    Args:
        labels: What people say of it; where there is any, the newest of each field and metric is in `labels`.
        parts: Its `steps`, `more_steps` and `calls`, as far as they are asked for.
    """
    error = trial.error
    return RunTrial(
        case=trial.case,
        variant=variants[trial.variant].names,
        repeat=trial.repeat,
        outcome=trial.outcome,
        score=trial.score,
        output=trial.output,
        error=error and RunError(slug=error.slug, message=error.message, where=error.where),
        latency_s=trial.latency_s,
        cost_usd=trial.cost_usd,
        named_scores=trial.named_scores,
        outcomes=[outcome_row(outcome) for outcome in trial.outcomes],
        description=trial.description,
        prompt=trial.prompt,
        vars=trial.vars,
        metadata=trial.metadata,
        tokens_in=trial.tokens_in,
        tokens_out=trial.tokens_out,
        index=trial.index,
        input=UNSET if trial.input is None else trial.input,
        expected=UNSET if trial.expected is None else trial.expected,
        labels=by_name(labels) if labels else UNSET,
        **parts,
    )


def outcome_row(outcome: Outcome) -> RunOutcome:
    """One settled expectation, in the keys of the document."""
    # Written out: `filled` takes four times as long, and there are as many outcomes as trials, or more.
    return RunOutcome(
        name=outcome.name,
        outcome=outcome.outcome,
        score=outcome.score,
        reason=outcome.reason,
        metadata=outcome.metadata,
        at_least=outcome.at_least,
        at_most=outcome.at_most,
        weight=outcome.weight,
        metric=outcome.metric,
        error=outcome.error,
    )


def document_head(run: RunFile) -> dict[str, Any]:
    """All of the document but the trials."""
    return as_object(_head(run))


def _head(run: RunFile) -> RunHead:
    meta, totals, where = run.meta, run.totals(), marked(run)
    canaries = canaries_of(run)
    return RunHead(
        run=filled(
            RunIdentity,
            meta,
            file=str(run.path),
            decided=msgspec.convert(meta.decided, Decided) if meta.decided else None,
            replay=replay_row(run),
        ),
        verdict=verdict_of(run, totals),
        requirements=requirement_rows(run),
        totals=totals,
        configuration=filled(
            RunConfiguration,
            meta,
            evenhand=meta.version,
            cases=meta.case_count,
            pass_rate=share_required(meta.requirements, meta.pass_rate),
        ),
        usage=run.usage(),
        rates=[
            _rate_row(run, rate, repeated, score, latency)
            for rate, repeated, score, latency in zip(
                rates(run), repeats(run), scores(run), latencies(run), strict=True
            )
        ],
        metrics=summary_rows(run) if described(run) else UNSET,
        judged=judged_rows(run),
        canaries=None if canaries is None else canaries.rows(),
        slices=slice_rows(run),
        classification=classification_rows(run),
        triggers=[
            RunTriggers(
                variant=meta.variants[one.variant].names,
                precision=one.precision.row(),
                recall=one.recall.row(),
            )
            for one in trigger_rates(run, where.triggers)
        ],
        preferences=[
            RunPreference(
                variant=meta.variants[one.variant].names,
                name=one.name,
                won=_side_row(one.won),
                lost=_side_row(one.lost),
                tied=_side_row(one.tied),
            )
            for one in preferences(run, where.judged)
        ],
        rankings=standing_rows(run, where.judged),
        empty_answers=run.empty_answers()[0],
        low_confidence=low_confidence(run, where.judged)[0],
        warnings=warnings(run),
        labels=[
            filled(RunLabel, label, metric=label.metric or UNSET) for label in every_label(run)
        ],
    )


def _rate_row(
    run: RunFile, rate: Rate, repeated: Repeats, score: Mean | None, latency: Mean | None
) -> RunRates:
    return RunRates(
        variant=run.meta.variants[rate.variant].names,
        passed=rate.passed,
        trials=rate.trials,
        errors=rate.errors,
        cases=rate.cases,
        **share_row(rate.share),
        score=_mean_row(score),
        latency_s=_mean_row(latency),
        tries=[
            RunTries(
                k=tries.k,
                cases=tries.cases,
                at_least_once=share_of(tries.once),
                every_time=share_of(tries.always),
            )
            for tries in repeated.tries
        ],
        flaky=[
            RunFlaky(
                # A tally has the id in ASCII, a trial has it as it was given.
                case=(run.trial(case.first) or case).case,
                passed=case.tally.passed,
                trials=case.tally.n,
                errors=case.tally.errors,
            )
            for case in repeated.flaky
        ],
    )


def _side_row(side: Decisions) -> RunSide:
    return RunSide(count=side.hits, n=side.n, errors=side.errors, **share_row(side.share))


def _mean_row(mean: Mean | None) -> RunMean | None:
    """A mean and the ends of its interval; null where an end is not known."""
    if mean is None:
        return None
    least, most = mean.between
    return RunMean(mean=mean.known, least=least, most=most, low=mean.low, high=mean.high)
