"""A run as one JSON document, `evenhand.run/1`: what `--json` prints and `export` writes.

Keys are only ever added. Trials are written one at a time, so a run of any size passes through in flat memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from evenhand.core.encoding import encode
from evenhand.core.run import Totals, TrialResult, verdict
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.run/1"
_LONE = re.compile("[\ud800-\udfff]")


def document(run: RunFile) -> dict[str, Any]:
    """The whole document, in memory; `write_document` writes it as it goes."""
    return {**_head(run), "trials": [trial_row(trial, run.meta.variants) for trial in run.trials()]}


def write_document(run: RunFile, out: TextIO) -> int:
    """Writes the document; how many trials there were."""
    head = json_text(_head(run))
    out.write(head[:-1] + ',"trials":[')
    count = 0
    for trial in run.trials():
        out.write("," if count else "")
        out.write("\n" + json_text(trial_row(trial, run.meta.variants)))
        count += 1
    out.write("\n]}\n")
    return count


def trial_row(trial: TrialResult, variants: Sequence[Variant]) -> dict[str, Any]:
    """One trial, in the keys of the document."""
    variant = variants[trial.variant]
    error = trial.error
    return {
        "case": trial.case,
        "variant": {"prompt": variant.prompt, "model": variant.model},
        "repeat": trial.repeat,
        "outcome": trial.outcome,
        "score": trial.score,
        "output": trial.output,
        "error": None if error is None else {"slug": error.slug, "message": error.message, "hint": error.where},
        "latency_s": trial.latency_s,
        "cost_usd": trial.cost_usd,
        "named_scores": dict(trial.named_scores),
        "outcomes": [outcome_row(outcome) for outcome in trial.outcomes],
        "index": trial.index,
        "description": trial.description,
        "reason": trial.reason,
        "prompt": trial.prompt,
        "vars": dict(trial.vars),
        "metadata": dict(trial.metadata),
        "tokens_in": trial.tokens_in,
        "tokens_out": trial.tokens_out,
        "calls": trial.calls,
        "cached": trial.cached,
        "log": trial.log,
    }


def outcome_row(outcome: Outcome) -> dict[str, Any]:
    """One settled expectation, in the keys of the document."""
    return {
        "name": outcome.name,
        "outcome": outcome.outcome,
        "score": outcome.score,
        "reason": outcome.reason,
        "weight": outcome.weight,
        "metric": outcome.metric,
        "metadata": dict(outcome.metadata),
        "error": outcome.error or None,
    }


def totals_row(totals: Totals) -> dict[str, Any]:
    """Counts, in the keys of the document."""
    return asdict(totals)


def json_text(value: Mapping[str, Any]) -> str:
    """A value as one line of JSON, its keys in their own order, in UTF-8 whatever text a model wrote."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        text = encode(value).decode()
    return _LONE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _head(run: RunFile) -> dict[str, Any]:
    meta, totals = run.meta, run.totals()
    return {
        "schema": SCHEMA,
        "run": {
            "id": meta.id,
            "file": str(run.path),
            "status": meta.status,
            "title": meta.title,
            "source": meta.source,
            "fingerprint": meta.fingerprint,
            "planned": meta.planned,
            "cases": meta.case_count,
            "repeats": meta.repeats,
            "created_at": meta.created_at,
            "finished_at": meta.finished_at,
            "message": meta.message,
            "version": meta.version,
        },
        "verdict": verdict(totals, meta.planned, meta.pass_rate),
        "totals": totals_row(totals),
    }
