"""A run as promptfoo's results JSON, version 3, for tools that read those.

An error is an error there too (`failureReason` 2), never a failed assertion. The format has no word for what did not
apply, which passes there, and no room for a missing score: an error's is 0, and its row says that it is an error.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TextIO

from evenhand.core.encoding import digest
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.report.document import json_text, writer
from evenhand.store.runfile import RunFile

_REASON = {"pass": 0, "not_applicable": 0, "fail": 1, "error": 2}


class _Column:
    """What promptfoo sums up for each column."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.score = 0.0
        self.tests = {"pass": 0, "fail": 0, "error": 0}
        self.asserts = {"pass": 0, "fail": 0}
        self.latency_ms = 0.0
        self.cost = 0.0
        self.tokens = [0, 0, 0, 0]
        self.named: dict[str, float] = {}
        self.named_count: dict[str, int] = {}

    def add(self, trial: TrialResult) -> None:
        self.score += trial.score or 0.0
        self.tests["pass" if trial.outcome == "not_applicable" else trial.outcome] += 1
        for outcome in trial.outcomes:
            self.asserts["pass" if outcome.outcome in ("pass", "not_applicable") else "fail"] += 1
        self.latency_ms += (trial.latency_s or 0.0) * 1000
        self.cost += trial.cost_usd or 0.0
        self.tokens[0] += trial.tokens_in or 0
        self.tokens[1] += trial.tokens_out or 0
        self.tokens[2] += _replayed(trial)
        self.tokens[3] += trial.calls
        for name, value in trial.named_scores.items():
            self.named[name] = self.named.get(name, 0.0) + value
            self.named_count[name] = self.named_count.get(name, 0) + 1

    def row(self) -> dict[str, Any]:
        variant = self.variant
        return {
            "id": digest(variant.prompt),
            "raw": variant.prompt_raw,
            "label": variant.prompt,
            "provider": variant.model,
            "metrics": {
                "score": self.score,
                "testPassCount": self.tests["pass"],
                "testFailCount": self.tests["fail"],
                "testErrorCount": self.tests["error"],
                "assertPassCount": self.asserts["pass"],
                "assertFailCount": self.asserts["fail"],
                "totalLatencyMs": round(self.latency_ms),
                "tokenUsage": _tokens(*self.tokens),
                "namedScores": self.named,
                "namedScoresCount": self.named_count,
                "cost": self.cost,
            },
        }


def write_promptfoo(run: RunFile, out: TextIO) -> int:
    """Writes the run; how many trials there were."""
    meta = run.meta
    line = writer(out)
    columns = [_Column(variant) for variant in meta.variants]
    cases: dict[tuple[str, int], int] = {}
    started = _utc(meta.created_at)
    line(f'{{"evalId":"eval-{meta.id}","results":{{"version":3,"timestamp":"{started}","results":[')
    count = 0
    for trial in run.trials():
        columns[trial.variant].add(trial)
        test = cases.setdefault((trial.case, trial.repeat), len(cases))
        row = _result(trial, meta.variants[trial.variant], test)
        line(("," if count else "") + "\n" + json_text(row))
        count += 1
    line('\n],"prompts":[' + ",".join(json_text(column.row()) for column in columns))
    line('],"stats":' + json_text(_stats(run, columns)) + '},"config":' + json_text(meta.config))
    about = {
        "evenhandVersion": meta.version,
        "exportedAt": _utc(time.time()),
        "evaluationCreatedAt": started,
    }
    line(',"shareableUrl":null,"metadata":' + json_text(about) + "}\n")
    return count


def _stats(run: RunFile, columns: Sequence[_Column]) -> dict[str, Any]:
    meta, totals = run.meta, run.totals()
    took = round(((meta.finished_at or meta.created_at) - meta.created_at) * 1000)
    replayed = sum(column.tokens[2] for column in columns)
    return {
        "successes": totals.passed + totals.not_applicable,
        "failures": totals.failed,
        "errors": totals.errors,
        "tokenUsage": _tokens(totals.tokens_in, totals.tokens_out, replayed, totals.calls),
        "durationMs": took,
        "evaluationDurationMs": took,
    }


def _result(trial: TrialResult, variant: Variant, test: int) -> dict[str, Any]:
    passed = trial.outcome in ("pass", "not_applicable")
    tokens = _tokens(trial.tokens_in or 0, trial.tokens_out or 0, _replayed(trial), trial.calls)
    problem = trial.error.message if trial.error else trial.reason
    cost = {} if trial.cost_usd is None else {"cost": trial.cost_usd}
    unanswered = trial.outcome == "error" and trial.output is None
    return {
        "id": f"{trial.index}",
        "testIdx": test,
        "promptIdx": variant.index,
        "promptId": digest(variant.prompt),
        "prompt": {"raw": trial.prompt, "label": variant.prompt},
        "provider": {"id": variant.provider_id or variant.model, "label": variant.model},
        "vars": trial.vars,
        "testCase": {
            **({"description": trial.description} if trial.description else {}),
            "vars": trial.vars,
            "assert": [_assertion(outcome) for outcome in trial.outcomes],
            "metadata": trial.metadata,
        },
        "response": {
            **({"error": problem} if unanswered else {"output": trial.output}),
            "cached": trial.calls > 0 and trial.cached == trial.calls,
            **cost,
            "tokenUsage": tokens,
            "latencyMs": round((trial.latency_s or 0.0) * 1000),
        },
        **({} if passed else {"error": problem or "It failed"}),
        "success": passed,
        "score": trial.score or 0.0,
        "failureReason": _REASON[trial.outcome],
        "namedScores": trial.named_scores,
        "latencyMs": round((trial.latency_s or 0.0) * 1000),
        **cost,
        "tokenUsage": tokens,
        "metadata": trial.metadata,
        "gradingResult": None if unanswered and not trial.outcomes else _grading(trial, passed),
    }


def _grading(trial: TrialResult, passed: bool) -> dict[str, Any]:
    reason = trial.error.message if trial.error else trial.reason
    return {
        "pass": passed,
        "score": trial.score or 0.0,
        "reason": reason or ("All assertions passed" if trial.outcomes else "No assertions"),
        "namedScores": trial.named_scores,
        "componentResults": [_component(outcome) for outcome in trial.outcomes],
    }


def _component(outcome: Outcome) -> dict[str, Any]:
    return {
        "pass": _passes(outcome),
        "score": outcome.score or 0.0,
        "reason": outcome.reason or ("Assertion passed" if outcome.outcome == "pass" else ""),
        "assertion": _assertion(outcome),
        "namedScores": outcome.named,
        "metadata": {**outcome.metadata, "graderError": True}
        if outcome.outcome == "error"
        else outcome.metadata,
    }


def _assertion(outcome: Outcome) -> dict[str, Any]:
    """What was asserted, as far as an outcome's name says it: `contains "30 days"`."""
    type_, _, value = outcome.name.partition(" ")
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return {
        "type": type_,
        **({"value": value} if value else {}),
        **({"weight": outcome.weight} if outcome.weight != 1 else {}),
        **({"metric": outcome.metric} if outcome.metric else {}),
    }


def _passes(outcome: Outcome) -> bool:
    return outcome.outcome in ("pass", "not_applicable") or outcome.weight == 0


def _tokens(prompt: int, completion: int, cached: int, requests: int) -> Mapping[str, int]:
    return {
        "prompt": prompt,
        "completion": completion,
        "total": prompt + completion,
        "cached": cached,
        "numRequests": requests,
    }


def _replayed(trial: TrialResult) -> int:
    """The tokens of a trial that was answered without asking anybody; promptfoo counts those, not the calls."""
    if not trial.calls or trial.cached < trial.calls:
        return 0
    return (trial.tokens_in or 0) + (trial.tokens_out or 0)


def _utc(moment: float) -> str:
    return (
        datetime.fromtimestamp(moment, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
