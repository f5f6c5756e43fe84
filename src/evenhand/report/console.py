"""A run on a terminal: what passed, how sure that is, what failed and why, what the data can say, what to type next."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from evenhand.core.errors import Problem
from evenhand.core.plan import CallEstimate, Plan
from evenhand.core.run import CallRecord, RunMeta, Totals, TrialResult, verdict
from evenhand.core.variant import Variant
from evenhand.report.words import clip, count, money, percent, safe, seconds, short_id
from evenhand.stats.compare import paired_rates, smallest_shown
from evenhand.stats.interval import wilson, wilson_of_clusters
from evenhand.store.catalogue import Listed
from evenhand.store.runfile import RunFile

PLAIN_WIDTH = 100
FAILURES = 12
PER_COLUMN = 4
HINTS = 8
_COLORS = {"green": "32", "red": "31", "yellow": "33", "dim": "2", "bold": "1"}
_MARKS = {"pass": ("✓", "green"), "fail": ("✗", "red"), "error": ("!", "yellow"), "not_applicable": ("–", "dim")}


@dataclass(frozen=True, slots=True)
class _Ink:
    """Colours, where the reader wants any."""

    on: bool

    def __call__(self, text: str, color: str) -> str:
        return f"\x1b[{_COLORS[color]}m{text}\x1b[0m" if self.on and text else text


def heading(plan: Plan) -> str:
    """What a plan is, in a line."""
    return _heading(plan.title, plan.variants, plan.case_count, plan.repeats, plan.size)


def show(run: RunFile, out: TextIO, *, table: bool = True, width: int | None = None, color: bool = False) -> None:
    """Prints a run for people.

    Args:
        table: With the table of columns, the failures and the comparison; otherwise the summary alone.
        width: Columns that there are; None for a file or a pipe.
        color: Whether escapes for colours may be used.
    """
    ink, meta = _Ink(color), run.meta
    width = max(60, width or PLAIN_WIDTH)
    totals = run.totals()
    lines = [ink(clip(_heading(meta.title, meta.variants, meta.case_count, meta.repeats, meta.planned), width), "bold"), ""]
    if table and totals.trials:
        cells = _Cells(run)
        lines += [*_table(run, cells, width, ink), ""]
        lines += _failures(run, cells, totals, width, ink)
        sentences = _comparisons(meta, cells)
        if sentences:
            lines += [*(f"  {sentence}" for sentence in sentences), ""]
    lines += _summary(run, totals, ink)
    out.write("\n".join(lines) + "\n")


def show_trial(run: RunFile, ref: str, out: TextIO, *, width: int | None = None, color: bool = False) -> None:
    """Prints one cell whole: its prompt, its output, every outcome and every call.

    Args:
        ref: `column:case`, e.g. `better:3`, both counted or named as the table has them; or the place in the plan.

    Raises:
        UsageError: There is no such cell.
    """
    from evenhand.report.cell import cell_lines, find_cells  # noqa: PLC0415 (only when one is asked for)

    ink = _Ink(color)
    for i, trial in enumerate(find_cells(run, ref)):
        out.write("\n" if i else "")
        out.write("\n".join(cell_lines(run, trial, max(60, width or PLAIN_WIDTH), ink)) + "\n")


def problem_lines(problems: Sequence[Problem]) -> list[str]:
    """Hints about what was tolerated in a config."""
    lines = [f"hint: {safe(str(problem), multiline=True)}" for problem in problems[:HINTS]]
    if len(problems) > HINTS:
        lines.append(f"hint: … and {len(problems) - HINTS} more; `evenhand check` shows those of any config")
    return lines


def doubt_lines(calls: Sequence[CallRecord], last_words: Sequence[str]) -> list[str]:
    """What a killed session left open: calls that may have been charged for, and what it was running."""
    lines: list[str] = []
    if calls:
        bounds = [call.start.cost_bound_usd for call in calls]
        known = sum(bound for bound in bounds if bound is not None)
        most = money(known) if None not in bounds else "an amount that is not known: no price is set"
        lines.append(
            f"in doubt: {count(len(calls), 'call')} in flight when an earlier session ended; "
            f"they may have been charged for, at most {most}"
        )
    lines += [f"an earlier session died while running {safe(word)}" for word in last_words]
    return lines


def list_lines(found: Iterable[Listed]) -> list[str]:
    """A line for each run, the newest first."""
    lines: list[str] = []
    for listed in sorted(found, key=lambda item: item.path.stem, reverse=True):
        meta = listed.meta
        if meta is None:
            lines.append(f"{short_id(listed.path.stem)}  {safe(listed.problem)}")
            continue
        with RunFile.open(listed.path) as run:
            totals = run.totals()
        status = "running" if listed.alive else "killed" if meta.status == "running" else meta.status
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(meta.created_at))
        lines.append(
            f"{short_id(meta.id)}  {when}  {totals.passed}/{totals.trials} passed"
            f"  {status:<12}  {clip(safe(meta.title), 40)}"
        )
    return lines or ["there are no runs yet: `evenhand run` makes one"]


def estimate_lines(plan: Plan, estimates: Sequence[CallEstimate]) -> list[str]:
    """What a run of a plan would ask, and what it may cost."""
    lines = [heading(plan), ""]
    for estimate in estimates:
        tokens = f"about {estimate.tokens_in:,} tokens in" if estimate.tokens_in else "tokens not known beforehand"
        cost = "price not known" if estimate.cost_usd is None else f"at most {money(estimate.cost_usd)}"
        lines.append(f"  {estimate.role:<8} {safe(estimate.provider)}   {count(estimate.calls, 'call')} · {tokens} · {cost}")
    lines += ["", f"nothing is wrong, and nothing was sent · next: evenhand run {_near(Path(plan.source).parent)}".rstrip()]
    return lines


def estimate_row(plan: Plan, estimates: Sequence[CallEstimate]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema": "evenhand.check/1",
        "title": plan.title,
        "source": plan.source,
        "fingerprint": plan.fingerprint,
        "trials": plan.size,
        "cases": plan.case_count,
        "repeats": plan.repeats,
        "variants": [{"prompt": v.prompt, "model": v.model} for v in plan.variants],
        "calls": [
            {
                "provider": e.provider,
                "role": e.role,
                "calls": e.calls,
                "tokens_in": e.tokens_in or None,
                "cost_bound_usd": e.cost_usd,
            }
            for e in estimates
        ],
        "hints": [
            {"file": h.file, "line": h.line, "column": h.column, "what": h.what, "hint": h.hint} for h in plan.hints
        ],
    }


def column_names(variants: Sequence[Variant]) -> list[str]:
    """The shortest name of each column that tells it from the others."""
    prompts, models = {v.prompt for v in variants}, {v.model for v in variants}
    if len(models) == 1:
        names = _without_common([safe(v.prompt) for v in variants])
    elif len(prompts) == 1:
        names = [safe(v.model) for v in variants]
    else:
        names = [f"{p} · {safe(v.model)}" for p, v in zip(_without_common([safe(v.prompt) for v in variants]), variants, strict=True)]
    return names if len(set(names)) == len(names) else [f"{name} #{i}" for i, name in enumerate(names, 1)]


class _Cells:
    """What became of every cell, by column and case: read once, without the texts."""

    def __init__(self, run: RunFile) -> None:
        self.numbers: dict[str, int] = {}
        self.passed: list[dict[str, tuple[int, int]]] = [{} for _ in run.meta.variants]
        for row in run.outcomes():
            self.numbers.setdefault(row.case, len(self.numbers) + 1)
            if row.outcome in ("pass", "fail"):
                before = self.passed[row.variant].get(row.case, (0, 0))
                self.passed[row.variant][row.case] = (before[0] + (row.outcome == "pass"), before[1] + 1)


def _heading(title: str, variants: Sequence[Variant], cases: int, repeats: int, planned: int) -> str:
    prompts, models = len({v.prompt for v in variants}), len({v.model for v in variants})
    parts = [count(prompts, "prompt"), count(models, "model"), count(cases, "case")]
    if repeats > 1:
        parts.append(count(repeats, "repeat"))
    return f"{safe(title)} · {' × '.join(parts)} = {count(planned, 'trial')}"


def _table(run: RunFile, cells: _Cells, width: int, ink: _Ink) -> list[str]:
    meta = run.meta
    names = column_names(meta.variants)
    one_model = len({v.model for v in meta.variants}) == 1
    head = ["prompt" if one_model else "prompt · model", " passed", "score", "latency", "cost"]
    rows: list[list[str]] = []
    errors = False
    for name, totals, (score, latency), clusters in zip(names, run.by_variant(), run.means(), cells.passed, strict=True):
        known = totals.passed + totals.failed
        low, high = wilson_of_clusters(list(clusters.values()))
        rate = percent(totals.passed / known) if known else "–"
        interval = f"[{low * 100:.0f}–{high * 100:.0f}]" if known else ""
        cost = "unknown" if totals.cost_usd is None else money(totals.cost_usd)
        passed = f"{f'{totals.passed}/{known}':>7}  {rate:>5}  {interval:<9}".rstrip()
        row = [name, passed, "–" if score is None else f"{score:.2f}", seconds(latency), cost]
        if totals.errors:
            errors = True
        row.append(count(totals.errors, "error") if totals.errors else "")
        rows.append(row)
    if errors:
        head.append("")
    rows = [row[: len(head)] for row in rows]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    widths[0] = min(widths[0], max(20, width - sum(widths[1:]) - 3 * len(widths)))

    def line(row: Sequence[str], color: str = "") -> str:
        cells_ = [clip(row[0], widths[0]).ljust(widths[0]), row[1].ljust(widths[1])]
        cells_ += [text.rjust(w) for text, w in zip(row[2:], widths[2:], strict=True)]
        return ink(("  " + "   ".join(cells_)).rstrip(), color) if color else ("  " + "   ".join(cells_)).rstrip()

    return [line(head, "dim"), *map(line, rows)]


def _failures(run: RunFile, cells: _Cells, totals: Totals, width: int, ink: _Ink) -> list[str]:
    """What failed and why, columns that failed throughout in one line; then what went wrong."""
    lines: list[str] = []
    names = column_names(run.meta.variants)
    by_variant = run.by_variant()
    listed = Counter[int]()
    left = 0
    whole = {i for i, t in enumerate(by_variant) if t.failed > 2 and t.failed == t.trials}  # noqa: PLR2004 (a few are listed)
    for trial in run.matching("fail", 2000):
        variant = trial.variant
        listed[variant] += 1
        if variant in whole:
            if listed[variant] == 1:
                where = f"{names[variant]} · all {by_variant[variant].failed}"
                lines += _why(where, trial, width, ink)
        elif listed[variant] <= PER_COLUMN and len(lines) < 2 * FAILURES:
            where = f"{names[variant]} · {_case(trial, cells, run.meta)}"
            lines += _why(where, trial, width, ink)
        else:
            left += 1
    left += max(0, totals.failed - sum(listed.values()))
    if left:
        lines.append(ink(f"    … and {count(left, 'more failure')}", "dim"))
    groups: dict[tuple[str, str], list[TrialResult]] = {}
    for trial in run.matching("error", 2000):
        slug = trial.error.slug if trial.error else "error"
        groups.setdefault((slug, trial.reason), []).append(trial)
    for (slug, reason), trials in sorted(groups.items(), key=lambda item: -len(item[1]))[:FAILURES]:
        first = trials[0]
        where = f"{names[first.variant]} · {_case(first, cells, run.meta)}"
        if len(trials) > 1:
            where = f"{count(len(trials), 'trial')}, first {where}"
        lines.append("  " + ink("!", "yellow") + " " + clip(f"{where}   error: {slug}", width - 4))
        lines.append("      " + clip(safe(reason), width - 6))
        if first.error and first.error.where:
            lines.append("      " + clip(safe(first.error.where), width - 6))
    return [*lines, ""] if lines else []


def _why(where: str, trial: TrialResult, width: int, ink: _Ink) -> list[str]:
    failed = [o for o in trial.outcomes if o.outcome == "fail"]
    text = safe(trial.reason)
    if failed:
        text = safe(failed[0].name) + (f": {safe(failed[0].reason)}" if failed[0].reason else "")
    more = f"  (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    head = "  " + ink("✗", "red") + " "
    if len(where) + len(text) + len(more) + 8 <= width:
        return [f"{head}{where}   {text}{more}"]
    return [head + clip(where + more, width - 4), "      " + clip(text, width - 6)]


def _case(trial: TrialResult, cells: _Cells, meta: RunMeta) -> str:
    number = cells.numbers.get(trial.case, 0) or trial.index + 1
    name = clip(safe(trial.description), 40)
    text = f"{number} {name}".strip() if name != f"Row #{number}" else name
    return f"{text} · repeat {trial.repeat + 1}" if meta.repeats > 1 else text


def _comparisons(meta: RunMeta, cells: _Cells) -> list[str]:
    """The best column against the others, on the cases that both have a verdict on."""
    names = column_names(meta.variants)
    if len(names) < 2 or len(names) > 6:  # noqa: PLR2004 (more sentences than anybody reads)
        return []
    rates = {
        i: sum(p for p, _ in found.values()) / sum(n for _, n in found.values())
        for i, found in enumerate(cells.passed)
        if found
    }
    if len(rates) < 2:  # noqa: PLR2004 (nothing to compare)
        return []
    best = max(rates, key=lambda i: (rates[i], i))
    beats: list[str] = []
    equal: list[str] = []
    smallest: float | None = None
    shared = 0
    for other in sorted(rates, key=lambda i: (rates[i], i)):
        if other == best:
            continue
        first = second = n = 0
        for case, (passed, size) in cells.passed[best].items():
            theirs = cells.passed[other].get(case)
            if theirs is None:
                continue
            ours_pass, theirs_pass = passed * 2 > size, theirs[0] * 2 > theirs[1]
            n += 1
            first += ours_pass and not theirs_pass
            second += theirs_pass and not ours_pass
        found = paired_rates(n, first, second)
        if found.detected:
            beats.append(
                f"{names[best]} beats {names[other]}: {found.difference * 100:+.0f} points "
                f"[{found.low * 100:+.0f}, {found.high * 100:+.0f}] over {count(n, 'case')} (paired)"
            )
        else:
            equal.append(names[other])
            shared, smallest = n, smallest_shown(n)
    if equal:
        can = (
            f"{count(shared, 'case')} can show no difference, however large"
            if smallest is None
            else f"{count(shared, 'case')} can show {smallest * 100:.0f} points or more"
        )
        beats.append(f"{names[best]} and {', '.join(equal)}: no detectable difference ({can})")
    return beats


def _summary(run: RunFile, totals: Totals, ink: _Ink) -> list[str]:
    meta = run.meta
    known = totals.passed + totals.failed
    low, high = wilson(totals.passed, known)
    word = verdict(totals, meta.planned, meta.pass_rate)
    color = {"passed": "green", "failed": "red", "undecided": "yellow"}[word]
    parts = [
        f"{totals.passed} of {known} passed"
        + (f" ({percent(totals.passed / known)}, {low * 100:.0f}–{high * 100:.0f})" if known and len(meta.variants) == 1 else "")
    ]
    if totals.errors:
        parts.append(count(totals.errors, "error"))
    if totals.not_applicable:
        parts.append(f"{totals.not_applicable} not applicable")
    missing = meta.planned - totals.trials
    if missing > 0:
        parts.append(f"{missing} not run")
    if totals.calls:
        parts.append(count(totals.calls, "call") + (f", {totals.cached} replayed" if totals.cached else ""))
    parts.append(_cost(run, totals))
    if meta.finished_at:
        parts.append(seconds(meta.finished_at - meta.created_at))
    lines = [f"  {ink(word, color)} · " + " · ".join(filter(None, parts))]
    if meta.status not in ("finished", "running") and meta.message:
        lines += [f"  {ink(line, 'yellow')}" for line in safe(meta.message, multiline=True).splitlines()]
    lines.append(f"  saved as {short_id(meta.id)} in {_near(run.path.parent) or '.'} · next: {_next(run, totals, missing)}")
    return lines


def _cost(run: RunFile, totals: Totals) -> str:
    if not totals.calls:
        return ""
    spend = run.spend()
    if spend.cost_usd is None:
        return "cost not known"
    wasted = f", {count(spend.wasted, 'failed attempt')} may have been charged too" if spend.wasted else ""
    return f"{money(spend.cost_usd)}{wasted}"


def _next(run: RunFile, totals: Totals, missing: int) -> str:
    name = short_id(run.meta.id)
    if missing > 0 or totals.errors:
        return f"evenhand resume {name}"
    failed = next(iter(run.matching("fail", 1)), None)
    if failed is None:
        return f"evenhand export {name} --to results.json"
    numbers = {}
    for row in run.outcomes():
        numbers.setdefault(row.case, len(numbers) + 1)
        if row.index == failed.index:
            break
    column = column_names(run.meta.variants)[failed.variant]
    number = numbers.get(failed.case, failed.index + 1)
    ref = f"{column}:{number}" if column.replace("_", "").replace("-", "").isalnum() else str(failed.index)
    return f"evenhand show {name} {ref}"


def _without_common(names: Sequence[str]) -> list[str]:
    """`prompts.py:a` and `prompts.py:b` as `a` and `b`."""
    starts = {name.rpartition(":")[0] for name in names}
    if len(names) > 1 and len(starts) == 1 and starts != {""} and "\n" not in names[0]:
        short = [name.rpartition(":")[2].strip() for name in names]
        if all(short) and len(set(short)) == len(short):
            return short
    return list(names)


def _near(folder: Path) -> str:
    """A folder as people would write it from where they stand; empty for this one."""
    relative = os.path.relpath(folder)
    return "" if relative == "." else str(folder) if relative.startswith("../..") else relative
