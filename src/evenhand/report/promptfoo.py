"""A run as promptfoo's results JSON, version 3, for tools that read those.

The format has two values where we have three. A grader that failed is a failed assertion there, marked `graderError`; a
row without an answer, or with an assertion that makes no sense, is an error (`failureReason` 2). There is no word for
what did not apply, which passes, and no room for a missing score, which is 0.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TextIO, cast

from evenhand.core.encoding import digest
from evenhand.core.expect import named_scores, weighted_mean
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.report.document import json_text, writer
from evenhand.store.runfile import RunFile

_EPSILON = 2.2e-16


@dataclass(frozen=True, slots=True)
class _Row:
    """A trial as that format has it.

    Attributes:
        failure: 0 for none, 1 where an assertion failed, 2 for an error.
    """

    passed: bool
    score: float
    failure: int
    reason: str
    named: Mapping[str, float]
    components: Sequence[Mapping[str, Any]]


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

    def add(self, trial: TrialResult, row: _Row) -> None:
        self.score += row.score
        self.tests[("pass", "fail", "error")[row.failure]] += 1
        for component in row.components:
            self.asserts["pass" if component["pass"] else "fail"] += 1
        self.latency_ms += (trial.latency_s or 0.0) * 1000
        self.cost += trial.cost_usd or 0.0
        self.tokens[0] += trial.tokens_in or 0
        self.tokens[1] += trial.tokens_out or 0
        self.tokens[2] += _replayed(trial)
        self.tokens[3] += trial.calls
        for name, value in row.named.items():
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
        graded = _row(trial)
        columns[trial.variant].add(trial, graded)
        test = cases.setdefault((trial.case, trial.repeat), len(cases))
        row = _result(trial, graded, meta.variants[trial.variant], test)
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
        "successes": sum(column.tests["pass"] for column in columns),
        "failures": sum(column.tests["fail"] for column in columns),
        "errors": sum(column.tests["error"] for column in columns),
        "tokenUsage": _tokens(totals.tokens_in, totals.tokens_out, replayed, totals.calls),
        "durationMs": took,
        "evaluationDurationMs": took,
    }


def _result(trial: TrialResult, row: _Row, variant: Variant, test: int) -> dict[str, Any]:
    tokens = _tokens(trial.tokens_in or 0, trial.tokens_out or 0, _replayed(trial), trial.calls)
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
            **({} if trial.threshold is None else {"threshold": trial.threshold}),
            "metadata": trial.metadata,
        },
        "response": {
            **({"error": row.reason} if unanswered else {"output": trial.output}),
            "cached": trial.calls > 0 and trial.cached == trial.calls,
            **cost,
            "tokenUsage": tokens,
            "latencyMs": round((trial.latency_s or 0.0) * 1000),
        },
        **({} if row.passed else {"error": row.reason or "It failed"}),
        "success": row.passed,
        "score": row.score,
        "failureReason": row.failure,
        "namedScores": row.named,
        "latencyMs": round((trial.latency_s or 0.0) * 1000),
        **cost,
        "tokenUsage": tokens,
        "metadata": trial.metadata,
        "gradingResult": None
        if unanswered and not trial.outcomes
        else {
            "pass": row.passed,
            "score": row.score,
            "reason": row.reason
            or ("All assertions passed" if trial.outcomes else "No assertions"),
            "namedScores": row.named,
            "componentResults": row.components,
        },
    }


def _row(trial: TrialResult) -> _Row:
    """What the trial comes to there. Where nothing is in error, it is what it is here."""
    components = [part for outcome in trial.outcomes for part in _components(outcome)]
    reason = trial.error.message if trial.error else trial.reason
    broken = [outcome for outcome in trial.outcomes if outcome.outcome == "error"]
    makes_no_sense = next((outcome for outcome in broken if outcome.error == "score"), None)
    if makes_no_sense is not None or (trial.outcome == "error" and not trial.outcomes):
        reason = makes_no_sense.reason if makes_no_sense else reason
        return _Row(False, 0.0, 2, reason, {}, components)
    if not broken:
        passed = trial.outcome in ("pass", "not_applicable")
        score, named = trial.score or 0.0, trial.named_scores
        return _Row(passed, score, 0 if passed else 1, reason, named, components)
    counted = [replace(o, score=o.score or 0.0) for o in trial.outcomes]
    score = weighted_mean([outcome for outcome in counted if outcome.weight > 0]) or 0.0
    least = trial.threshold
    passed = (
        all(component["pass"] for component in components)
        if least is None
        else score >= least - _EPSILON
    )
    if trial.outcome == "error" and not any(o.weight for o in broken):
        passed, score = False, 0.0  # the scoring function failed
    return _Row(passed, score, 0 if passed else 1, reason, named_scores(counted), components)


def _components(outcome: Outcome) -> list[dict[str, Any]]:
    """An outcome, and after it what it was put together from."""
    in_error = outcome.outcome == "error"
    own: dict[str, Any] = {
        "pass": _passes(outcome),
        "score": outcome.score or 0.0,
        "reason": outcome.reason or ("Assertion passed" if outcome.outcome == "pass" else ""),
        "namedScores": outcome.named,
        "metadata": {**outcome.metadata, "graderError": True} if in_error else outcome.metadata,
    }
    parts = cast("Sequence[Mapping[str, Any]]", outcome.metadata.get("components") or ())
    if outcome.name.startswith("assert-set"):
        return [own, *(_part(part) for part in parts)]
    own["assertion"] = _assertion(outcome)
    return [own, *(_part(part) for part in parts)]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    name = part.get("name")
    return {
        "pass": bool(part.get("pass")),
        "score": part.get("score") or 0.0,
        "reason": part.get("reason") or "",
        **({"assertion": _named(str(name))} if name else {}),
    }


def _assertion(outcome: Outcome) -> dict[str, Any]:
    return {
        **_named(outcome.name),
        **({"weight": outcome.weight} if outcome.weight != 1 else {}),
        **({"metric": outcome.metric} if outcome.metric else {}),
    }


def _named(name: str) -> dict[str, Any]:
    """What was asserted, as far as an outcome's name says it: `contains "30 days"`."""
    type_, _, value = name.partition(" ")
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return {"type": type_, **({"value": value} if value else {})}


def _passes(outcome: Outcome) -> bool:
    if outcome.name.startswith("assert-set"):
        return outcome.outcome in ("pass", "not_applicable")
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
