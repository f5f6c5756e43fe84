"""One cell of a run, whole: what was asked, what came back, what was expected of it, and what it took."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from typing import cast

from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.report.console import column_names
from evenhand.report.words import clip, money, safe, seconds, short_id
from evenhand.store.runfile import RunFile

LINES = 40
_MARKS = {"pass": ("✓", "green"), "fail": ("✗", "red"), "error": ("!", "yellow"), "not_applicable": ("–", "dim")}

Ink = Callable[[str, str], str]


def find_cells(run: RunFile, ref: str) -> list[TrialResult]:
    """The cells that a reference means: `column:case`, or a place in the plan.

    Raises:
        UsageError: There is none.
    """
    if ref.isdigit():
        found = run.trial(int(ref))
        if found is None:
            raise UsageError(f"run {short_id(run.meta.id)} has no settled trial {ref}", hint=_columns(run))
        return [found]
    column, _, case = ref.rpartition(":")
    names = column_names(run.meta.variants)
    variants = [i for i, name in enumerate(names) if name == column] or [
        i
        for i, (name, v) in enumerate(zip(names, run.meta.variants, strict=True))
        if column and (column in name or column in (v.prompt, v.model))
    ]
    if not column or not variants:
        raise UsageError(f"run {short_id(run.meta.id)} has no column '{column or ref}'", hint=_columns(run))
    numbers: dict[str, int] = {}
    places: list[int] = []
    for row in run.outcomes():
        number = numbers.setdefault(row.case, len(numbers) + 1)
        if row.variant in variants and case in (str(number), row.case):
            places.append(row.index)
    if not places:
        raise UsageError(f"column '{column}' has no case {case}", hint=f"It has {len(numbers)} cases, from 1.")
    return [trial for trial in map(run.trial, places) if trial is not None]


def cell_lines(run: RunFile, trial: TrialResult, width: int, ink: Ink) -> list[str]:
    """The lines of one cell."""
    name = column_names(run.meta.variants)[trial.variant]
    variant = run.meta.variants[trial.variant]
    mark, color = _MARKS[trial.outcome]
    score = "" if trial.score is None else f", score {trial.score:g}"
    lines = [
        f"{ink(mark, color)} {ink(f'{name} · {safe(trial.description) or trial.case}', 'bold')}   {trial.outcome}{score}",
        ink(f"  trial {trial.index} · case {trial.case} · repeat {trial.repeat + 1} · {safe(str(variant))}", "dim"),
    ]
    lines += _section("prompt", trial.prompt, width, ink)
    if trial.output is not None:
        text = trial.output if isinstance(trial.output, str) else json.dumps(trial.output, indent=2, ensure_ascii=False)
        lines += _section("output", text, width, ink)
    if trial.error is not None:
        lines += ["", f"  {ink('error', 'yellow')}  {trial.error.slug}: {safe(trial.error.message)}"]
        if trial.error.where:
            lines.append(f"         {safe(trial.error.where)}")
    if trial.outcomes:
        lines += ["", f"  {ink('expected', 'dim')}"]
    for outcome in trial.outcomes:
        mark, color = _MARKS[outcome.outcome]
        number = "" if outcome.score is None else f"  {outcome.score:g}"
        weight = "" if outcome.weight == 1 else f"  (weight {outcome.weight:g})"
        lines.append(f"  {ink(mark, color)} {clip(safe(outcome.name), width - 20)}{number}{weight}")
        if outcome.reason:
            lines += _wrapped(outcome.reason, width, "      ", 8)
        components = cast("list[dict[str, object]]", outcome.metadata.get("components") or [])
        for part in components:
            mark, color = _MARKS["pass" if part.get("pass") else "fail"]
            lines.append(f"      {ink(mark, color)} {clip(safe(str(part.get('reason') or '')), width - 10)}")
    calls = list(run.calls(trial.index))
    if calls:
        lines += ["", f"  {ink('calls', 'dim')}"]
    for call in calls:
        end = call.end
        told = "in doubt" if end is None else end.error or f"{end.origin} · {seconds(end.latency_s)} · {money(end.cost_usd)}"
        tokens = "" if end is None or end.tokens_in is None else f" · {end.tokens_in} → {end.tokens_out} tokens"
        lines.append(f"    {call.start.role:<8} {safe(call.start.provider)}   {told}{tokens}")
        if end is not None and end.error:
            lines += _wrapped(end.message, width, "             ", 3)
    if trial.log:
        lines += _section("printed by your code", trial.log, width, ink)
    return lines


def _section(title: str, text: str, width: int, ink: Ink) -> list[str]:
    return ["", f"  {ink(title, 'dim')}", *_wrapped(text, width, "    ", LINES)] if text else []


def _wrapped(text: str, width: int, indent: str, most: int) -> list[str]:
    lines: list[str] = []
    for line in safe(text, multiline=True).split("\n"):
        lines += textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent) or [indent.rstrip()]
        if len(lines) > most:
            return [*lines[:most], f"{indent}… ({len(text):,} characters in all; --json has them)"]
    return lines


def _columns(run: RunFile) -> str:
    return "Its columns: " + ", ".join(clip(name, 40) for name in column_names(run.meta.variants)[:10])
