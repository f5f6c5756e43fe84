"""A run as one JSON document, `evenhand.run/1`: what `--json` prints and `export` writes.

Trials are written one at a time, so a run of any size passes through in flat memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from msgspec import UNSET

from evenhand.analysis.summaries.classification import classification_rows
from evenhand.analysis.summaries.marks import marked
from evenhand.analysis.summaries.metrics import described, summary_rows
from evenhand.analysis.summaries.preferences import Preferences, preferences
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
from evenhand.analysis.summaries.skill_discovery import TriggerRates, trigger_rates
from evenhand.analysis.summaries.slices import slice_rows
from evenhand.analysis.trust.calibrated import judged_rows
from evenhand.analysis.trust.canaries import canaries_of
from evenhand.analysis.trust.every_label import every_label
from evenhand.analysis.trust.requirements import requirement_rows
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.document import as_object
from evenhand.core.run import Totals, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.json_text import json_text, writer
from evenhand.engine.replay.summary import replay_row
from evenhand.render.call_rows import call_rows
from evenhand.render.findings import low_confidence
from evenhand.render.run_warnings import warnings
from evenhand.render.standings import standing_rows
from evenhand.render.step_rows import bounded_steps
from evenhand.render.trial_document import RunError, RunOutcome, RunTrial, RunVariant
from evenhand.store.labels.label import Label, by_name
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.run/1"


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
        trial: It.
        variants: The run's columns.
        labels: What people say of it; where there is any, the newest of each field and metric is in `labels`.
        parts: Its `steps`, `more_steps` and `calls`, as far as they are asked for.
    """
    error, variant = trial.error, variants[trial.variant]
    return RunTrial(
        case=trial.case,
        variant=RunVariant(prompt=variant.prompt, model=variant.model),
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


def totals_row(totals: Totals) -> dict[str, Any]:
    """Counts, in the keys of the document."""
    return asdict(totals)


def document_head(run: RunFile) -> dict[str, Any]:
    """All of the document but the trials."""
    meta, totals, where = run.meta, run.totals(), marked(run)
    return {
        "schema": SCHEMA,
        "run": {
            "id": meta.id,
            "file": str(run.path),
            "status": meta.status,
            "title": meta.title,
            "source": meta.source,
            "planned": meta.planned,
            "created_at": meta.created_at,
            "finished_at": meta.finished_at,
            "message": meta.message,
            "decided": meta.decided or None,
            "replay": replay_row(run),
        },
        "verdict": verdict_of(run, totals),
        "requirements": requirement_rows(run),
        "totals": totals_row(totals),
        "configuration": {
            "evenhand": meta.version,
            "fingerprint": meta.fingerprint,
            "cases": meta.case_count,
            "repeats": meta.repeats,
            "pass_rate": meta.pass_rate,
            "variants": [asdict(variant) for variant in meta.variants],
            "settings": meta.settings,
            "config": meta.config,
        },
        "usage": [asdict(used) for used in run.usage()],
        "rates": [
            _rate_row(run, rate, repeated, score, latency)
            for rate, repeated, score, latency in zip(
                rates(run), repeats(run), scores(run), latencies(run), strict=True
            )
        ],
        **({"metrics": summary_rows(run)} if described(run) else {}),
        "judged": judged_rows(run),
        "canaries": None
        if (canaries := canaries_of(run)) is None
        else [as_object(one) for one in canaries.rows()],
        "slices": slice_rows(run),
        "classification": classification_rows(run),
        "triggers": [_trigger_row(run, result) for result in trigger_rates(run, where.triggers)],
        "preferences": [_preferred_row(run, result) for result in preferences(run, where.judged)],
        "rankings": standing_rows(run, where.judged),
        "empty_answers": run.empty_answers()[0],
        "low_confidence": low_confidence(run, where.judged)[0],
        "warnings": warnings(run),
        "labels": [_label_row(label) for label in every_label(run)],
    }


def _label_row(label: Label) -> dict[str, Any]:
    row = asdict(label)
    return row if label.metric else {key: value for key, value in row.items() if key != "metric"}


def _rate_row(
    run: RunFile, rate: Rate, repeated: Repeats, score: Mean | None, latency: Mean | None
) -> dict[str, Any]:
    variant = run.meta.variants[rate.variant]
    return {
        "variant": {"prompt": variant.prompt, "model": variant.model},
        "passed": rate.passed,
        "trials": rate.trials,
        "errors": rate.errors,
        "cases": rate.cases,
        **share_row(rate.share),
        "score": _mean_row(score),
        "latency_s": _mean_row(latency),
        "tries": [
            {
                "k": tries.k,
                "cases": tries.cases,
                "at_least_once": share_row(tries.once),
                "every_time": share_row(tries.always),
            }
            for tries in repeated.tries
        ],
        "flaky": [
            {
                # A tally has the id in ASCII, a trial has it as it was given.
                "case": (run.trial(case.first) or case).case,
                "passed": case.tally.passed,
                "trials": case.tally.n,
                "errors": case.tally.errors,
            }
            for case in repeated.flaky
        ],
    }


def _trigger_row(run: RunFile, rates: TriggerRates) -> dict[str, Any]:
    variant = run.meta.variants[rates.variant]
    return {
        "variant": {"prompt": variant.prompt, "model": variant.model},
        "precision": rates.precision.document(),
        "recall": rates.recall.document(),
    }


def _preferred_row(run: RunFile, counts: Preferences) -> dict[str, Any]:
    variant = run.meta.variants[counts.variant]
    sides = {"won": counts.won, "lost": counts.lost, "tied": counts.tied}
    return {
        "variant": {"prompt": variant.prompt, "model": variant.model},
        "name": counts.name,
        **{word: {"count": side.hits, **side.document()} for word, side in sides.items()},
    }


def _mean_row(mean: Mean | None) -> dict[str, float | None] | None:
    """A mean and the ends of its interval; null where an end is not known."""
    return mean and {"mean": mean.value, "low": mean.low, "high": mean.high}
