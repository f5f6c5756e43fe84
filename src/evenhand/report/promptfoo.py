"""A run as promptfoo's results JSON, version 3, for tools that read those.

An error is an error there too (`failureReason` 2): never a failed assertion. What promptfoo has no word for is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from evenhand.core.encoding import digest
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.report.document import json_text
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
            self.asserts["pass" if _passes(outcome) else "fail"] += 1
        self.latency_ms += (trial.latency_s or 0.0) * 1000
        self.cost += trial.cost_usd or 0.0
        self.tokens[0] += trial.tokens_in or 0
        self.tokens[1] += trial.tokens_out or 0
        self.tokens[2] += trial.cached
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
    columns = [_Column(variant) for variant in meta.variants]
    cases: dict[tuple[str, int], int] = {}
    started = datetime.fromtimestamp(meta.created_at, UTC).isoformat().replace("+00:00", "Z")
    out.write(f'{{"evalId":"eval-{meta.id}","results":{{"version":3,"timestamp":"{started}","results":[')
    count = 0
    for trial in run.trials():
        columns[trial.variant].add(trial)
        test = cases.setdefault((trial.case, trial.repeat), len(cases))
        out.write("," if count else "")
        out.write("\n" + json_text(_result(trial, meta.variants[trial.variant], test)))
        count += 1
    totals = run.totals()
    took = round(((meta.finished_at or meta.created_at) - meta.created_at) * 1000)
    stats = {
        "successes": totals.passed + totals.not_applicable,
        "failures": totals.failed,
        "errors": totals.errors,
        "tokenUsage": _tokens(totals.tokens_in, totals.tokens_out, totals.cached, totals.calls),
        "durationMs": took,
    }
    out.write('\n],"prompts":' + _list([column.row() for column in columns]))
    out.write(',"stats":' + json_text(stats) + '},"config":' + json_text(dict(meta.config)))
    about = {"evenhandVersion": meta.version, "exportedAt": datetime.now(UTC).isoformat(), "evaluationCreatedAt": started}
    out.write(',"shareableUrl":null,"metadata":' + json_text(about) + "}\n")
    return count


def _result(trial: TrialResult, variant: Variant, test: int) -> dict[str, Any]:
    passed = trial.outcome in ("pass", "not_applicable")
    error = trial.reason if not passed else None
    tokens = _tokens(trial.tokens_in or 0, trial.tokens_out or 0, trial.cached, trial.calls)
    return {
        "id": f"{trial.index}",
        "testIdx": test,
        "promptIdx": variant.index,
        "promptId": digest(variant.prompt),
        "prompt": {"raw": trial.prompt, "label": variant.prompt},
        "provider": {"id": variant.provider_id, "label": variant.model},
        "vars": dict(trial.vars),
        "testCase": {
            "description": trial.description,
            "vars": dict(trial.vars),
            "metadata": dict(trial.metadata),
            "assert": [{"type": outcome.name.split(" ")[0]} for outcome in trial.outcomes],
        },
        "response": {
            "output": trial.output,
            "cached": trial.calls > 0 and trial.cached == trial.calls,
            "cost": trial.cost_usd,
            "tokenUsage": tokens,
        },
        "error": error,
        "success": passed,
        "score": trial.score or 0.0,
        "failureReason": _REASON[trial.outcome],
        "namedScores": dict(trial.named_scores),
        "latencyMs": round((trial.latency_s or 0.0) * 1000),
        "cost": trial.cost_usd or 0.0,
        "tokenUsage": tokens,
        "metadata": dict(trial.metadata),
        "gradingResult": {
            "pass": passed,
            "score": trial.score or 0.0,
            "reason": trial.reason or ("All assertions passed" if trial.outcomes else "No assertions"),
            "namedScores": dict(trial.named_scores),
            "componentResults": [_component(outcome) for outcome in trial.outcomes],
        },
    }


def _component(outcome: Outcome) -> dict[str, Any]:
    type_, _, value = outcome.name.partition(" ")
    return {
        "pass": _passes(outcome),
        "score": outcome.score or 0.0,
        "reason": outcome.reason or ("Assertion passed" if outcome.outcome == "pass" else ""),
        "assertion": {"type": type_, "value": value, "weight": outcome.weight, "metric": outcome.metric or None},
        "metadata": {**outcome.metadata, **({"graderError": True} if outcome.outcome == "error" else {})},
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


def _list(rows: list[dict[str, Any]]) -> str:
    return "[" + ",".join(json_text(row) for row in rows) + "]"
